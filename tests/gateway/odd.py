"""A server behind a gateway that keeps few of the rules; it writes its lines itself.

python odd.py [name of a further tool]...
"""

from __future__ import annotations

import json
import sys

SECRET = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
UNREAD = {
    "number": '{"content": [], "structuredContent": {"a": %s}}' % ("9" * 5000),
    "list": "[1, 2]",
    "null": "null",
    "deep": '{"content": [], "structuredContent": {"a": %s}}' % ("[" * 3000 + "]" * 3000),
}
"""Results that cannot be read."""
MISSHAPEN = {
    "nothing": {"content": None},
    "failed": {"content": None, "isError": True},
    "word": {"content": "word"},
    "object": {"content": {"type": "text", "text": "x"}},
    "bare_items": {"content": ["a", {"type": "text"}]},
    "text_5": {"content": [{"type": "text", "text": 5}]},
    "untyped": {"content": [{"text": "x"}]},
    "listed": {"content": [{"type": ["text"], "text": "x"}]},
    "unnamed": {"content": [{"type": "text", "text": "x"}, {"type": "resource_link", "uri": "x://y"}]},
    "sized": {"content": [{"type": "resource_link", "uri": "x://y", "name": "y", "size": 5.5}]},
    "empty": {"content": [{"type": "resource", "resource": {"uri": "x://y"}}]},
    "snake": {"content": [{"type": "image", "data": "aGk=", "mime_type": "image/png"}]},
    "for_robots": {"content": [{"type": "text", "text": "x", "annotations": {"audience": ["robot"]}}]},
    "undecided": {"content": [{"type": "text", "text": "x"}], "isError": None},
}
"""Results that no client can read."""
UNREAD_LINES = {
    **{name: f'{{"jsonrpc": "2.0", "id": %s, "result": {result}}}' for name, result in UNREAD.items()},
    "point": '{"jsonrpc": "2.0", "id": %s.0, "result": {"content": []}}',
    "row": '[{"jsonrpc": "2.0", "id": %s, "result": {"content": []}}]',
}
"""Answers that cannot be read: those, one with the id of another kind, and one in a list."""
HALF = r'{"content": [{"type": "text", "text": "\ud83d\ude00 \\ud83d \ud83d"}]}'
"""One with a character, its name, and a half of it, as a text ends that was cut there."""
LINES = {
    **UNREAD_LINES,
    "half": '{"jsonrpc": "2.0", "id": %s, "result": ' + HALF + "}",
    "marked": '\N{ZERO WIDTH NO-BREAK SPACE}{"jsonrpc": "2.0", "id": %s, "result": {"content": []}}',
}
ODD_TOOLS = [
    {"name": "no_members", "inputSchema": {"type": "object", "properties": []}},
    {"name": "no_schemas", "inputSchema": 5, "outputSchema": {"type": "object", "properties": 5}},
    {"name": "no_meta", "inputSchema": {}, "outputSchema": [1], "_meta": 7},
    {"name": "nothing_required", "inputSchema": {}, "outputSchema": {"type": "object", "required": None}},
    {"name": "no_type", "inputSchema": {}, "outputSchema": {"type": 5}},
    5,
]
ROWS = {"rows": [{"id": number, "words": "some words " * 5} for number in range(50)], "more": None}
ROW_LIST = {"type": "array", "items": {"type": "object", "required": ["id", "words"]}, "minItems": 50}
ANYTHING = {
    "name": "anything",
    "inputSchema": {"type": "object"},
    "outputSchema": {
        "type": "object",
        "properties": {"rows": {"$ref": "#/$defs/rows"}, "more": True},
        "additionalProperties": False,
        "$defs": {"rows": ROW_LIST, "any": True, "none": False},
    },
}
"""A tool with members of its output that may be anything, or nothing at all, as libraries write it in a word."""
PLAIN = {"anything": {"content": [{"type": "text", "text": json.dumps(ROWS)}], "structuredContent": ROWS}}
ERRORS = {
    "refuses": {"code": 4711, "message": f"bad token {SECRET}", "data": {"token": SECRET, "why": "because"}},
    "long_error": {"code": 4711, "message": "it failed again " * 9_000},
    "our_name": {"code": -32603, "message": "its own", "data": {"dev.aerogram/too_large": "boo"}},
}
LINK = {"uri": f"https://h/?access_token={SECRET}", "name": SECRET, "title": SECRET, "description": f"see {SECRET}"}
RESULTS = {
    "link": {"content": [{"type": "resource_link", **LINK}]},
    "embedded": {"content": [{"type": "resource", "resource": {"uri": f"file:///{SECRET}", "text": "inside"}}]},
    "member": {"content": [{"type": "text", "text": "x"}], "extra": {"key": SECRET}, "password": "hunter2"},
    "no_content": {"content": None, "key": SECRET},
    "no_blocks": {"content": [None, SECRET]},
    "kind": {"resultType": "odd", "content": [{"type": "text", "text": SECRET}]},
    "half_task": {"task": {"taskId": "t"}, "structuredContent": {"password": "hunter2"}},
    "block": {
        "content": [
            {"type": "text", "text": "x", "extra": SECRET},
            {"type": "audio", "data": "aGk=", "mimeType": SECRET},
        ]
    },
    "words": {
        "content": [{"type": "resource", "text": SECRET, "resource": {"uri": "a://b", "text": "x", "title": SECRET}}]
    },
    "plain_list": {"content": [], "structuredContent": [{"password": "hunter2"}]},
    "odd_meta": {"content": [{"type": "text", "text": "x"}], "_meta": 5},
    "claims": {"content": [{"type": "text", "text": "x"}], "_meta": {"dev.aerogram/fidelity": "much"}},
}
HANDLES = {"nextCursor": SECRET, "requestState": SECRET, "taskId": SECRET}
"""What a client comes back with, which has to be what it was."""
META = {"_meta": {"key": SECRET, "password": {"of": "hunter2"}}}
TEXT = {"type": "text", "text": f"use {SECRET}"}
SAYS = {
    "prompts/get": {
        "description": SECRET,
        "messages": [{"role": "user", "content": TEXT, "extra": SECRET}, SECRET],
        "more": {"password": "hunter2"},
    },
    "resources/read": {"contents": [{"uri": f"a://{SECRET}", "text": SECRET, "extra": SECRET}], "more": SECRET},
    "completion/complete": {"completion": {"values": [SECRET], "hasMore": False}},
    "tasks/get": {
        **HANDLES,
        **META,
        "status": "failed",
        "statusMessage": SECRET,
        "error": {"code": 1, "message": SECRET},
        "result": {"structuredContent": {"password": "hunter2"}},
    },
    "tasks/result": {"structuredContent": {"password": "hunter2"}},
    "com.example/unknown": {**HANDLES, **META, "some": [{"key": SECRET}], "password": "hunter2"},
}
"""What is answered to other requests."""
QUESTIONS = {
    "elicitation/create": {
        "message": f"Is {SECRET} right?",
        "requestedSchema": {
            "type": "object",
            "properties": {"password": {"type": "string", "description": f"as {SECRET}", "default": SECRET}},
        },
    },
    "sampling/createMessage": {
        "messages": [{"role": "user", "content": TEXT}],
        "systemPrompt": f"The key is {SECRET}",
        "metadata": {"password": "hunter2"},
        "maxTokens": 10,
    },
}
"""What it asks the client."""
NEWS = {
    "notifications/message": {"level": "error", "logger": SECRET, "data": {"password": "hunter2"}},
    "notifications/tasks": {"taskId": "t", "status": "completed", "result": {"content": [TEXT]}},
    "notifications/com.example/unknown": {"some": SECRET},
}
NAMES = [
    *LINES,
    *ERRORS,
    *RESULTS,
    *MISSHAPEN,
    "heard",
    "log",
    "tell",
    "speak",
    "asks",
    "wants",
    *sys.argv[1:],
]
METHODS = []
INFO = {"name": "odd", "version": "1"}
CAPABILITIES = {"tools": {}, "resources": {"subscribe": True}, "prompts": {}, "logging": {}}


def write(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def call(asked, name):
    if name in LINES:
        print(LINES[name] % json.dumps(asked), flush=True)
    elif name == "asks":
        for method, params in QUESTIONS.items():
            write(id=f"{asked} {method}", method=method, params=params)
    elif name == "wants":  # as servers from 2026-07-28 on ask
        asks = {method: {"method": method, "params": params} for method, params in QUESTIONS.items()}
        write(id=asked, result={"resultType": "input_required", "inputRequests": asks, "requestState": SECRET})
    elif name in ERRORS:
        write(id=asked, error=ERRORS[name])
    else:
        if name == "log":
            write(method="notifications/message", params={"level": "error", "data": f"log {SECRET}"})
            write(method="notifications/prompts/list_changed")
        if name == "tell":
            write(method="notifications/com.example/unknown", params={"a": 1})
            write(method="notifications/resources/updated", params={"uri": "test://one/part"})
        for method, params in NEWS.items() if name == "speak" else ():
            write(method=method, params=params)
        said = json.dumps(METHODS) if name == "heard" else f"its own {name}"
        write(id=asked, result=(RESULTS | MISSHAPEN | PLAIN).get(name, {"content": [{"type": "text", "text": said}]}))


def list_tools(params):
    """As many pages as somebody wants, where one of the tools is called so."""
    names, more = NAMES, {}
    if "endless" in NAMES:
        page = int(params.get("cursor", 0)) + 1
        names, more = [f"tool-{page}"], {"nextCursor": str(page)}
    for name, cursor in (("null_cursor", None), ("empty_cursor", "")):
        more = {"nextCursor": cursor} if name in NAMES else more
    odd = ODD_TOOLS if "odd_tools" in NAMES else []  # which a client of a library would not take
    plain = ({"name": name, "inputSchema": {"type": "object"}} for name in names)
    return {"tools": [*odd, *plain, ANYTHING], **more}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        method, asked, params = message.get("method"), message.get("id"), message.get("params") or {}
        METHODS.append(method)
        if method == "tools/call" and asked is not None:
            call(asked, params["name"])
        elif method == "initialize":
            version = params["protocolVersion"]
            write(id=asked, result={"protocolVersion": version, "capabilities": CAPABILITIES, "serverInfo": INFO})
        elif method == "tools/list":
            write(id=asked, result=list_tools(params))
        elif method in SAYS:
            write(id=asked, result=SAYS[method])
        elif method == "server/discover":
            write(id=asked, error={"code": -32601, "message": "Method not found"})
        elif asked is not None:
            write(id=asked, result={})


if __name__ == "__main__":
    main()
