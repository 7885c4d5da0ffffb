"""One server over the sample documents for all tests that only ask it something."""

from __future__ import annotations

import httpx
import pytest

from serving import serving


@pytest.fixture(scope="session")
def served(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("served") / "index") as server:
        yield server


@pytest.fixture
def http(served):
    with httpx.Client(base_url=served.address, timeout=30) as client:
        yield client
