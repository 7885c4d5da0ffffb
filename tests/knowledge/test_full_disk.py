"""A full disk: a real one, of three megabytes, in a namespace of its own that ends with the process."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

from knowledge.documents import GUIDE

ALONE = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
MOUNT = 'mount -t tmpfs -o size=3m tmpfs "$1" && shift && exec "$@"'

PROGRAM = """
import contextlib, subprocess, sys, urllib.request
from pathlib import Path
from aerogram_knowledge import Knowledge

disk, docs = Path(sys.argv[1]), Path(sys.argv[2])
index, filler = disk / "index", disk / "filler"

def ingest():
    command = [sys.executable, "-m", "aerogram", "ingest", str(docs), "--index", str(index)]
    return subprocess.run(command, capture_output=True, text=True)

def answers():
    with Knowledge(index) as knowledge:
        return knowledge.search("access token", page_size=50).data

assert ingest().returncode == 0
before = answers()
assert before

with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
    while True:
        file.write(bytes(4096))
for number in range(4):
    (docs / f"tale{number}.txt").write_text(f"Line {number} of a long tale. " * 2_000)

full = ingest()
assert full.returncode == 1, full
assert "disk" in full.stderr and full.stderr.count("\\n") == 1, full
assert "Traceback" not in full.stderr
assert answers() == before

command = [sys.executable, "-m", "aerogram", "serve", str(docs), "--index", str(index), "--port", "0"]
with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
    address = next(line.split()[2] for line in server.stdout if line.startswith("Ready at "))
    with urllib.request.urlopen(f"{address}/v1/search?q=access%20token") as answer:
        assert b"guide.md" in answer.read()
    server.terminate()
    assert "is served as it is" in server.stderr.read()

filler.unlink()
assert ingest().returncode == 0
with Knowledge(index) as knowledge:
    assert knowledge.check().problems == ()
    assert knowledge.check().facts["documents"] == 5
print("kept")
"""

AT_ANY_MOMENT = """
import contextlib, shutil, sys
from pathlib import Path
from aerogram.errors import AerogramError
from aerogram_knowledge import Knowledge

disk, docs = Path(sys.argv[1]), Path(sys.argv[2])
index, filler, sound = disk / "index", disk / "filler", docs.parent / "sound"
with Knowledge(sound) as knowledge:
    knowledge.ingest(docs)
for number in range(300):
    (docs / f"tale{number}.txt").write_text(f"Line {number} of tale {number} about {number}. " * 40)
failed = 0
for room in range(100, 1_300, 150):
    shutil.copytree(sound, index)
    filler.write_bytes(bytes(shutil.disk_usage(disk).free - room * 1024))
    with Knowledge(index) as knowledge, contextlib.suppress(AerogramError):
        failed += 1
        knowledge.ingest(docs)
        failed -= 1
    with Knowledge(index) as knowledge:
        for _ in range(2):
            assert "guide.md" in {one["source_file"] for one in knowledge.search("access token").data}, room
    filler.unlink()
    with Knowledge(index) as knowledge:
        knowledge.ingest(docs)
        assert knowledge.check().problems == ()
        assert knowledge.search("tale 299", method="bm25").data[0]["source_file"] == "tale299.txt"
    shutil.rmtree(index)
assert failed > 2
print("kept")
"""


def own_disk() -> bool:
    """Whether this machine lets a process have a disk of its own."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run([*ALONE, MOUNT, "sh", "/mnt", "true"], capture_output=True, check=False)
    return tried.returncode == 0


@pytest.mark.parametrize("program", [PROGRAM, AT_ANY_MOMENT], ids=["told", "at any moment"])
def test_a_full_disk_is_told_in_one_line_and_leaves_the_index_as_it_was(tmp_path, program):
    if not own_disk():
        pytest.skip("a process may not mount a disk of its own here; the limit on file sizes stands for it")
    docs, disk = tmp_path / "docs", tmp_path / "disk"
    docs.mkdir()
    disk.mkdir()
    (docs / "guide.md").write_text(GUIDE)
    command = [*ALONE, MOUNT, "sh", str(disk), sys.executable, "-c", program, str(disk), str(docs)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout == "kept\n", done.stderr
    assert list(disk.iterdir()) == []
