"""Faults of the server behind: every call is answered once, with a code and advice, and the next one works."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import anyio
import psutil
import pytest
from mcp.shared.exceptions import MCPError

from balancer import wait_for
from gateway.conftest import BEHIND, behind, connect, gateway
from gateway.test_tasks import ENVELOPE
from gateway.test_wire import Wire
from programs import PROGRAM, quick_command

pytestmark = pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning")

ERAS = ["legacy", "auto"]
SMALL = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        info = {"name": "small", "version": "1"}
        result = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}, "serverInfo": info}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "one", "inputSchema": {"type": "object"}}]}
    elif "id" in message:
        OTHERWISE
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
TOUCHY = SMALL.replace("OTHERWISE", 'sys.exit("I do not know " + message["method"])')
MORTAL = SMALL.replace("OTHERWISE", 'print(os.getpid(), file=open(sys.argv[1], "a"), flush=True); continue')
"""A server that does not survive what it does not know, and one that notes each call and never answers it."""


def problem_of(result):
    assert result.is_error
    return result.meta["dev.aerogram/problem"]


@pytest.mark.parametrize("mode", ERAS)
async def test_a_server_that_ends_in_the_middle_is_started_again(mode):
    """Of one that has written half a message nothing is left over either; what is no message is passed over."""
    async with connect(gateway("--", *behind()), mode) as client:
        for tool in ("die", "half"):
            problem = problem_of(await client.call_tool(tool, {}))
            assert (problem["code"], problem["kind"]) == ("UNAVAILABLE", "unavailable")
            assert "before you repeat it" in problem["remediation"] and problem["retry"] == "check"
        assert (await client.call_tool("echo", {"a": 1})).content[0].text == '{"a": 1}'
        assert (await client.call_tool("garbage", {})).content[0].text == "after the garbage"


def test_fifty_calls_that_kill_their_server_are_answered_once_each():
    """One client's calls all fall with the server; none is lost and none is answered twice."""
    wire = Wire("legacy")
    wire.greet()
    wire.ask("first", "tools/call", name="echo")
    for number in range(49):
        wire.send(id=number, method="tools/call", params={"name": "slow"})
    wire.send(id=49, method="tools/call", params={"name": "die"})
    answers = [wire.read() for _ in range(50)]
    assert sorted(one["id"] for one in answers) == list(range(50))
    assert all(one["result"]["isError"] for one in answers)
    assert wire.ask("last", "tools/call", name="echo")["result"]["content"][0]["text"] == "null"
    assert wire.end() == 0


def test_a_server_that_is_killed_fifty_times_is_there_after_each(tmp_path):
    """Each call is answered once, with code and advice; the pauses between two starts grow, and are a setting."""
    settings, called = tmp_path / "servers.toml", tmp_path / "called"
    called.touch()
    program = [sys.executable, "-S", "-c", MORTAL, str(called)]
    settings.write_text(f"[servers.mortal]\ncommand = {json.dumps(program)}\npause = 0\n")
    wire = Wire("", "--settings", str(settings), server=[])
    wire.greet()
    for number in range(50):
        wire.send(id=f"kill {number}", method="tools/call", params={"name": "one"})
        wait_for(lambda count=number + 1: called.read_text().count("\n") == count)
        os.kill(int(called.read_text().split()[-1]), signal.SIGKILL)
        answer = wire.read()
        problem = answer["result"]["_meta"]["dev.aerogram/problem"]
        assert (answer["id"], problem["code"]) == (f"kill {number}", "UNAVAILABLE")
        assert "before you repeat it" in problem["remediation"]
    assert wire.ask("last", "tools/list")["result"]["tools"][0]["name"] == "one"
    assert wire.end() == 0
    assert len(set(called.read_text().split())) == 50
    assert "aerogram: 50 calls, 50 failed" in wire.errors


SHORT_LIVED = SMALL.replace("OTHERWISE", "sys.exit()").replace(
    "\nfor", "\nimport time\nprint(time.time(), file=open(sys.argv[1], 'a'), flush=True)\nfor", 1
)


def test_the_pauses_before_a_server_that_does_not_stay_up_are_those_of_its_setting(tmp_path):
    """It is started again after so many seconds, and twice as many each time."""
    settings, started = tmp_path / "servers.toml", tmp_path / "started"
    program = [sys.executable, "-S", "-c", SHORT_LIVED, str(started)]
    settings.write_text(f"[servers.short]\ncommand = {json.dumps(program)}\npause = 0.4\n")
    wire = Wire("", "--settings", str(settings), server=[])
    wire.greet()
    for number in range(4):
        assert wire.ask(number, "tools/call", name="one")["result"]["isError"]
    assert wire.end() == 0
    times = [float(one) for one in started.read_text().split()]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert all(gap >= least for gap, least in zip(gaps, (0.4, 0.8, 1.6), strict=True))


async def test_a_message_of_a_hundred_megabytes_fails_its_call_alone():
    async with connect(gateway("--", *behind()), "legacy") as client, anyio.create_task_group() as group:
        outcomes = {}

        async def call(name, **arguments):
            outcomes[name] = await client.call_tool(name, arguments)

        group.start_soon(lambda: call("slow", seconds=1))
        await call("huge", bytes=100 * 1024 * 1024)
    assert "104,857," in problem_of(outcomes["huge"])["message"] and problem_of(outcomes["huge"])["retry"] == "no"
    assert outcomes["slow"].content[0].text == "slept"


async def test_a_server_that_stands_still_is_ended_and_started_again(tmp_path):
    """SIGSTOP: it has not ended and does not answer."""
    started = tmp_path / "pids"
    words = f"import os; open({str(started)!r}, 'a').write(str(os.getpid()) + ' ')"
    program = [sys.executable, "-c", f"{words}; import runpy, sys; sys.argv = ['behind', 'both']; " + _run_behind()]
    async with connect(gateway("--timeout", "1", "--", *program), "legacy") as client:
        await client.call_tool("echo", {})
        os.kill(int(started.read_text().split()[-1]), signal.SIGSTOP)
        problem = problem_of(await client.call_tool("echo", {}))
        assert "within 1 s" in problem["message"] and problem["retry"] == "check"
        assert (await client.call_tool("echo", {})).content[0].text == "{}"
        assert len(started.read_text().split()) == 2


MUTE = SMALL.replace("OTHERWISE", "continue")


def test_a_call_takes_no_longer_than_it_may():
    """It is looked whether the server lives once the call has its answer; a further call waits for that."""
    wire = small(MUTE, "--timeout", "1")
    since = time.monotonic()
    problem = wire.ask(1, "tools/call", name="one")["result"]["_meta"]["dev.aerogram/problem"]
    assert time.monotonic() - since < 4
    assert "within 1 s" in problem["message"] and problem["retry"] == "check"
    assert wire.ask(2, "tools/list")["result"]["tools"]
    assert wire.end() == 0
    assert "the server was started again" in wire.errors


DEAF = SMALL.replace("OTHERWISE", "import time; time.sleep(300)")


def test_a_server_that_hangs_and_takes_no_more_of_what_it_is_told_is_ended_and_started_again():
    """Its input is full, so that it cannot even be asked whether it lives."""
    wire, since = small(DEAF, "--timeout", "1"), time.monotonic()
    for number in range(1, 6):
        told = {"words": "x" * 50_000}
        wire.send(id=number, method="tools/call", params={"name": "one", "arguments": told})
    answers = [wire.read() for _ in range(5)]
    assert time.monotonic() - since < 30
    assert {one["id"] for one in answers} == {1, 2, 3, 4, 5}
    problems = [one["result"]["_meta"]["dev.aerogram/problem"] for one in answers]
    assert {one["code"] for one in problems} == {"UNAVAILABLE"}
    assert wire.ask(6, "tools/list")["result"]["tools"]
    assert wire.end() == 0
    assert "the server was started again" in wire.errors


def _run_behind():
    return f"runpy.run_path({str(BEHIND)!r}, run_name='__main__')"


def test_a_command_that_is_not_there_is_told():
    words = quick_command("-m", "aerogram", "wrap", "--", "/nowhere/at/all")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n"
    done = subprocess.run(words, input=line.encode(), capture_output=True, timeout=60, check=False)
    error = json.loads(done.stdout)["error"]
    assert error["message"].startswith("The server cannot be started: all: No such file")
    assert (
        error["data"]["code"] == "UNAVAILABLE" and b"/nowhere" not in done.stdout
    )  # nobody there can do anything with it
    assert done.returncode == 1 and b"the command /nowhere/at/all is not there" in done.stderr


UNABLE = """
import sys
open(sys.argv[1], "a").write("started ")
print("\\x1b[31mreading\\nTraceback:\\n  File /srv/some/where.py, line 3", file=sys.stderr)
sys.exit("no key in /srv/some/where.py: password=Tr0ub4dor&3xyz")
"""
"""A server that says why it does not start."""


@pytest.mark.parametrize("mode", ERAS)
async def test_of_a_server_that_does_not_start_its_exit_code_and_last_words_are_told(mode, tmp_path):
    """It is started once for each way in which it can be asked, and no secret and no folder of the machine is told."""
    started = tmp_path / "started"
    server = gateway("--", sys.executable, "-S", "-c", UNABLE, str(started))
    with pytest.RaisesGroup(MCPError, flatten_subgroups=True) as told:
        async with connect(server, mode):
            pass
    failure = told.value.exceptions[0]
    while isinstance(failure, ExceptionGroup):
        failure = failure.exceptions[0]
    words = failure.error.message
    assert words.startswith("The server behind does not start: it ended with exit code 1: ")
    assert "Traceback:; no key in …/where.py: " in words
    assert all(one not in words for one in ("/srv", "line 3", "Tr0ub4dor", "\x1b"))
    assert failure.error.data["code"] == "UNAVAILABLE"
    assert len(started.read_text().split()) == ERAS.index(mode) + 1


ONCE = """
import os, sys
if os.path.exists(sys.argv[1]): sys.exit("no second time")
open(sys.argv[1], "w")
""" + SMALL.replace("OTHERWISE", "sys.exit()")


def test_calls_that_wait_for_a_server_which_does_not_start_wait_once_and_together(tmp_path):
    """What is asked after that has it started again."""
    wire = Wire("", server=[sys.executable, "-S", "-c", ONCE, str(tmp_path / "started")])
    wire.greet()
    assert wire.ask("first", "tools/call", name="one")["result"]["isError"]
    since = time.monotonic()
    for number in range(30):
        wire.send(id=number, method="tools/list", params={})
    told = [wire.read()["error"]["message"] for _ in range(30)]
    assert time.monotonic() - since < 10
    assert set(told) == {"The server behind does not start: it ended with exit code 1: no second time"}
    (tmp_path / "started").unlink()
    assert wire.ask("last", "tools/list")["result"]["tools"]
    assert wire.end() == 0
    assert 1 <= wire.errors.count("no second time") <= 3


LOUD = SMALL.replace("OTHERWISE", 'result = {"content": []}').replace(
    "import json, os, sys",
    "import json, os, sys, threading\n"
    "threading.Thread(target=lambda: os.write(2, b'aloud ' * 200_000), daemon=True).start()",
)


def test_what_is_written_to_standard_error_holds_up_no_call_where_nobody_reads_it():
    """A client may read that when it likes to: what its server has written, and the lines of the calls."""
    wire = small(LOUD)
    for number in range(1_500):
        assert wire.ask(number, "tools/call", name="one")["result"]["content"] == []
    with wire.process as gateway_process:
        gateway_process.stdin.close()
        heard = gateway_process.stderr.read()
        assert gateway_process.wait(20) == 0
    assert heard.count(b"aloud ") > 100_000 and heard.count(b"\none  ") > 100
    assert b"aerogram: 1500 calls" in heard


def test_a_gateway_ends_although_nobody_reads_its_standard_error():
    wire = small(LOUD)
    wire.ask(1, "tools/call", name="one")
    since = time.monotonic()
    assert wire.end() == 0
    assert time.monotonic() - since < 10


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_answers_what_is_under_way_and_leaves_nothing_behind(kind, tmp_path):
    started = tmp_path / "pid"
    program = textwrap.dedent(f"""
        import os, runpy, sys
        open({str(started)!r}, "w").write(str(os.getpid()))
        sys.argv = ["behind", "legacy"]
        {_run_behind()}
    """)
    wire = Wire("legacy", server=[sys.executable, "-c", program])
    wire.greet()
    wire.ask(1, "tools/call", name="echo")
    wire.send(id=2, method="tools/call", params={"name": "slow"})
    wire.send(id=3, method="ping")
    assert wire.read()["id"] == 3
    wire.process.send_signal(kind)
    answer = wire.read()
    assert (answer["id"], answer["result"]["isError"]) == (2, True)
    assert wire.process.wait(20) == 0  # although the client has not gone
    assert wire.end() == 0
    assert "aerogram: 2 calls, 1 failed" in wire.errors
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


def test_a_client_that_goes_in_the_middle_of_a_reply_ends_everything():
    """It has asked for five megabytes, and reads the first of them."""
    wire = Wire("legacy", "--budget", "100000000")
    wire.greet()
    wire.send(id=1, method="tools/call", params={"name": "huge", "arguments": {"bytes": 5_000_000}})
    assert len(wire.process.stdout.read(100_000)) == 100_000
    wire.process.stdout.close()
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def test_a_client_that_goes_in_the_middle_ends_everything():
    wire = Wire("legacy")
    wire.greet()
    wire.send(id=1, method="tools/call", params={"name": "slow"})
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def test_a_client_that_reads_nothing_more_has_gone_although_its_end_of_our_input_is_held():
    """As by a child of it, which got that with all else that was open."""
    wire = Wire("legacy")
    wire.greet()
    wire.process.stdout.close()
    wire.send(id=1, method="tools/list")
    assert wire.process.wait(20) == 0
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def test_a_client_that_says_all_at_once_is_answered_although_it_has_gone():
    """As from a pipe; its server takes its time to start."""
    program = "import time; time.sleep(2)\n" + SMALL.replace("OTHERWISE", 'time.sleep(1); result = {"content": []}')
    wire = Wire("", server=[sys.executable, "-S", "-c", program])
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
    wire.send(id=0, method="initialize", params=about)
    wire.send(method="notifications/initialized")
    wire.send(id=1, method="tools/call", params={"name": "one"})
    wire.process.stdin.close()
    assert [wire.read()["id"] for _ in range(2)] == [0, 1]
    assert wire.end() == 0
    assert "1 call" in wire.errors and "failed" not in wire.errors


SILENT = "import os, sys\nprint(os.getpid(), file=open(sys.argv[1], 'w'), flush=True)\nfor line in sys.stdin: pass"


class Silent(BaseHTTPRequestHandler):
    """A server of the older transport that begins its stream, and never says where it takes messages."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.server.asked.set()
        self.server.released.wait(60)

    def log_message(self, *_):
        """Nothing."""


@contextlib.contextmanager
def silent(kind, folder):
    """The words for a server that never begins, and what waits until somebody has turned to it."""
    if kind == "program":
        noted = folder / "pid"
        noted.touch()
        yield ["--", sys.executable, "-c", SILENT, str(noted)], lambda: wait_for(noted.read_text, 60)
        with pytest.raises(ProcessLookupError):
            os.kill(int(noted.read_text()), 0)
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), Silent) as server:
        server.asked, server.released = threading.Event(), threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ["--sse", f"http://127.0.0.1:{server.server_port}/sse"], lambda: server.asked.wait(60)
        server.released.set()
        server.shutdown()


@pytest.mark.parametrize("kind", ["program", "address"])
@pytest.mark.parametrize("asks", ["initialize", "server/discover"])
@pytest.mark.parametrize("how", ["interrupt", "end"])
def test_a_server_that_does_not_begin_keeps_no_gateway_from_ending(kind, asks, how, tmp_path):
    """Its client may have left a server behind that is only just fetched, or one that says nothing for ever."""
    told = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "wire", "version": "1"}}
    with silent(kind, tmp_path) as (words, has_been_asked):
        wire = Wire("", words=["wrap", *words])
        wire.send(id=1, method=asks, params=told if asks == "initialize" else {"_meta": ENVELOPE})
        has_been_asked()
        if how == "interrupt":
            wire.process.send_signal(signal.SIGTERM)
            assert wire.process.wait(10) == 0
        assert wire.end() == 0
        assert "Traceback" not in wire.errors


def test_a_client_that_does_not_wait_for_a_slow_server_may_ask_in_the_old_way():
    """Its first question opens no connection until the server is there, for that would take no handshake any more."""
    wire = Wire("", server=[sys.executable, "-c", f"import time; time.sleep(2)\n{TOUCHY}"])
    wire.send(id=1, method="server/discover", params={"_meta": ENVELOPE})
    told = {"name": "wire", "version": "1"}
    asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": told}
    wire.send(id=2, method="initialize", params=asked)
    answer = wire.read()
    assert (answer["id"], answer["result"]["serverInfo"]["name"]) == (2, "small")
    wire.send(method="notifications/initialized")
    assert wire.ask(3, "tools/list")["result"]["tools"][0]["name"] == "one"
    assert wire.end() == 0


async def test_a_server_that_a_new_question_ends_is_asked_in_the_old_way():
    async with connect(gateway("--", sys.executable, "-c", TOUCHY), "auto") as client:
        assert client.server_info.name == "small"
        assert [tool.name for tool in (await client.list_tools()).tools] == ["one", "retrieve"]


async def test_a_reply_is_sent_although_nothing_more_can_be_written(tmp_path):
    """No file may grow beyond four kilobytes, as on a disk that is full; what cannot be kept is not promised."""
    # what is compiled under such a limit would be cut off as well, and break whatever loads it next
    server = gateway(AEROGRAM_STATE=str(tmp_path), PYTHONDONTWRITEBYTECODE="1")
    words = [*PROGRAM, "wrap", "--budget", "2000", "--", *behind()]  # a process of its own has such a limit
    bounded = ["-c", 'ulimit -f 4; exec "$@"', "bash", *words]
    server = server.model_copy(update={"command": "bash", "args": bounded})
    async with connect(server, "legacy") as client:
        result = await client.call_tool("rows", {})
        assert not result.is_error and len(result.content[0].text) < 12_000
        assert "archive_hashes" not in result.meta["dev.aerogram/fidelity"]
        assert (await client.call_tool("echo", {})).content[0].text == "{}"


async def test_two_gateways_share_an_archive():
    """What one has left out, the other gives back."""
    first, second = (gateway("--budget", "2000", "--", *behind()) for _ in range(2))
    async with connect(first, "legacy") as one, connect(second, "auto") as other:
        result = await one.call_tool("rows", {})
        digest = result.meta["dev.aerogram/fidelity"]["archive_hashes"]["data"]
        back = await other.call_tool("retrieve", {"hash": digest, "query": "length(rows)"})
        assert back.content[0].text == "300"


async def test_gateways_that_run_the_same_words_elsewhere_or_for_somebody_else_share_nothing(tmp_path):
    """One command may be another server in another folder, and another account with another value of a variable."""
    words = ["--budget", "2000", "--env", "ACCOUNT", "--", *behind()]
    mine = gateway(*words, ACCOUNT="mine")
    elsewhere = mine.model_copy(update={"cwd": tmp_path})
    others, redacted = gateway(*words, ACCOUNT="yours"), gateway("--redact", *words, ACCOUNT="mine")
    async with connect(mine, "legacy") as client:
        fidelity = (await client.call_tool("rows", {})).meta["dev.aerogram/fidelity"]
    asked = {"hash": fidelity["archive_hashes"]["data"]}
    for server in (elsewhere, others, redacted):
        async with connect(server, "legacy") as client:
            assert problem_of(await client.call_tool("retrieve", asked))["code"] == "NOT_FOUND"
    async with connect(mine, "legacy") as client:
        assert not (await client.call_tool("retrieve", asked)).is_error


HINTED = SMALL.replace('{"type": "object"}', '{"type": "object"}, "annotations": {"readOnlyHint": True}').replace(
    "OTHERWISE", "continue"
)


def test_a_tool_that_only_reads_may_be_called_again_after_it_was_lost():
    """What a server says of its own tools is advice to whoever calls them, and nothing is done because of it."""
    wire = small(HINTED, "--timeout", "0.5")
    problem = wire.ask(1, "tools/call", name="one")["result"]["_meta"]["dev.aerogram/problem"]
    assert (problem["retry"], problem["remediation"]) == ("yes", "Retry with backoff.")
    wire.end()


LEAVES = SMALL.replace("OTHERWISE", "\n        if os.fork(): os._exit(0)\n        import time; time.sleep(60)")
REPLACED = "import os, sys\nif os.fork(): os._exit(0)\n" + SMALL.replace("OTHERWISE", 'result = {"content": []}')


def small(program, *options):
    """A client of a small server, after its handshake."""
    wire = Wire("", *options, server=[sys.executable, "-S", "-c", program])
    wire.greet()
    return wire


def test_a_program_that_ends_is_missed_although_a_child_holds_its_output():
    """As launchers leave one; it is ended as well, and nothing is said about it at the end."""
    wire, since = small(LEAVES, "--timeout", "200"), time.monotonic()
    answer = wire.ask(1, "tools/call", name="one")
    problem = answer["result"]["_meta"]["dev.aerogram/problem"]
    assert time.monotonic() - since < 60
    assert (problem["code"], problem["retry"]) == ("UNAVAILABLE", "check")
    assert wire.ask(2, "tools/list")["result"]["tools"]
    assert wire.end() == 0
    assert "Traceback" not in wire.errors and "Exception" not in wire.errors


def test_a_child_that_has_taken_the_place_of_its_program_goes_on():
    wire = small(REPLACED)
    time.sleep(8)  # seconds, in which it is looked whether it lives
    assert wire.ask(1, "tools/call", name="one")["result"]["content"] == []
    assert wire.end() == 0
    assert "started again" not in wire.errors


FLOOD = SMALL.replace("OTHERWISE", 'result = {"content": []}').replace(
    "    else:\n        continue",
    """    else:
        news = {"level": "info", "data": "x" * 20_000}
        line = json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": news})
        for _ in range(3000):
            print(line)
        continue""",
)


def test_a_server_that_tells_more_than_its_client_takes_does_not_fill_the_memory():
    """It waits; once the client reads, everything is there."""
    wire = small(FLOOD)
    program = psutil.Process(wire.process.pid)
    before = program.memory_info().rss
    time.sleep(8)
    assert program.memory_info().rss - before < 50_000_000
    wire.send(id="after", method="tools/call", params={"name": "one"})
    told = [wire.read() for _ in range(3_001)]
    assert sum(one.get("method") == "notifications/message" for one in told) == 3_000
    assert wire.end() == 0


CURIOUS = SMALL.replace("OTHERWISE", 'result = {"content": []}').replace(
    "    else:\n        continue",
    """    else:
        for number in range(20_000):
            asked = {"id": number, "method": sys.argv[1], "params": {"x": "x" * 10_000}}
            print(json.dumps({"jsonrpc": "2.0", **asked}))
        continue""",
)


@pytest.mark.parametrize("method", ["ping", "roots/list"])
def test_a_server_that_asks_and_never_reads_the_answers_does_not_fill_the_memory(method):
    """Neither with answers that it does not take, nor with questions that its client leaves open."""
    wire = Wire("", server=[sys.executable, "-S", "-c", CURIOUS, method])
    wire.greet()
    program = psutil.Process(wire.process.pid)
    before = program.memory_info().rss
    time.sleep(8)
    assert program.memory_info().rss - before < 50_000_000
    wire.process.stdout.close()
    assert wire.end() == 0
