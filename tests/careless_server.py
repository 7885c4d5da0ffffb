"""A server that answers with whatever servers answer with when nobody looks; it writes its lines itself.

python careless_server.py
"""

from __future__ import annotations

import json
import sys

ROWS = [{"id": number, "note": "some words and more"} for number in range(2_000)]
NEAR_JSON = ("[" + ", ".join([json.dumps(ROWS)[1:-1]] * 60))[:5_000_000]
NAMES_TWICE = "[" + ", ".join(f'{{"a": {number}, "a": "again"}}' for number in range(2_000)) + "]"
LONG = "1234567890123456789012345678901234567890"
HUGE_NUMBERS = "[" + ", ".join(f'{{"n": {LONG}, "x": 0.{LONG}}}' for _ in range(500)) + "]"
ENDLESS_NUMBERS = "[" + ", ".join('{"x": 1e400, "y": -1e999}' for _ in range(1_000)) + "]"
MIXED = "\ufeffGr\u00fc\u00dfe \u00c3\u00bc\ufffd \u738b\r\n\x00\x1b[31m\u202e"
HOLOGRAM = {"type": "hologram", "depth": 3, "data": "AAAA"}
TEXTS = {
    "near_json": NEAR_JSON,
    "names_twice": NAMES_TWICE,
    "huge_numbers": HUGE_NUMBERS,
    "endless_numbers": ENDLESS_NUMBERS,
    "mixed": MIXED,
    "much_mixed": (MIXED + "\n\n") * 2_000,
    "well": "all is well",
}


def text(said):
    return {"type": "text", "text": said}


RESULTS = {name: {"content": [text(said)]} for name, said in TEXTS.items()} | {
    "hologram": {"content": [HOLOGRAM, text("in the air")]},
    "holograms": {"content": [HOLOGRAM, text("words " * 20_000), HOLOGRAM]},
    "contradiction": {"content": [text("There are 3 rows.")], "structuredContent": {"rows": ROWS[:2]}},
    "long_contradiction": {"content": [text('{"rows": []}')], "structuredContent": {"rows": ROWS}},
}
INFO = {"name": "careless", "version": "1"}


def answer(method, params):
    if method == "initialize":
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": INFO}
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in [*RESULTS, "bytes"]]}
    return RESULTS.get(params.get("name"), {})


def main():
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" not in message:
            continue
        said = {"jsonrpc": "2.0", "id": message["id"]}
        if message["method"] == "server/discover":
            said["error"] = {"code": -32601, "message": "Method not found"}
        else:
            said["result"] = answer(message["method"], message.get("params") or {})
        written = json.dumps(said).encode()
        if (message.get("params") or {}).get("name") == "bytes":  # in no encoding
            written = json.dumps({**said, "result": {"content": [text("@")]}}).encode().replace(b"@", b"\xff\xfe@")
        sys.stdout.buffer.write(written + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
