"""One server over the sample documents for all tests that only ask its page, and pages over single replies."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from programs import start_program
from serving import clean_environment, serving

QUESTION = {"query": "How long is a token valid?", "page_size": 10}
SEARCH = {"call": {"operation": "semantic_search", "arguments": QUESTION}}


@pytest.fixture(scope="session")
def search_page(tmp_path_factory):
    """A server with its page."""
    with serving(tmp_path_factory.mktemp("page") / "index") as server:
        yield server


@pytest.fixture
def http(search_page):
    with httpx.Client(base_url=search_page.address, timeout=60) as client:
        yield client


@pytest.fixture
def ask(http):
    """Ask the page; gives the answer, which must be a success."""

    def ask(what: str, **said) -> dict:
        answer = http.post(f"/page/api/{what}", json=said)
        assert answer.status_code == 200, answer.text
        return answer.json()

    return ask


@pytest.fixture
def shrink(ask):
    """Fit the answer to the question into a budget, as one channel unless another way is named."""

    def shrink(budget=None, **said) -> dict:
        return ask("shrink", **{"source": SEARCH, "budget": budget, "way": "http", **said})

    return shrink


@contextlib.contextmanager
def inspecting(folder: Path, *arguments: str, given: bytes | None = None) -> Iterator[tuple[httpx.Client, list[str]]]:
    """A page over one reply, as a process of its own; it must end well when it is interrupted."""
    process = start_program(
        ["inspect", *arguments, "--no-open"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=clean_environment(folder / "index"),
    )
    try:
        process.stdin.write(given or b"")
        process.stdin.close()
        said = [process.stdout.readline().decode().strip() for _ in range(2)]
        assert said[1].startswith("Ready at "), process.stderr.read().decode()
        with httpx.Client(base_url=said[1].split()[2], timeout=60) as client:
            yield client, said
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stdout.close()
        process.stderr.close()
