"""Arguments that a tool does not have: the reply names those that it has, the nearest first."""

from __future__ import annotations

import pytest
from fastmcp import Client

import aerogram
from serving import serving


@pytest.mark.parametrize(
    ("arguments", "advice", "allowed"),
    [
        ({"query": "token", "page_sze": 3}, "did you mean 'page_size'?", "page_size"),
        ({"query": "token", "bogus": 3}, "there are ", "query"),
        ({"query": "token", "most_tokens": 3}, "did you mean 'max_tokens'?", "max_tokens"),
        ({"query": "token", "filters": {"categry": "apis"}}, "did you mean 'category'?", "category"),
    ],
    ids=["a slip", "nothing near", "a control", "a filter"],
)
async def test_an_unknown_argument_is_answered_with_those_there_are(tmp_path, arguments, advice, allowed):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "one.md").write_text("# One\n\nA token is valid for a day.\n", encoding="utf-8")
    with serving(tmp_path / "index", documents=tmp_path / "docs") as served:
        async with Client(served.mcp) as client:
            result = await client.call_tool("semantic_search", arguments, raise_on_error=False)
    problem = aerogram.read(result.structured_content).problem
    assert problem.code == "VALIDATION_ERROR"
    assert advice in problem.remediation
    assert allowed in problem.details["allowed"]
