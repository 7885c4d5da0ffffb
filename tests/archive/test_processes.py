"""The archive between processes: killed in the middle of a write, restarted, and shared."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from key_value.aio.stores.memory import MemoryStore
from key_value.aio.wrappers.statistics import StatisticsWrapper

from aerogram.answer import Call, answer
from aerogram.archive import Archive
from aerogram.archive.archive import LOCK_WITHIN
from aerogram.archive.files import FileStore
from aerogram.content import Content
from aerogram.contract import Contract
from aerogram.errors import NotFound, Unavailable
from aerogram.shape.fit import NOT_KEPT
from programs import Process, start_program

WRITER = """
import asyncio, json, sys
from aerogram.archive import Archive
from aerogram.content import Content

async def main(directory, name, count):
    archive = Archive.at(directory)
    print("ready", flush=True)
    for number in range(int(count)):
        (stored,) = await archive.put(Content.of_json([name, number, "x" * 20_000]), principal="ada")
        print(stored.hash, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def start_writer(directory: Path, name: str, count: int) -> Process | subprocess.Popen[str]:
    arguments = [str(directory), name, str(count)]
    return start_program(arguments, program=("-c", WRITER), stdout=subprocess.PIPE, text=True)


async def reading(directory: Path, hashes: list[str]) -> list[Content]:
    archive = Archive.at(directory)
    return [await archive.get(one, principal="ada") for one in hashes]


@pytest.mark.parametrize("seed", range(3))
def test_a_writer_killed_at_any_moment_loses_nothing_it_confirmed(tmp_path: Path, seed: int) -> None:
    """Every hash that was printed can be read afterwards, and nothing half-written can."""
    with start_writer(tmp_path, "writer", 10_000) as writer:
        assert writer.stdout is not None
        confirmed = [writer.stdout.readline() for _ in range(random.Random(seed).randint(2, 12))][1:]
        writer.send_signal(signal.SIGKILL)
        confirmed += writer.stdout.read().splitlines(keepends=True)
    hashes = [line.strip() for line in confirmed if line.endswith("\n")]
    found = asyncio.run(reading(tmp_path, hashes))
    assert [content.hash for content in found] == hashes

    entries = [json.loads(file.read_text()) for file in tmp_path.rglob("*.json")]
    assert len(entries) >= len(hashes)
    later = asyncio.run(put_and_count(tmp_path))
    assert later > len(hashes)


async def put_and_count(directory: Path) -> int:
    archive = Archive.at(directory)
    await archive.put(Content.of_text("after the restart"), principal="ada")
    return (await archive.usage(principal="ada")).entries


def test_two_processes_share_a_store_and_its_quota(tmp_path: Path) -> None:
    """Each reads what the other wrote, and no entry is left out of the sum."""
    with start_writer(tmp_path, "one", 15) as one, start_writer(tmp_path, "two", 15) as two:
        hashes = [line for writer in (one, two) for line in writer.stdout.read().split()[1:]]
    assert len(set(hashes)) == 30
    assert [content.hash for content in asyncio.run(reading(tmp_path, hashes))] == hashes
    usage = asyncio.run(usage_of(tmp_path))
    assert usage == 30


async def usage_of(directory: Path) -> int:
    return (await Archive.at(directory).usage(principal="ada")).entries


def test_a_cancelled_write_does_not_keep_the_lock(tmp_path: Path) -> None:
    async def scenario() -> None:
        ours, theirs = Archive.at(tmp_path), Archive.at(tmp_path)
        for delay in (0.0, 0.0005, 0.001, 0.002, 0.004):
            writing = asyncio.create_task(ours.put(Content.of_text("x" * 500_000 + str(delay))))
            await asyncio.sleep(delay)
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        (stored,) = await asyncio.wait_for(theirs.put(Content.of_text("next")), 60)
        assert (await ours.get(stored.hash)).value() == "next"
        await ours.close()
        for delay in (0.0005, 0.001, 0.002, 0.004):  # what was begun is there when its archive is closed
            assert (await theirs.get(Content.of_text("x" * 500_000 + str(delay)).hash)).size >= 500_000

    asyncio.run(scenario())


def test_writes_of_many_tasks_at_once_are_all_counted(tmp_path: Path) -> None:
    async def scenario() -> None:
        archive = Archive.at(tmp_path)
        await asyncio.gather(*(archive.put(Content.of_json(number)) for number in range(20)))
        assert (await archive.usage()).entries == 20
        await asyncio.gather(*(archive.delete(Content.of_json(number).hash) for number in range(10)))
        assert (await archive.usage()).entries == 10
        with pytest.raises(NotFound):
            await archive.get(Content.of_json(3).hash)

    asyncio.run(scenario())


def test_writes_that_wait_together_share_one_inventory() -> None:
    """Fifty callers at once do not wait for fifty inventories to be written."""

    async def scenario() -> None:
        store = StatisticsWrapper(key_value=MemoryStore())
        archive = Archive(store)
        receipts = await asyncio.gather(*(archive.put(Content.of_json(number)) for number in range(50)))
        assert [stored.hash for (stored,) in receipts] == [Content.of_json(number).hash for number in range(50)]
        assert (await archive.usage()).entries == 50
        (written,) = store.statistics.collections.values()
        assert written.put.count == 50 + 1

    asyncio.run(scenario())


def test_the_event_loop_does_not_wait_for_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: set[int] = set()
    flush = os.fsync

    def note(file: int) -> None:
        flushed.add(threading.get_ident())
        flush(file)

    monkeypatch.setattr(os, "fsync", note)

    async def scenario() -> None:
        archive = Archive.at(tmp_path)
        await archive.put(Content.of_text("the first one makes the directory"))
        flushed.clear()
        await archive.put(Content.of_text("next"))
        assert flushed
        assert threading.get_ident() not in flushed

    asyncio.run(scenario())


def test_the_steps_of_a_write_do_not_wait_for_turns_of_a_busy_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that answers fifty callers comes back to each of them once in a while; a write has eight steps."""
    threads: set[int] = set()
    put = FileStore._put_managed_entry

    async def note(self: FileStore, **given: Any) -> None:
        threads.add(threading.get_ident())
        await put(self, **given)

    monkeypatch.setattr(FileStore, "_put_managed_entry", note)

    async def scenario() -> None:
        await Archive.at(tmp_path).put(Content.of_text("kept"))
        assert threads
        assert threading.get_ident() not in threads

    asyncio.run(scenario())


def test_a_write_starts_neither_an_event_loop_nor_a_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes longer than writing does; the one thread that a loop has for such things is used again."""
    begun: list[str] = []
    new_loop, start = asyncio.new_event_loop, threading.Thread.start

    def note_loop() -> asyncio.AbstractEventLoop:
        begun.append("loop")
        return new_loop()

    def note_thread(thread: threading.Thread) -> None:
        begun.append(thread.name)
        start(thread)

    async def scenario() -> None:
        archive = Archive.at(tmp_path)
        await archive.put(Content.of_text("the first one makes the directory"))
        monkeypatch.setattr(asyncio, "new_event_loop", note_loop)
        monkeypatch.setattr(asyncio.events, "new_event_loop", note_loop)
        monkeypatch.setattr(threading.Thread, "start", note_thread)
        for number in range(20):
            await archive.put(Content.of_text(f"{number}"))
        assert "loop" not in begun
        assert len(begun) <= 3  # where the thread of the write before is still on its way back
        assert (await archive.usage()).entries == 21

    asyncio.run(scenario())


INTERRUPTED = """
import asyncio, sys
from pathlib import Path
from aerogram.archive import Archive
from aerogram.content import Content

async def main():
    archive = Archive.at(sys.argv[1])
    await archive.put(Content.of_text("first"))
    writing = asyncio.create_task(archive.put(Content.of_text("x" * 2_000_000)))
    while not writing.done() and not list(Path(sys.argv[1]).rglob("*.tmp")):
        await asyncio.sleep(0)
    print("writing", flush=True)
    await writing

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_an_interrupt_ends_a_writer_and_leaves_its_archive_in_order(tmp_path: Path) -> None:
    """Its thread finishes what it has begun, and whoever comes next finds no lock and no draft."""
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "writing\n"
        writer.send_signal(signal.SIGINT)
        _, errors = writer.communicate(timeout=60)
    assert writer.returncode == 0 and errors == ""

    async def scenario() -> None:
        archive = Archive.at(tmp_path)
        await archive.put(Content.of_text("next"))
        for text in ("first", "next", "x" * 2_000_000):
            assert (await archive.get(Content.of_text(text).hash)).value() == text
        assert (await archive.usage()).entries == 3

    asyncio.run(scenario())
    assert not list(tmp_path.rglob("*.tmp"))


TOO_LARGE = """
import asyncio, resource, signal, sys
from aerogram.archive import Archive
from aerogram.content import Content
from aerogram.errors import Unavailable

async def main():
    archive = Archive.at(sys.argv[1])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    texts = "first", "x" * 1_000_000, "last"
    stored = await asyncio.gather(*(archive.put(Content.of_text(one)) for one in texts), return_exceptions=True)
    print([isinstance(one, Unavailable) for one in stored])
    print([(await archive.get(Content.of_text(one).hash)).value() for one in ("first", "last")])
    print((await archive.usage()).entries)

asyncio.run(main())
"""


def test_what_there_is_no_room_for_does_not_keep_out_what_waits_with_it(tmp_path: Path) -> None:
    command = [sys.executable, "-c", TOO_LARGE, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[False, True, False]", "['first', 'last']", "2"]


def test_an_archive_outlives_the_event_loop_it_was_first_used_in(tmp_path: Path) -> None:
    async def busy(archive: Archive, name: str) -> int:
        await asyncio.gather(*(archive.put(Content.of_json([name, number])) for number in range(5)))
        return (await archive.usage()).entries

    for archive in (Archive.at(tmp_path), Archive.in_memory()):
        assert [asyncio.run(busy(archive, name)) for name in "abc"] == [5, 10, 15]


HOLDER = """
import sys, time
from pathlib import Path
from aerogram.state import file_lock

with file_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def hold_lock() -> Iterator[Callable[[Path], None]]:
    """Have another process, which is stopped like one with Ctrl-Z, hold a lock file."""
    with ExitStack() as ending:

        def hold(path: Path) -> None:
            holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], stdout=subprocess.PIPE, text=True)
            ending.enter_context(holder)
            ending.callback(holder.kill)
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            holder.send_signal(signal.SIGSTOP)

        yield hold


async def test_a_process_that_is_stopped_while_it_holds_an_archive_keeps_nobody_waiting_for_long(
    tmp_path: Path, hold_lock: Callable[[Path], None]
) -> None:
    """What is put meanwhile is refused in time, what is there is read, and the event loop goes on."""
    archive = Archive.at(tmp_path)
    (stored,) = await archive.put(Content.of_text("before"))
    hold_lock(tmp_path / ".lock")
    begun = time.monotonic()
    trying = [archive.put(Content.of_text("during")), archive.delete(stored.hash)]
    waiting = asyncio.gather(*trying, return_exceptions=True)
    await asyncio.sleep(0.05)
    assert (await archive.get(stored.hash)).value() == "before"
    assert time.monotonic() - begun < LOCK_WITHIN / 2
    assert [type(one) for one in await waiting] == [Unavailable, Unavailable]
    assert time.monotonic() - begun < 4 * LOCK_WITHIN


async def test_a_reply_is_sent_without_a_handle_where_another_process_keeps_the_archive_to_itself(
    tmp_path: Path, hold_lock: Callable[[Path], None]
) -> None:
    archive = Archive.at(tmp_path)
    await archive.put(Content.of_text("the first one makes the directory"))
    hold_lock(tmp_path / ".lock")
    contract = Contract(dialect="response-v2", budget=300, archive=archive)
    rows = [{"id": n, "title": f"Title {n}", "text": "It is long. " * 20} for n in range(100)]
    reply = await answer(Call(contract, operation="rows"), rows)
    assert reply.status == "partial"
    assert reply.fidelity is not None and reply.fidelity.archive_hashes is None
    assert reply.notices[-1].message.endswith(NOT_KEPT)
