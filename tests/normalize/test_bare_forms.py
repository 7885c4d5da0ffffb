"""Every row of the table of forms on real servers of both frameworks: without Aerogram, bare, and bare normalised."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import mcp
import pytest

from aerogram.normalize import Output, normalize_tool_result
from normalize.forms_server import SETTINGS
from normalize.forms_table import ROWS, Row
from programs import Nursery, quick_command

TESTS = Path(__file__).parents[1]
Results = dict[str, Any]

SHOWN_BY_STR = """
timezone; ZoneInfo; Path; memoryview; memoryview with gaps; range; array; dict views; MappingProxyType; UserDict;
Mapping; SimpleNamespace; pydantic, odd field; attrs; msgspec.Struct; SQLite row; SQLAlchemy row;
SQLAlchemy row, names twice; SQLAlchemy object; numpy scalar;
numpy longdouble; numpy timedelta64; numpy array; numpy dates; pandas DataFrame; pandas DataFrame, index;
pandas DataFrame, index named as a column; pandas DataFrame, names twice; pandas Series; pandas Series, index;
polars DataFrame; polars Series; Arrow table; PIL image; matplotlib figure; class; function; module;
function in data; object with to_dict; object with __json__; object with __str__; object with nothing; Block;
list of blocks; blocks and data; block in data; pair with a model; ToolResult
"""
"""What the frameworks know by its `str` only."""
_OURS = {name.strip() for name in SHOWN_BY_STR.replace("\n", " ").split(";")} | {
    "iterator in data",  # it can be read once, and the frameworks come second
    "dict, keys collide",  # the frameworks send one of two values whose keys are spelled alike
    "exception",  # a failure, as if it were raised
    "exception group",
    "dict that is a result",  # the one form of the document that both frameworks would show as JSON
}

EMPTY = "empty list"
"""A value for which the frameworks send nothing at all where it has no schema."""
UNSENDABLE = "surrogate pair"
"""A value with which the frameworks alone leave their client waiting."""
ENDLESS = "endless generator"
"""A value that FastMCP alone would read to its end."""
OURS = {"fastmcp": _OURS, "sdk": _OURS | {"async generator"}}
"""What is not left as the framework has it: those, and some that are more than data."""


# sets come in one order everywhere: what is forked shares it, and every other interpreter is told
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(TESTS), "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def source() -> Iterator[Nursery]:
    """Where the servers come from: loading the libraries whose values are sent takes longer than to send them."""
    nursery = Nursery("normalize.forms_server", env=ENVIRONMENT)
    yield nursery
    nursery.close()


async def results_of(framework: str, kind: str, source: Nursery) -> Results:
    """The result of each tool, but for `_meta`; or what the client had to say about it."""
    program, *words = quick_command(str(TESTS / "normalize" / "forms_server.py"), framework, kind, source=source)
    parameters = mcp.StdioServerParameters(command=program, args=words, env=ENVIRONMENT)
    found: Results = {}
    with Path(os.devnull).open("w") as nowhere:  # noqa: ASYNC230 - it does not block
        async with mcp.Client(mcp.stdio_client(parameters, errlog=nowhere)) as client:
            for tool in (await client.list_tools()).tools:
                found[f"schema of {tool.name}"] = tool.output_schema
                row = ROWS[int(tool.name.partition("-")[2])]
                if row.name != ENDLESS and (kind != "off" or row.name != UNSENDABLE):
                    found[tool.name] = await _result(client, tool.name)
    return found


async def _result(client: Any, name: str) -> Any:
    try:
        result = await client.call_tool(name, {})
    except RuntimeError as refusal:
        return f"refused: {refusal}"
    return result.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "result_type"})


@pytest.fixture(scope="module", params=["fastmcp", "sdk"])
def servers(request: pytest.FixtureRequest, source: Nursery) -> dict[str, Any]:
    async def all_results() -> dict[str, Results]:
        kinds = ("off", *SETTINGS)
        return dict(
            zip(kinds, await asyncio.gather(*(results_of(request.param, kind, source) for kind in kinds)), strict=True)
        )

    return {"framework": request.param, **asyncio.run(all_results())}


def spaced(result: Any) -> Any:
    """A result whose JSON texts are spelled in one way: an adapter may write them compactly."""
    for block in result["content"] if isinstance(result, dict) else ():
        with contextlib.suppress(ValueError):
            block["text"] = json.dumps(json.loads(block.get("text", "")))
    return result


def documented(row: Row, **promise: Any) -> Any:
    """The result that the document gives for a row."""
    wire = normalize_tool_result([1, 2] if row.name == "async generator" else row.make(), **promise).to_wire()
    return spaced({"isError": False, **{name: part for name, part in wire.items() if name != "_meta"}})


@pytest.mark.parametrize("kind", ["plain", "annotated"])
def test_bare_payloads_are_those_of_the_framework(servers: dict[str, Any], kind: str):
    """What the framework knows is left alone; what it would only show by its `str`, or not at all, is documented."""
    ours = OURS[servers["framework"]] | {UNSENDABLE}
    for place, row in enumerate(ROWS):
        name = f"{kind}-{place}"
        off, bare = servers["off"].get(name), servers["bare"].get(name)
        if row.name == EMPTY:
            assert (off["content"], bare) == ([], {**off, "content": [{"type": "text", "text": "[]"}]})
        elif row.name not in ours and not (isinstance(off, dict) and off["isError"]):
            assert bare == off, row.name
            assert servers["bare"].get(f"schema of {name}") == servers["off"].get(f"schema of {name}"), row.name
        elif row.is_error:
            assert bare["isError"], row.name
        elif bare is not None and servers["bare"][f"schema of {name}"] is None:
            assert spaced(bare) == documented(row), row.name


def test_what_is_left_to_us_is_not_left_by_mistake(servers: dict[str, Any]):
    """Each row of the list above differs from what the framework alone would send."""
    for place, row in enumerate(ROWS):
        if row.name in OURS[servers["framework"]]:
            assert servers["bare"][f"plain-{place}"] != servers["off"][f"plain-{place}"], row.name


@pytest.mark.parametrize("kind", ["plain", "annotated"])
def test_normalised_payloads_are_those_of_the_document(servers: dict[str, Any], kind: str):
    """Whatever the framework thinks of them, on both and with the schema that is listed."""
    for place, row in enumerate(ROWS):
        name = f"{kind}-{place}"
        sent = servers["normalize"].get(name)
        if sent is None:  # it has no end, or the framework has refused its annotation
            continue
        if row.is_error:
            assert sent["isError"], row.name
            continue
        output = Output.of(row.annotation if kind == "annotated" else None)
        assert spaced(sent) == documented(row, returns=output), row.name
        listed = servers["normalize"][f"schema of {name}"]
        assert (listed is None) is (output.schema is None), row.name
        if listed is not None:
            jsonschema_rs.validate(listed, sent["structuredContent"])
