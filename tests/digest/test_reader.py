"""Readers: no document takes more memory, time or room than it may, and nothing else suffers from it."""

from __future__ import annotations

import contextlib
import operator
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from pkgutil import resolve_name

import psutil
import pytest

from aerogram.digest import Digester, DigestPolicy, ReadLimits, UnreadableSource, digest_many, read
from aerogram.digest.reader import ReaderFailed, run
from hostile import html_of_tags, pdf_of_operators

MB = 1024 * 1024
WAITING = 60.0
SLEEPER = "import time; from aerogram.digest import ReadLimits; from aerogram.digest.reader import run; "
SLEEP = SLEEPER + "run(exec, {work!r}, limits=ReadLimits(), size=0, returns=())"
WORK = "import time, pathlib; pathlib.Path({mark!r}).touch(); time.sleep(60)"


def refusal(source, **limits):
    with pytest.raises(UnreadableSource) as caught:
        read(source, limits=ReadLimits(**limits))
    return caught.value


def sleep(duration, **limits):
    return run(time.sleep, duration, limits=ReadLimits(**limits), size=0, returns=())


def readers(process=None):
    """The readers that a process has started."""
    started = []
    for one in (process or psutil.Process()).children():
        with contextlib.suppress(psutil.Error):
            if "aerogram.digest.reader" in " ".join(one.cmdline()):
                started.append(one)
    return started


def wait_for(condition):
    until = time.monotonic() + WAITING
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)


@contextlib.contextmanager
def largest_memory():
    """The most that this process and its readers hold at one time, beyond what it holds now."""
    me, before = psutil.Process(), psutil.Process().memory_info().rss
    most, is_over = [0], threading.Event()

    def look():
        while not is_over.wait(0.01):
            held = me.memory_info().rss - before
            for one in readers():
                with contextlib.suppress(psutil.Error):
                    held += one.memory_info().rss
            most.append(held)

    looking = threading.Thread(target=look)
    looking.start()
    yield most
    is_over.set()
    looking.join()


def test_a_small_pdf_that_unpacks_to_millions_of_operators_stays_within_its_memory():
    bomb = pdf_of_operators(4_000_000)
    assert len(bomb) < 45_000
    with largest_memory() as held:
        refused = refusal(bomb)
    assert (refused.reason, str(refused)) == ("too_large", "the source takes more than 512 MB of memory to read")
    assert refused.error_code == "INVALID_FORMAT"
    assert max(held) < 700 * MB


def test_pages_that_share_one_stream_end_at_the_limit_of_characters():
    refused = refusal(pdf_of_operators(200, b"a" * 1_000, pages=10), max_unpacked=MB)
    assert (refused.reason, str(refused)) == ("too_large", "the text has 1,200,000 characters; the limit is 1,048,576")


def test_html_of_a_million_pieces_stays_within_its_memory():
    with largest_memory() as held:
        refused = refusal(html_of_tags(1_200_000), memory=16 * MB)
    assert refused.reason == "too_large" and "MB of memory" in str(refused)
    assert max(held) < 300 * MB


def test_what_takes_too_long_is_ended_and_the_next_document_is_read(print_pdf):
    started = time.monotonic()
    refused = refusal(pdf_of_operators(1_000_000, pages=50), seconds=0.2, memory=2_000 * MB)
    assert (refused.reason, str(refused)) == ("too_slow", "the source took longer than 0.2 s to read")
    assert time.monotonic() - started < WAITING
    assert read(print_pdf(["A page."])).text == "A page."


def test_a_reader_that_hangs_is_ended():
    with pytest.raises(UnreadableSource, match=r"longer than 0\.3 s"):
        sleep(60, seconds=0.3)


def test_an_answer_that_is_too_long_is_not_taken():
    with pytest.raises(UnreadableSource) as caught:
        run(operator.mul, b"x", 20 * MB, limits=ReadLimits(max_unpacked=MB), size=0, returns=())
    assert (caught.value.reason, str(caught.value)) == ("too_large", "what the source holds takes more than 5 MB")


def test_one_reader_reads_many_documents(print_pdf):
    read(print_pdf(["A page."]))
    before = {one.pid for one in readers()}
    for number in range(20):
        assert read(print_pdf([f"Page {number}."])).text == f"Page {number}."
    assert before and {one.pid for one in readers()} == before


def kill_readers(mark, times):
    """Kill so many readers, each once it is at work."""
    for _ in range(times):
        wait_for(mark.exists)
        mark.unlink()
        (one,) = readers()
        one.kill()
        wait_for(lambda one=one: one.pid not in {other.pid for other in readers()})


@pytest.mark.parametrize("times", [1, 2])
def test_a_reader_that_somebody_kills_is_replaced_once(times, tmp_path):
    for one in readers():
        one.kill()
    wait_for(lambda: not readers())
    sleep(0)  # with a reader that lives, so that only those that are killed below are counted
    mark = tmp_path / "begun"
    killing = threading.Thread(target=kill_readers, args=(mark, times))
    killing.start()
    work = f"import time, pathlib; pathlib.Path({str(mark)!r}).touch(); time.sleep({2 if times == 1 else 30})"
    how = {"limits": ReadLimits(), "size": 0, "returns": ()}
    try:
        if times == 1:
            assert run(exec, work, **how) is None
        else:
            with pytest.raises(UnreadableSource, match="the source ends the process that reads it") as caught:
                run(exec, work, **how)
            assert caught.value.reason == "broken"
    finally:
        killing.join()


def test_a_reader_that_died_while_it_had_nothing_to_do_costs_nothing(print_pdf):
    read(print_pdf(["A page."]))
    for one in readers():
        one.kill()
    assert read(print_pdf(["Another page."])).text == "Another page."


def test_what_a_reader_sends_is_data_alone():
    """Who takes over a reader cannot make the other side call anything."""
    with pytest.raises(pickle.UnpicklingError, match=r"posix\.system is not what a reader may send"):
        run(resolve_name, "os:system", limits=ReadLimits(), size=0, returns=())


def test_what_goes_wrong_in_a_reader_is_told_with_its_place():
    with pytest.raises(ReaderFailed, match="ZeroDivisionError: division by zero") as caught:
        run(operator.truediv, 1, 0, limits=ReadLimits(), size=0, returns=())
    assert "Traceback" in caught.value.__notes__[0]


@pytest.mark.parametrize("with_what", [signal.SIGKILL, signal.SIGTERM])
def test_a_reader_does_not_outlive_the_one_who_started_it(with_what, tmp_path):
    """In the middle of a document."""
    mark = tmp_path / "begun"
    with subprocess.Popen([sys.executable, "-c", SLEEP.format(work=WORK.format(mark=str(mark)))]) as program:
        wait_for(mark.exists)
        (reader,) = readers(psutil.Process(program.pid))
        program.send_signal(with_what)
    wait_for(lambda: not reader.is_running() or reader.status() == psutil.STATUS_ZOMBIE)


def test_ctrl_c_ends_readers_without_a_trace(tmp_path):
    mark = tmp_path / "begun"
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)"  # tests may run in the background
    lines = SLEEP.replace("; ", "\n    ").format(work=WORK.format(mark=str(mark)))
    with subprocess.Popen(
        [sys.executable, "-c", f"{heard}\ntry:\n    {lines}\nexcept KeyboardInterrupt: pass"],
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as program:
        wait_for(mark.exists)
        (reader,) = readers(psutil.Process(program.pid))
        os.killpg(program.pid, signal.SIGINT)
        _, said = program.communicate(timeout=WAITING)
    assert (program.returncode, said) == (0, b"")
    assert not reader.is_running()


def test_a_plain_script_reads_and_is_run_once(tmp_path, print_pdf):
    """A reader does not import the program, so a program needs no guard; a module beside it is none of ours."""
    (tmp_path / "a.pdf").write_bytes(print_pdf(["A page."]))
    (tmp_path / "pickle.py").write_text("raise SystemExit('a stranger')\n", encoding="utf-8")
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom aerogram.digest import read\nprint(read(Path('a.pdf')).text)\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("A page.\n", "")


def test_a_fork_has_readers_of_its_own(tmp_path, print_pdf):
    (tmp_path / "a.pdf").write_bytes(print_pdf(["A page."]))
    script = (
        "import os, warnings; from pathlib import Path; from aerogram.digest import read\n"
        "warnings.simplefilter('ignore')\n"
        "for _ in range(3): read(Path('a.pdf'))\n"
        "child = os.fork()\n"
        "for _ in range(20): assert read(Path('a.pdf')).text == 'A page.'\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


async def test_a_digest_says_why_and_the_other_sources_have_theirs(ferry):
    batch = await digest_many(
        Digester(DigestPolicy(mode="always", limits=ReadLimits(memory=64 * MB))),
        {"bomb.pdf": pdf_of_operators(1_000_000), "ferry.txt": ferry},
        "What does a ticket cost?",
    )
    bomb, fine = batch.outcomes
    assert fine.digest.payload.evidence_snippets
    assert (bomb.problem.code, bomb.problem.details) == ("INVALID_FORMAT", {"reason": "too_large"})
    assert bomb.problem.message == "the source takes more than 64 MB of memory to read"


def test_the_command_says_why_and_digests_the_other_files(tmp_path, ferry):
    (tmp_path / "bomb.pdf").write_bytes(pdf_of_operators(3_000_000))
    (tmp_path / "ferry.txt").write_text(ferry, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "aerogram", "digest", "bomb.pdf", "ferry.txt", "-q", "What does a ticket cost?"],
        cwd=tmp_path,
        env={**os.environ, "AEROGRAM_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "bomb.pdf: the source takes more than 512 MB of memory to read" in done.stderr
    assert "four crowns" in done.stdout
