"""A Redis that does not answer when the server starts."""

from __future__ import annotations

import subprocess

import httpx
import pytest

from servers import find_free_port
from serving import PROGRAM, clean_environment


@pytest.fixture
def started(tmp_path):
    """A server whose Redis is not there; what it says goes into one stream."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("# One\n\nThe first document.\n", encoding="utf-8")
    address = f"redis://127.0.0.1:{find_free_port()}/0"
    process = subprocess.Popen(
        [*PROGRAM, "serve", "docs", "--port", "0", "--redis", address],
        cwd=tmp_path,
        env=clean_environment(tmp_path / "index"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    yield process
    process.terminate()
    process.communicate(timeout=60)


def test_the_log_says_what_does_not_work_without_it_and_the_rest_is_answered(started):
    said: list[str] = []
    for line in started.stdout:
        said.append(line)
        if line.startswith("Ready at"):
            break
    assert any("nothing is kept in it" in line and "calls with limits are refused" in line for line in said)
    found = httpx.get(f"{said[-1].split()[2]}/v1/search", params={"q": "first"}, timeout=60)
    assert found.json()["total"] == 1
