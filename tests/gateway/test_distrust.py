"""Distrust: servers and clients that keep few of the rules do no harm to others, and are answered at once."""

from __future__ import annotations

import json
import stat
import sys
import time
from html import unescape
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx
import jsonschema_rs
import pytest

from balancer import wait_for
from gateway.odd import HANDLES, MISSHAPEN, NEWS, ODD_TOOLS, QUESTIONS, RESULTS, SAYS, SECRET, UNREAD_LINES
from gateway.test_tasks import ENVELOPE
from gateway.test_wire import Wire

ODD = [sys.executable, str(Path(__file__).with_name("odd.py"))]


@pytest.fixture(scope="module")
def wire():
    """A client that writes lines, before a server that does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER", "true")  # none is opened
        wire = Wire("", "--redact", "--page", "--timeout", "60", server=[*ODD, "odd_tools"])
    wire.page, _, wire.token = wire.process.stderr.readline().decode().split()[-1].partition("/#owner=")
    wire.greet()
    yield wire
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def call(wire, name, **arguments):
    return wire.ask(name, "tools/call", name=name, **({"arguments": arguments} if arguments else {}))


def test_a_request_without_an_id_goes_nowhere(wire):
    """A call would be carried out that way, by tools that are hidden too."""
    wire.send(method="tools/call", params={"name": "text"})
    wire.send(method="notifications/com.example/hello")
    methods = json.loads(call(wire, "heard")["result"]["content"][0]["text"])
    assert "notifications/com.example/hello" in methods and methods.count("tools/call") == 1


def test_the_words_of_a_failure_have_no_secrets(wire):
    error = call(wire, "refuses")["error"]
    assert (error["code"], error["data"]["why"]) == (4711, "because")
    assert error["message"].startswith("bad token [redacted:") and SECRET not in json.dumps(error)


def test_the_message_of_an_error_is_no_longer_than_anybody_reads(wire):
    message = call(wire, "long_error")["error"]["message"]
    assert message.startswith("it failed again") and message.endswith("chars]") and len(message) <= 2000


def check(said):
    """Nothing secret, but for the handles by which a client comes back."""
    handles = {name: said.pop(name) for name in HANDLES if name in said}
    text = json.dumps(said)
    assert SECRET not in text and "hunter2" not in text and "[redacted:" in text
    return handles


@pytest.mark.parametrize("name", [name for name in RESULTS if name not in ("claims", "odd_meta")])
def test_whatever_a_tool_answers_has_no_secrets(wire, name):
    result = call(wire, name)["result"]
    assert "isError" not in result
    check(result)


def test_what_the_owner_is_shown_of_a_call_has_no_secrets(wire):
    """Neither in what the server sent nor in what the model read."""
    call(wire, "text")
    shown = []
    until = time.monotonic() + 20
    while not any(one["operation"] == "text" for one in shown) and time.monotonic() < until:
        answer = httpx.get(f"{wire.page}/page/api/calls/{len(shown) + 1}", headers={"x-owner-token": wire.token})
        shown += [answer.json()] if answer.status_code == 200 else []
        time.sleep(0.05)
    assert any(one["operation"] == "text" for one in shown)
    for one in shown:
        assert SECRET not in json.dumps(one) and "hunter2" not in json.dumps(one)
    assert "[redacted:" in json.dumps([one["sent"] for one in shown])


def test_what_the_command_line_of_a_browser_says_opens_the_page_for_its_owner_alone(monkeypatch, tmp_path):
    """Others on the machine can read it, for as long as the browser runs."""
    noted, program = tmp_path / "address", tmp_path / "browser.py"
    program.write_text(f"import pathlib, sys\npathlib.Path({str(noted)!r}).write_text(sys.argv[1])")
    noted.touch()
    monkeypatch.setenv("BROWSER", f"{sys.executable} {program} %s &")
    wire = Wire("", "--page", server=ODD)
    told = wire.process.stderr.readline().decode().split()[-1]
    opened = wait_for(noted.read_text)
    file = Path(url2pathname(urlsplit(opened).path))
    assert opened.startswith("file://") and told.partition("=")[2] not in opened
    assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(file.parent.stat().st_mode)) == (0o600, 0o700)
    assert told in unescape(file.read_text())
    assert wire.end() == 0
    assert not file.exists()


@pytest.mark.parametrize("method", SAYS)
def test_whatever_a_request_is_answered_has_no_secrets(wire, method):
    result = wire.ask(method, method, name="some", taskId="t")["result"]
    sent = {name: value for name, value in HANDLES.items() if name in SAYS[method]}
    assert sent.items() <= check(result).items()


def test_what_is_told_by_itself_has_no_secrets(wire):
    wire.send(id="speak", method="tools/call", params={"name": "speak"})
    messages = [wire.read() for _ in range(len(NEWS) + 1)]
    told = {one["method"]: one["params"] for one in messages if "method" in one}
    assert told.keys() == NEWS.keys()
    for params in told.values():
        check(params)


def check_questions(asked):
    assert asked.keys() == QUESTIONS.keys()
    for params in asked.values():
        check(params)
    form = asked["elicitation/create"]["requestedSchema"]["properties"]
    assert form["password"]["type"] == "string"  # which it is called, and not what it is


def test_what_a_client_is_asked_has_no_secrets(wire):
    wire.send(id="asks", method="tools/call", params={"name": "asks"})
    asked = {}
    while len(asked) < len(QUESTIONS):
        message = wire.read()
        asked[message["method"]] = message["params"]
        wire.send(id=message["id"], result={})
    check_questions(asked)


def test_what_an_unfinished_result_asks_has_no_secrets(wire):
    result = call(wire, "wants")["result"]
    check_questions({name: one["params"] for name, one in result["inputRequests"].items()})
    assert result["requestState"] == SECRET  # by which the client comes back


@pytest.mark.parametrize("name", UNREAD_LINES)
def test_an_answer_that_cannot_be_read_fails_its_call_at_once(wire, name):
    result = call(wire, name)["result"]
    problem = result["_meta"]["dev.aerogram/problem"]
    assert result["isError"] and "cannot be read" in problem["message"] and "repeat" in problem["remediation"]
    assert problem["retry"] == "check"


@pytest.fixture(scope="module")
def plain():
    """The same without redaction, where results are sent as their server wrote them."""
    wire = Wire("", server=ODD)
    wire.greet()
    yield wire
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


@pytest.mark.parametrize("name", MISSHAPEN)
def test_content_that_no_client_can_read_is_told_as_data(plain, wire, name):
    """It was carried out, so that nobody is told to have it done once more."""
    for one in (plain, wire):
        result = call(one, name)["result"]
        (block,) = result["content"]
        assert json.loads(block["text"]) == result["structuredContent"] == MISSHAPEN[name]
        assert result.get("isError", False) is bool(MISSHAPEN[name].get("isError"))


def test_a_tool_that_cannot_be_understood_is_listed_as_it_came(wire):
    tools = wire.ask(1, "tools/list")["result"]["tools"]
    for odd, tool in zip(ODD_TOOLS[:-1], tools, strict=False):
        assert tool | {"_meta": 0} == odd | {"_meta": 0}
        assert call(wire, odd["name"])["result"]["content"]
    assert len(tools) > len(ODD_TOOLS)


def test_a_schema_of_which_a_part_allows_anything_allows_for_a_fitted_reply():
    wire = Wire("", "--budget", "200", server=ODD)
    wire.greet()
    tools = {tool["name"]: tool for tool in wire.ask(1, "tools/list")["result"]["tools"]}
    fitted = call(wire, "anything")["result"]["structuredContent"]
    assert 0 < len(fitted["rows"]) < 50
    jsonschema_rs.validate(tools["anything"]["outputSchema"], fitted)
    assert wire.end() == 0


def test_what_is_odd_about_an_answer_costs_no_more_than_that(wire):
    assert call(wire, "odd_meta")["result"]["content"] == [{"type": "text", "text": "x"}]
    assert call(wire, "half")["result"]["content"][0]["text"] == "\N{GRINNING FACE} \\ud83d \N{REPLACEMENT CHARACTER}"


def test_the_mark_that_some_libraries_write_before_a_text_is_no_part_of_it(wire):
    assert call(wire, "marked")["result"]["content"] == []
    first = Wire("", server=ODD)
    first.process.stdin.write(b"\xef\xbb\xbf")
    assert "result" in first.greet()
    assert first.end() == 0


def test_what_a_server_says_under_our_name_is_its_own_word(wire):
    assert call(wire, "our_name")["error"]["message"] == "its own"
    assert call(wire, "claims")["result"]["content"][0]["text"] == "x"


def test_a_list_of_tools_without_end_is_read_for_a_while():
    wire = Wire("", server=[*ODD, "endless"])
    wire.greet()
    assert call(wire, "some")["result"]["content"][0]["text"] == "its own some"
    methods = json.loads(call(wire, "heard")["result"]["content"][0]["text"])
    assert methods.count("tools/list") == 100
    assert wire.end() == 0


@pytest.mark.parametrize("cursor", ["null_cursor", "empty_cursor"])
def test_a_list_whose_next_cursor_is_nothing_is_at_its_end(cursor):
    """There stands our tool, without which nothing of what was left out could be had back."""
    wire = Wire("", server=[*ODD, cursor])
    wire.greet()
    assert wire.ask(1, "tools/list")["result"]["tools"][-1]["name"] == "retrieve"
    call(wire, "some")
    methods = json.loads(call(wire, "heard")["result"]["content"][0]["text"])
    assert methods.count("tools/list") == 1
    assert wire.end() == 0


def test_the_name_of_our_tool_is_free_from_the_first_call_on():
    """The server has tools of both names that ours might have."""
    wire = Wire("", server=[*ODD, "retrieve", "aerogram_retrieve"])
    wire.greet()
    for name in ("retrieve", "aerogram_retrieve"):
        assert call(wire, name)["result"]["content"][0]["text"] == f"its own {name}"
    names = [tool["name"] for tool in wire.ask(1, "tools/list")["result"]["tools"]]
    assert names[-1] == "aerogram_retrieve_2" and len(names) == len(set(names))
    assert call(wire, names[-1])["result"]["isError"]  # ours, which wants a hash
    assert wire.end() == 0


def test_a_call_has_one_line_whatever_its_tool_is_called():
    name = "a\x1b[2J\nforged  1 token"
    wire = Wire("", server=[*ODD, name])
    wire.greet()
    assert call(wire, name)["result"]["content"][0]["text"] == f"its own {name}"
    assert wire.end() == 0
    assert wire.errors.splitlines()[0].startswith(r"a\x1b[2J\nforged  1 token  ") and "\x1b" not in wire.errors


@pytest.mark.parametrize("method", ["resources/read", "prompts/get"])
def test_what_is_read_through_a_gateway_takes_from_its_limits(tmp_path, method):
    (tmp_path / "servers.toml").write_text(f'[servers.odd]\ncommand = {json.dumps(ODD)}\nlimits = ["2/hour"]\n')
    words = ["wrap", "--settings", str(tmp_path / "servers.toml"), "--server", "odd"]
    wire = Wire("", words=words)
    wire.greet()
    told = [wire.ask(number, method, uri="a://b", name="some") for number in range(1, 4)]
    assert ["result" in one for one in told] == [True, True, False]
    assert told[-1]["error"]["data"]["code"] == "RATE_LIMIT_EXCEEDED"
    assert "RATE_LIMIT_EXCEEDED" in json.dumps(call(wire, "heard"))
    assert wire.end() == 0


CALL = '"method":"tools/call","params":{"name":"echo","arguments":{"a":%s}}'
UNREADABLE = {"number": "9" * 5000, "deep": "[" * 5000 + "]" * 5000, "rather deep": "[" * 300 + "]" * 300, "cut": "[1"}


@pytest.fixture(scope="module")
def strict():
    """A client that writes lines, before a server that keeps the rules."""
    wire = Wire("legacy", "--timeout", "60")
    wire.greet()
    yield wire
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def write(wire, line):
    wire.process.stdin.write(line.encode("utf-8", "surrogatepass") + b"\n")
    wire.process.stdin.flush()


@pytest.mark.parametrize("value", UNREADABLE)
@pytest.mark.parametrize("form", ['{"jsonrpc":"2.0","id":%s,CALL}', '{CALL,"jsonrpc":"2.0","id":%s}'])
@pytest.mark.parametrize("number", ["77", '"seven \\" seven"'])
def test_a_request_that_cannot_be_read_is_answered(strict, value, form, number):
    """With its id, wherever that stands; what comes after it is answered as ever."""
    write(strict, (form % number).replace("CALL", CALL % UNREADABLE[value]))
    answer = strict.read()
    if value != "cut":  # in which there is no end to look at
        assert answer["id"] == json.loads(number)
    assert answer["error"]["code"] == -32700 and "can be read" in answer["error"]["message"]
    assert strict.ask("after", "tools/call", name="echo")["result"]["content"][0]["text"] == "null"


def test_half_of_a_character_costs_a_request_no_more_than_that(strict):
    r"""JavaScript writes "\ud83d" at the end of a text that it has cut there."""
    write(strict, '{"jsonrpc":"2.0","id":1,' + CALL % r'"\ud83d\ude00 \ud83d"' + "}")
    assert json.loads(strict.read()["result"]["content"][0]["text"]) == {"a": "\U0001f600 \ufffd"}


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("hello", None),
        ("[]", None),
        ('{"id":5,"method":"tools/list"}', 5),
        ('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":[1]}', 5),
        ('{"jsonrpc":"2.0","id":{"a":1},"method":"tools/list"}', None),
        ('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","_meta":[1]}}', 5),
        ('{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"echo","arguments":[1]}}', 5),
    ],
)
def test_what_is_no_request_is_refused_with_its_id(strict, line, number):
    write(strict, "")
    write(strict, line)
    answer = strict.read()
    assert answer["id"] == number and answer["error"]["code"] in (-32700, -32600, -32602)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
@pytest.mark.parametrize("method", ["tools/call", "com.example/unknown"])
def test_a_number_that_would_be_lost_on_the_way_is_refused(strict, number, method):
    """The server would be told of nothing in its place, and carry that out."""
    params = f'{{"name":"echo","arguments":{{"a":[0.5,{{"b":{number}}}]}}}}'
    write(strict, f'{{"jsonrpc":"2.0","id":5,"method":"{method}","params":{params}}}')
    answer = strict.read()
    assert answer["id"] == 5 and answer["error"]["code"] == -32602


def test_a_modern_server_that_asks_in_the_old_way_is_refused_at_once():
    """A modern client could not be asked before the end of the call, which would wait for the answer."""
    wire = Wire("", server=[sys.executable, str(Path(__file__).with_name("asking.py")), "modern"])
    about = {"name": "ask", "arguments": {"who": "Ada"}}
    answer = wire.ask(1, "tools/call", **about, _meta={**ENVELOPE, CAPABILITIES: {"elicitation": {}}})["result"]
    assert answer["content"][0]["text"].startswith('Ada was told {"code": -32601')
    assert wire.end() == 0


ASKS_ODDLY = """
import json, sys
KEPT = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "server/discover":
        result = {**KEPT, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif message["method"] == "tools/list":
        result = {**KEPT, "tools": [{"name": "one", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        asked = message["params"]["arguments"]["asked"]
        result = {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}
    else:
        result = None
    answer = {"error": {"code": -32601, "message": "?"}} if result is None else {"result": result}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"""


def test_questions_that_cannot_be_read_are_the_fault_of_their_server():
    wire = Wire("", server=[sys.executable, "-S", "-c", ASKS_ODDLY])
    wire.greet()
    for asked in ([1], 5, {"a": None}, {"a": {}}, {"a": {"method": 5}}, {"a": {"method": "ping", "params": [1]}}):
        problem = call(wire, "one", asked=asked)["result"]["_meta"]["dev.aerogram/problem"]
        assert problem["message"].startswith("The server's answer cannot be read")
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def test_a_server_that_asks_without_end_is_given_up_and_not_to_be_called_again():
    """It would ask as often the next time."""
    wire = Wire("", server=[sys.executable, "-S", "-c", ASKS_ODDLY])
    wire.greet()
    asked = {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}}
    found = call(wire, "one", asked=asked)
    while "method" in found:
        wire.send(id=found["id"], result={"action": "accept", "content": {}})
        found = wire.read()
    problem = found["result"]["_meta"]["dev.aerogram/problem"]
    assert "asks without end" in problem["message"] and not problem["retryable"]
    assert wire.end() == 0


CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"_meta": {CAPABILITIES: ["sampling"]}}),
        ("tools/call", {"_meta": {CAPABILITIES: {"extensions": 5}}}),
        ("tools/call", {"inputResponses": 5}),
        ("tools/call", {"inputResponses": {"QUESTION": 5}}),
        ("subscriptions/listen", {"notifications": ["x"]}),
        ("subscriptions/listen", {"notifications": {"resourceSubscriptions": 5}}),
        ("subscriptions/listen", {"notifications": {"resourceSubscriptions": [5]}}),
    ],
)
def test_what_a_modern_client_says_in_another_shape_is_refused_and_costs_no_question_its_answer(method, params):
    wire = Wire("", server=[sys.executable, str(Path(__file__).with_name("asking.py")), "legacy"])
    envelope = {**ENVELOPE, CAPABILITIES: {"elicitation": {}}}
    about = {"name": "ask", "arguments": {"who": "Ada"}}
    asked = wire.ask(1, "tools/call", **about, _meta=envelope)["result"]
    (question,) = asked["inputRequests"]
    wrong = json.loads(json.dumps(params).replace("QUESTION", question))
    meta = {**envelope, **wrong.pop("_meta", {})}
    refused = wire.ask(2, method, **about, requestState=asked["requestState"], **wrong, _meta=meta)
    assert refused["error"]["code"] == -32602
    right = {"inputResponses": {question: {"action": "accept"}}, "requestState": asked["requestState"]}
    answer = wire.ask(3, "tools/call", **about, **right, _meta=envelope)["result"]
    assert answer["content"][0]["text"] == 'Ada was told {"action": "accept"}'
    assert wire.end() == 0
    assert "Traceback" not in wire.errors


def test_news_that_cannot_be_read_are_passed_over(strict):
    write(strict, '{"jsonrpc":"2.0","method":"notifications/x","params":{"id":%s}}' % ("9" * 5000))
    assert strict.ask("after", "tools/call", name="echo")["id"] == "after"


def test_an_answer_of_the_client_that_cannot_be_read_ends_the_question():
    """The server would wait for it as long as it waits for anything."""
    wire = Wire("legacy")
    told = {"name": "wire", "version": "1"}
    wire.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={"elicitation": {}}, clientInfo=told)
    wire.send(method="notifications/initialized")
    asked = wire.ask(1, "tools/call", name="ask")
    assert asked["method"] == "elicitation/create"
    write(
        wire,
        '{"jsonrpc":"2.0","id":ASKED,"result":{"action":"accept","content":{"name":NUMBER}}}'.replace(
            "ASKED", json.dumps(asked["id"])
        ).replace("NUMBER", "9" * 5000),
    )
    answer = wire.read()
    assert answer["id"] == 1 and "error" in answer
    assert wire.end() == 0


def test_what_a_server_writes_besides_its_messages_is_not_repeated():
    """It may be anything, a secret too."""
    program = f"import runpy; print('key {SECRET}', flush=True); runpy.run_path({ODD[1]!r}, run_name='__main__')"
    wire = Wire("", "--redact", server=[sys.executable, "-c", program])
    wire.greet()
    assert wire.end() == 0
    assert "no message" in wire.errors and SECRET[:8] not in wire.errors
