"""The page about operation: no setting and no client is missing from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from aerogram_knowledge.hosting.client_files import CLIENTS
from aerogram_knowledge.hosting.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "operation.md").read_text(encoding="utf-8")


def test_every_setting_is_in_the_page():
    """The table is generated; here is that it is still there."""
    assert [one.name for one in Settings.options() if f"| `{one.name}` |" not in PAGE] == []


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_is_in_the_page(name):
    assert f"| `{name}` |" in PAGE
