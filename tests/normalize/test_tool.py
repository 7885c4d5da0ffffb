"""Tool results: what the caller of `normalize_tool_result` can rely on."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
import pydantic
import pytest
from fastmcp.tools.base import ToolResult as FastMCPResult
from mcp.types import CallToolResult, ImageContent, TextContent

from aerogram.errors import ContractError, NotFound
from aerogram.normalize import Block, Policy, ToolResult, normalize_resource_payload, normalize_tool_result, settle

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    "value",
    [
        {"content": "text", "isError": False},
        {"content": [{"type": "text", "text": "a"}], "extra": 1},
        {"content": [{"type": "text"}]},
        {"content": [{"type": "image", "data": "x"}]},
        {"content": []},
        {"content": [], "isError": "yes"},
        {"content": [], "_meta": {}, "meta": {}},
        {"content": [{"type": "text", "text": "a", "annotations": {"priority": 7}}]},
        {"isError": True},
        {"structuredContent": {"a": 1}},
    ],
    ids=str,
)
def test_dictionary_that_only_looks_like_a_result_is_data(value: dict[str, Any]):
    """It is taken as a result only when it is one and nothing would be lost."""
    assert normalize_tool_result(value).structuredContent == value


@pytest.mark.parametrize("block", [TextContent(type="text", text="a"), Block.text("a")], ids=["sdk", "ours"])
@pytest.mark.parametrize("kind", [dict, OrderedDict])
def test_dictionary_of_a_result_may_hold_blocks_as_objects(block: Any, kind: type[dict[str, Any]]):
    """A failure that is said this way is one; taken as data it would be a success."""
    result = normalize_tool_result(kind(content=[block, {"type": "text", "text": "b"}], isError=True))
    texts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert result.to_wire() == {"content": texts, "isError": True}


def test_dictionary_may_say_meta_with_or_without_underscore():
    for name in ("meta", "_meta"):
        result = normalize_tool_result({"content": [], name: {"k": 1}, "isError": True})
        assert result.to_wire() == {"content": [], "isError": True, "_meta": {"k": 1}}


def test_blocks_keep_annotations_and_meta():
    block = TextContent(type="text", text="a", annotations={"audience": ["user"], "priority": 0.5}, _meta={"k": [1]})
    sent = normalize_tool_result([[block], Block.link("a://b", "n", size=3)]).content
    assert sent[0] == {
        "type": "text",
        "text": "a",
        "annotations": {"audience": ["user"], "priority": 0.5},
        "_meta": {"k": [1]},
    }
    assert sent[1] == {"type": "resource_link", "uri": "a://b", "name": "n", "size": 3}


def test_pair_is_one_only_when_its_second_half_is_a_mapping_or_a_record():
    @dataclass
    class Facts:
        a: int

    assert normalize_tool_result(("text", Facts(1))).structuredContent == {"a": 1}
    assert normalize_tool_result((1, 2)).structuredContent == {"result": [1, 2]}
    assert normalize_tool_result(("a", None)).structuredContent == {"result": ["a", None]}
    assert normalize_tool_result((None, {"a": 1})).to_wire() == {"content": [], "structuredContent": {"a": 1}}


def test_bytes_with_a_mime_type_are_media():
    assert normalize_tool_result(PNG, mime_type="auto").content[0]["mimeType"] == "image/png"
    assert normalize_tool_result(b"x", mime_type="audio/wav").content[0]["type"] == "audio"
    blob = normalize_tool_result(b"x", mime_type="application/pdf").content[0]
    assert blob["resource"]["mimeType"] == "application/pdf" and blob["resource"]["blob"] == "eA=="
    assert normalize_tool_result(b"unknown", mime_type="auto").content[0]["type"] == "text"


def test_media_anywhere_in_data_follow_the_text():
    data = {
        "rows": [{"image": ImageContent(type="image", data="aGk=", mimeType="image/png")}, {"image": Block.image(PNG)}]
    }
    result = normalize_tool_result(data)
    assert [block["type"] for block in result.content] == ["text", "image", "image"]
    assert [row["image"]["attachment"] for row in result.structuredContent["rows"]] == [0, 1]


def test_explicit_result_refuses_what_is_no_content():
    with pytest.raises(ContractError):
        ToolResult([42])
    with pytest.raises(ContractError):
        Block({"type": "text"})


def test_explicit_result_says_exactly_what_it_is_given():
    result = ToolResult(["a", {"type": "text", "text": "b"}], [1], is_error=True, meta={"k": 1})
    assert normalize_tool_result(result) is result
    assert result.to_wire("2026-07-28") == {
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        "structuredContent": [1],
        "isError": True,
        "_meta": {"k": 1},
        "resultType": "complete",
    }


@pytest.mark.parametrize("version", ["2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28", "draft"])
@pytest.mark.parametrize(
    "value", [42, {"a": [1, None]}, [1, {"b": "\u2028"}], None, b"x", ValueError("x"), float("inf")], ids=str
)
def test_bytes_and_dictionary_of_a_result_are_equal(value: Any, version: str, caplog):
    caplog.set_level(logging.CRITICAL)
    result = normalize_tool_result(value)
    assert orjson.loads(result.to_bytes("id-1", version)) == {
        "jsonrpc": "2.0",
        "id": "id-1",
        "result": result.to_wire(version),
    }


BIG = 2**70


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    "result",
    [
        normalize_tool_result(NotFound("x", details={"n": BIG})),
        ToolResult(meta={"n": BIG}),
        ToolResult(["a\ud800"], BIG, meta={"n": [BIG, {"m": 10**4300}]}),
        normalize_resource_payload("a://b", None, [{"uri": "a://c", "text": "t", "_meta": {"n": BIG}}]),
        normalize_resource_payload("a://b", None, Block.link("a://c", "c", _meta={"n": BIG})),
        normalize_resource_payload("a://b", None, {"n": BIG}, ttl_ms=BIG),
    ],
)
def test_large_integers_can_be_sent_wherever_they_stand(result: Any, version: str):
    """In data, in `_meta`, in the details of a failure, and as the id of the request."""
    sent = json.loads(result.to_bytes(BIG, version))
    assert sent == {"jsonrpc": "2.0", "id": BIG, "result": result.to_wire(version)}
    assert str(BIG) in str(sent["result"])


def test_notices_of_a_result_stand_once_in_its_meta():
    """A result that is made from the words of another says what was changed in it, and nothing twice."""
    first = normalize_tool_result({"a": float("nan")}).to_wire()
    again = ToolResult.of_wire({**first, "content": [{"type": "text", "text": "\ud800"}]})
    body = again.to_bytes(1)
    assert body.count(b"dev.aerogram/notices") == 1
    assert json.loads(body)["result"] == again.to_wire()


@pytest.mark.parametrize("error", [NotFound("x" * 20_000_000), NotFound("x", details={"a": ["y" * 1_000] * 20_000})])
def test_failure_that_says_too_much_is_told_in_short(error: NotFound):
    result = normalize_tool_result(error)
    assert result.isError and len(result.to_bytes(1)) < 10_000
    assert result._meta["dev.aerogram/problem"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("request_id", [0, 'a"b', None, "\ud800"])
def test_any_request_id_is_answered(request_id: Any):
    assert orjson.loads(normalize_tool_result(1).to_bytes(request_id))["result"]["structuredContent"] == {"result": 1}


def test_result_of_the_sdk_that_could_not_be_sent_is_mended():
    """It is the one case in which the same object is not given back."""
    broken = CallToolResult(
        content=[TextContent(type="text", text="\ud800")], structured_content={"a": 1}, is_error=True
    )
    wire = normalize_tool_result(broken).to_wire()
    assert wire.pop("_meta")["dev.aerogram/notices"]
    assert wire == {
        "content": [{"type": "text", "text": "\ufffd"}],
        "structuredContent": {"a": 1},
        "isError": True,
    }


def test_result_of_fastmcp_that_could_not_be_sent_is_mended():
    broken = FastMCPResult(
        content=[TextContent(type="text", text="\ud800")], structured_content={"a": 1}, meta={"k": 1}
    )
    wire = normalize_tool_result(broken).to_wire()
    assert wire["content"] == [{"type": "text", "text": "\ufffd"}] and wire["structuredContent"] == {"a": 1}
    assert wire["_meta"]["k"] == 1


def test_foreign_result_can_be_wrapped_and_comes_back_as_itself():
    sdk = CallToolResult(content=[TextContent(type="text", text="a")], structured_content={"a": 1})
    wrapped = ToolResult.of(sdk)
    assert wrapped.to_mcp() is sdk
    assert wrapped.to_wire() == {"content": [{"type": "text", "text": "a"}], "structuredContent": {"a": 1}}


def test_failure_that_was_meant_for_the_caller_is_told(caplog):
    result = normalize_tool_result(NotFound("no task 7", remediation="List the tasks."))
    assert result.isError
    assert result.content[0]["text"] == "NOT_FOUND: no task 7\nList the tasks."
    assert result._meta["dev.aerogram/problem"]["retryable"] is False


class Login(pydantic.BaseModel):
    user: str
    password: int


@dataclass
class Failure(Exception):
    password: str


def _invalid() -> Exception:
    try:
        Login.model_validate({"user": ["hunter2"], "password": "hunter2"})
    except pydantic.ValidationError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("make", [_invalid, lambda: Failure("hunter2"), lambda: ValueError("hunter2")])
def test_returned_exception_is_a_failure_and_says_no_secret(make: Any, caplog):
    """Whatever else its class is, and wherever it stands."""
    caplog.set_level(logging.CRITICAL)
    result = normalize_tool_result(make())
    assert result.isError and result.structuredContent is None
    inside = normalize_tool_result({"row": [make()]})
    assert list(inside.structuredContent["row"][0]) == ["error"]
    for one in (result, inside):
        assert "hunter2" not in one.to_bytes(1).decode()


def test_dataclasses_in_a_list_have_the_form_that_they_have_alone():
    @dataclass
    class Worded:
        password: str

        def __json__(self) -> str:
            return "worded"

    alone, listed = normalize_tool_result(Worded("a")), normalize_tool_result([Worded("a"), Worded("b")])
    assert alone.data() == "worded" and listed.data() == ["worded", "worded"]


def test_group_of_failures_names_each_of_them(caplog):
    caplog.set_level(logging.CRITICAL)
    group = ExceptionGroup("g", [NotFound("first"), ExceptionGroup("h", [NotFound("second"), KeyError("secret")])])
    result = normalize_tool_result(group)
    failures = result._meta["dev.aerogram/problem"]["details"]["failures"]
    assert [one["code"] for one in failures] == ["NOT_FOUND", "NOT_FOUND", "INTERNAL_ERROR"]
    assert "secret" not in result.to_bytes(1).decode()


def test_generator_that_raises_gives_an_error_result(caplog):
    caplog.set_level(logging.CRITICAL)

    def rows():
        yield 1
        raise NotFound("the table is gone")

    assert "the table is gone" in normalize_tool_result(rows()).content[0]["text"]


def test_generator_in_data_that_raises_keeps_what_was_read():
    def rows(count: int):
        yield from range(count)
        raise NotFound("the table is gone")

    result = normalize_tool_result({"rows": rows(2)})
    assert result.structuredContent == {"rows": [0, 1]}
    assert [(one.code, one.context["pointer"]) for one in result.notices] == [("PARTIAL_FAILURE", "/rows")]
    assert normalize_tool_result({"rows": rows(0)}).content[0]["text"] == '{"rows": "[unreadable generator]"}'


def test_generator_is_closed_when_it_has_more_than_is_read():
    closed = []

    def endless():
        try:
            while True:
                yield 1
        finally:
            closed.append(True)

    few = Policy(max_items=3)
    assert normalize_tool_result(endless(), policy=few).structuredContent == {"result": [1, 1, 1]}
    assert normalize_tool_result({"a": endless()}, policy=few).structuredContent == {"a": [1, 1, 1]}
    assert closed == [True, True]


def test_coroutine_is_run_where_no_loop_runs_and_refused_where_one_does():
    async def later():
        return {"a": 1}

    async def inside():
        return normalize_tool_result(later())

    assert normalize_tool_result(later()).structuredContent == {"a": 1}
    assert "has to be awaited" in asyncio.run(inside()).content[0]["text"]


async def test_settle_stops_an_endless_stream():
    async def endless():
        while True:
            yield "x" * 1000

    drained = await settle(endless(), Policy(max_bytes=10_000))
    result = normalize_tool_result(drained)
    assert len(drained) == 10 and result.notices[0].code == "PARTIAL_RESULTS"


def test_list_of_very_many_items_is_one_block():
    """A block for each would be many times the size of the data."""
    three = Policy(max_items=3)
    assert len(normalize_tool_result([1, 2, 3], policy=three).content) == 3
    for value in ([1, 2, 3, 4], [1, [2, 3], 4], (1, 2, 3, 4)):
        assert [orjson.loads(block["text"]) for block in normalize_tool_result(value, policy=three).content] == [
            orjson.loads(orjson.dumps(value))
        ]


def test_integers_of_the_sdk_beyond_64_bits_pass_as_they_are():
    sdk = CallToolResult(content=[], structured_content={"a": 2**70})
    assert normalize_tool_result(sdk) is sdk


def test_annotation_that_cannot_be_hashed_is_read_all_the_same():
    assert normalize_tool_result(1, returns=Annotated[int, {"unit": "m"}]).structuredContent == {"result": 1}


def test_odd_field_of_any_kind_of_model_leaves_the_others():
    """What a model's own serialiser cannot write is written field by field, under the same names."""

    class Alias(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(extra="allow")
        inner: Any = pydantic.Field(serialization_alias="innerValue")

    @pydantic.dataclasses.dataclass
    class Parts:
        inner: Any
        count: int = 1

    class Root(pydantic.RootModel[Any]): ...

    kept = Policy(fallback="value")
    alias = normalize_tool_result(Alias(inner=print, more=2), policy=kept)
    assert alias.structuredContent == {"innerValue": "print", "more": 2}
    assert normalize_tool_result(Parts(print), policy=kept).structuredContent == {"inner": "print", "count": 1}
    assert normalize_tool_result(Root([print]), policy=kept).structuredContent == {"result": ["print"]}


@pytest.mark.parametrize(
    "value", [{"a": 1, "f": print}, ("x", {"a": 1, "f": print}), [1, object()]], ids=["dict", "pair", "list"]
)
def test_what_has_no_json_form_deep_inside_leaves_no_structured_content(value: Any):
    """The text names it, and so does a notice; in its place it stands among the data by a setting."""
    result = normalize_tool_result(value)
    assert result.structuredContent is None and result.notices[0].code == "FALLBACK_USED"
    assert normalize_tool_result(value, policy=Policy(fallback="value")).has_structured_content


def test_what_a_schema_has_promised_is_sent_all_the_same():
    """A client would refuse a result without it."""

    class Loose(pydantic.BaseModel):
        name: str
        value: Any = None

    result = normalize_tool_result(Loose(name="a", value=print), returns=Loose)
    assert result.structuredContent == {"name": "a", "value": "print"} and result.notices


def test_importing_the_normaliser_imports_no_optional_library():
    import subprocess
    import sys

    optional = [
        "numpy",
        "pandas",
        "polars",
        "pyarrow",
        "PIL",
        "matplotlib",
        "attrs",
        "msgspec",
        "sqlalchemy",
        "mcp",
        "fastmcp",
    ]
    code = f"import sys, aerogram.normalize; print([name for name in {optional} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
