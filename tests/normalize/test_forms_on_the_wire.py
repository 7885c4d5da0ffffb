"""Every row of the table of forms, through a real server process, as a raw client sees it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from normalize.forms_table import ABSENT, ROWS, Row, texts_of
from programs import quick_command

TESTS = str(Path(__file__).parents[1])
VERSIONS = ("2025-06-18", "2025-11-25", "2026-07-28")


class RawClient:
    """Lines of JSON to a process and back; nothing of any SDK."""

    def __init__(self) -> None:
        command, environment = quick_command("-m", "normalize.wire_server"), {**os.environ, "PYTHONPATH": TESTS}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self.count = 0
        self.schemas: dict[str, dict[str, Any]] = {}

    def request(self, method: str, version: str, **params: Any) -> dict[str, Any]:
        self.count += 1
        params["_meta"] = {"io.modelcontextprotocol/protocolVersion": version}
        message = {"jsonrpc": "2.0", "id": self.count, "method": method, "params": params}
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline().decode("utf-8", "strict"), parse_constant=pytest.fail)
        assert answer["id"] == self.count
        return answer["result"]

    def schema(self, tool: str, version: str) -> Any:
        if version not in self.schemas:
            listed = self.request("tools/list", version)["tools"]
            self.schemas[version] = {one["name"]: one.get("outputSchema") for one in listed}
        return self.schemas[version][tool]


@pytest.fixture(scope="module")
def client() -> Iterator[RawClient]:
    client = RawClient()
    yield client
    client.process.stdin.close()
    client.process.wait(60)
    client.process.stdout.close()


def plain_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def assert_sent(row: Row, result: dict[str, Any], version: str, annotated: bool) -> None:
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    blocks = [block for block in result["content"] if block["type"] != "text"]
    expected = texts_of(row.data) if row.texts is None else row.texts
    assert list(map(plain_json, texts)) == list(map(plain_json, expected))
    assert len(blocks) == len(row.blocks)
    for block, wanted in zip(blocks, row.blocks, strict=True):
        assert wanted.items() <= block.items()
    notices = result.get("_meta", {}).get("dev.aerogram/notices", [])
    assert tuple(notice["context"]["pointer"] for notice in notices) == row.places
    structured = result.get("structuredContent", ABSENT)
    if row.data is ABSENT or version >= "2026" or (isinstance(row.data, dict) and not annotated):
        assert structured == row.data
    else:
        assert structured in ({"result": row.data}, row.data) and isinstance(structured, dict)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("place", range(len(ROWS)), ids=[row.name for row in ROWS])
def test_value_has_its_stated_form(client: RawClient, place: int, version: str):
    """The content, the structured content and the notices are as the table says, and keep the advertised schema."""
    for kind in ("plain", "annotated"):
        assert_answered(client, ROWS[place], f"{kind}-{place}", version)


def assert_answered(client: RawClient, row: Row, tool: str, version: str) -> None:
    result = client.request("tools/call", version, name=tool)
    assert result.get("isError", False) is row.is_error
    assert ("resultType" in result) is (version >= "2026")
    if row.is_error:
        assert result["_meta"]["dev.aerogram/problem"]["code"] == "INTERNAL_ERROR"
        return
    assert_sent(row, result, version, tool.startswith("annotated"))
    schema = client.schema(tool, version)
    if schema is not None:
        jsonschema_rs.validate(schema, result["structuredContent"])
        assert version >= "2026" or schema["type"] == "object"
    if row.data is ABSENT:
        assert schema is None


@pytest.mark.parametrize("place", range(len(ROWS)), ids=[row.name for row in ROWS])
def test_one_block_form_says_the_same_in_one_text(client: RawClient, place: int):
    """With `blocks="one"` data is one compact text block, equal to the structured content."""
    row = ROWS[place]
    result = client.request("tools/call", "2026-07-28", name=f"plain-{place}", arguments={"blocks": "one"})
    if row.data is ABSENT or row.texts is not None:
        return
    texts = [block["text"] for block in result["content"] if block["type"] == "text"]
    assert len(texts) == 1
    assert (texts[0] if isinstance(row.data, str) else json.loads(texts[0])) == row.data
