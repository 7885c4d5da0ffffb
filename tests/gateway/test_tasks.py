"""Tasks: a call that is answered later; what it comes to keeps the contract as any other answer does."""

from __future__ import annotations

import json
import sys

import pytest

from gateway.test_wire import Wire

SERVER = """
import json, sys
ROWS = [{"id": f"row-{n}", "text": "some words " * 20} for n in range(300)]
ANSWER = {"content": [{"type": "text", "text": json.dumps(ROWS)}], "isError": False}
TIMES = {"createdAt": "2026-11-16T10:00:00Z", "lastUpdatedAt": "2026-11-16T10:00:01Z"}
ABOUT = {"name": "later", "version": "1"}
asked = 0
for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params") or {}
    task = {"taskId": "task-1", "status": "working", **TIMES}
    if method == "initialize":
        capabilities = {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}}
        result = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": ABOUT}
    elif method == "server/discover":
        capabilities = {"tools": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
        result = {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
                  "ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/list":
        result = {"resultType": "complete", "tools": [{"name": "later", "inputSchema": {"type": "object"}}],
                  "ttlMs": 0, "cacheScope": "private"}
    elif method == "tools/call" and "task" in params:
        result = {"task": {**task, "ttl": 60000}}
    elif method == "tools/call":
        result = {"resultType": "task", **task, "ttlMs": 60000}
    elif method == "tasks/get":
        asked += 1
        result = {"resultType": "complete", **task, "ttlMs": 60000}
        if asked > 1:
            result |= {"status": "completed", "result": ANSWER}
    elif method == "tasks/result":
        result = ANSWER
    elif method == "tasks/cancel":
        result = {"resultType": "complete"}
    else:
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
CAPABILITIES = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "wire", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
}


@pytest.fixture
def wire():
    wire = Wire("", "--budget", "2000", server=[sys.executable, "-c", SERVER])
    yield wire
    assert wire.end() == 0


def check(wire, result):
    """It fits, and all of it comes back."""
    assert len(result["content"][0]["text"]) < 12_000
    return result["_meta"]["dev.aerogram/fidelity"]["archive_hashes"]["data"]


def test_what_a_task_comes_to_is_fitted(wire):
    """As 2026-07-28 has it: the server decides, and the answer stands in the task."""
    created = wire.ask(1, "tools/call", name="later", arguments={}, _meta=ENVELOPE)["result"]
    assert (created["resultType"], created["taskId"], created["status"]) == ("task", "task-1", "working")
    assert "content" not in created
    working = wire.ask(2, "tasks/get", taskId="task-1", _meta=ENVELOPE)["result"]
    assert working["status"] == "working" and "result" not in working
    done = wire.ask(3, "tasks/get", taskId="task-1", _meta=ENVELOPE)["result"]
    assert (done["status"], done["resultType"]) == ("completed", "complete")
    digest = check(wire, done["result"])
    asked = {"hash": digest, "query": "length(@)"}
    back = wire.ask(4, "tools/call", name="retrieve", arguments=asked, _meta=ENVELOPE)["result"]
    assert back["content"][0]["text"] == "300"
    assert wire.ask(5, "tasks/cancel", taskId="task-1", _meta=ENVELOPE)["result"]["resultType"] == "complete"


def test_what_a_task_of_the_older_kind_comes_to_is_fitted(wire):
    """As 2025-11-25 has it: the client asks for a task, and later for its result."""
    told = {"name": "wire", "version": "1"}
    wire.ask(0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=told)
    wire.send(method="notifications/initialized")
    created = wire.ask(1, "tools/call", name="later", arguments={}, task={"ttl": 60000})["result"]
    assert created["task"]["status"] == "working" and "content" not in created
    check(wire, wire.ask(2, "tasks/result", taskId="task-1")["result"])


def test_who_asks_for_a_task_gets_one_though_the_answer_of_the_tool_is_kept(tmp_path):
    path, program = tmp_path / "servers.toml", tmp_path / "later.py"
    program.write_text(SERVER.replace('result = {"resultType": "task", **task, "ttlMs": 60000}', "result = ANSWER"))
    command = json.dumps([sys.executable, str(program)])
    path.write_text(f"[servers.later]\ncommand = {command}\n[servers.later.tools.later]\ncache = 60\n")
    wire = Wire("", words=["wrap", "--settings", str(path)])
    wire.greet()
    assert wire.ask(1, "tools/call", name="later")["result"]["content"]
    assert wire.ask(2, "tools/call", name="later", task={"ttl": 1})["result"]["task"]["taskId"] == "task-1"
    assert wire.end() == 0
