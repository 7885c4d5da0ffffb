"""The core: a reply built, encoded and serialised, against the floor; the documented helpers; the import."""

import json
import subprocess
import sys
from dataclasses import asdict

import orjson

from aerogram import Reply, dialect
from aerogram.dialects.response_v2 import success_response
from timing import best

ROW = {
    "id": "task-00123",
    "title": "Implement the login page with single sign-on",
    "status": "pending",
    "score": 0.8731,
    "updated_at": "2026-11-15T06:00:00Z",
    "tags": ["auth", "ui"],
}


def rows(count):
    return [{**ROW, "id": f"task-{number:05}"} for number in range(count)]


def build_encode_serialise():
    print("build + encode + serialise, as a multiple of orjson.dumps of the finished body")
    print(f"  {'dialect':<15}{'1 row':>16}{'1,000 rows':>14}")
    for name in ("response-v2", "standard-v2", "knowledge-1.0"):
        cells = [_ratio(dialect(name), count) for count in (1, 1000)]
        print(f"  {name:<15}{cells[0][0]:>7.1f}x {cells[0][1]:>5.1f}us{cells[1][0]:>12.2f}x")


def _ratio(speaker, count):
    data = rows(count)
    stamped = speaker.complete(Reply.ok(data), operation="search", duration_ms=3.5, tokens_estimated=100)
    said = {name: value for name, value in stamped.present_fields().items() if name != "data"}
    body = speaker.encode(stamped)
    floor, ours = best(lambda: orjson.dumps(body), lambda: orjson.dumps(speaker.encode(Reply.ok(data, **said))))
    return ours / floor, ours * 1e6


def documented_helpers():
    data = {"rows": rows(600)}
    size = len(json.dumps(data))
    speaker = dialect("response-v2")
    theirs, ours = best(
        lambda: json.dumps(asdict(success_response(data=data))), lambda: orjson.dumps(speaker.encode(Reply.ok(data)))
    )
    print(f"asdict(success_response(...)) + json.dumps on {size / 1000:.0f} KB: {theirs / ours:.1f}x our time")


def importing():
    ours = _import_time("from aerogram import Reply, dialect")
    floor = _import_time("from pydantic import BaseModel")
    alone = _import_time("import aerogram")
    print(
        f"from aerogram import Reply, dialect: {ours / floor:.2f}x `from pydantic import BaseModel` "
        f"({ours:.0f} ms, {floor:.0f} ms); import aerogram alone: {alone:.0f} ms"
    )


def _import_time(statement):
    program = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, check=True) for _ in range(9)]
    return min(float(run.stdout) for run in runs) * 1000


def main():
    build_encode_serialise()
    documented_helpers()
    importing()


if __name__ == "__main__":
    main()
