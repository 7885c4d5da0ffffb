"""A server behind a gateway that asks, logs and waits when a test wants it; it writes its lines itself.

ask        asks at once                     ask_later  asks when the next call comes
log        writes a log message             wait       is answered when somebody calls `end`

python asking.py legacy|modern
"""

from __future__ import annotations

import json
import sys

IS_MODERN = sys.argv[1:] == ["modern"]
NAMES = ("ask", "ask_later", "log", "wait", "end")
ABOUT = {"name": "asking", "version": "1"}
CAPABILITIES = {"tools": {}, "logging": {}}
LATER, WAITING, ASKED = [], [], {}


def write(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def answer(asked, words):
    complete = {"resultType": "complete"} if IS_MODERN else {}
    write(id=asked, result={**complete, "content": [{"type": "text", "text": words}]})


def ask(asked, who):
    ASKED[f"question-{asked}"] = (asked, who)
    params = {"message": f"Private to {who}", "requestedSchema": {"type": "object", "properties": {}}}
    write(id=f"question-{asked}", method="elicitation/create", params=params)


def call(asked, params):
    who = params["arguments"]["who"]
    while LATER:
        ask(*LATER.pop())
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        write(method="notifications/progress", params={"progressToken": token, "progress": 1})
    if params["name"] == "ask":
        ask(asked, who)
    elif params["name"] == "ask_later":
        LATER.append((asked, who))
    elif params["name"] == "wait":
        WAITING.append((asked, who))
    elif params["name"] == "log":
        write(method="notifications/message", params={"level": "info", "data": f"Private to {who}"})
        answer(asked, f"logged for {who}")
    else:
        while WAITING:
            answer(WAITING[0][0], f"the end for {WAITING.pop(0)[1]}")
        answer(asked, "ended")


def respond(method, params):
    if method == "initialize" and not IS_MODERN:
        return {"protocolVersion": "2025-11-25", "capabilities": CAPABILITIES, "serverInfo": ABOUT}
    kept = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if IS_MODERN else {}
    if method == "server/discover" and IS_MODERN:
        return {**kept, "supportedVersions": ["2026-07-28"], "capabilities": CAPABILITIES}
    if method == "tools/list":
        return {**kept, "tools": [{"name": name, "inputSchema": {"type": "object"}} for name in NAMES]}
    return {} if method in ("ping", "logging/setLevel") else None


def main():
    for line in sys.stdin:
        message = json.loads(line)
        method, asked = message.get("method"), message.get("id")
        if method == "tools/call":
            call(asked, message["params"])
        elif method is None and asked in ASKED:
            answered, who = ASKED.pop(asked)
            answer(answered, f"{who} was told {json.dumps(message.get('result') or message['error'])}")
        elif asked is not None and method is not None:
            result = respond(method, message.get("params"))
            if result is None:
                write(id=asked, error={"code": -32601, "message": "Method not found"})
            else:
                write(id=asked, result=result)


if __name__ == "__main__":
    main()
