"""The report of a gateway counts every call, whatever the server has answered."""

from __future__ import annotations

import asyncio
import io

import pytest

from aerogram.gateway.report import Report


async def test_a_number_that_no_json_has_is_counted_like_any_other():
    out = io.StringIO()
    report = Report(out)
    odd = {"content": [], "structuredContent": {"far": float("inf"), "long": 123456789012345678901234567890}}
    for name, result in (("odd", odd), ("plain", {"content": [{"type": "text", "text": "x"}]})):
        with report.call(name) as entry:
            entry.record_result(result)
    await asyncio.sleep(0)
    report.end()
    assert report.calls == 2
    assert [line.split()[0] for line in out.getvalue().splitlines()[:2]] == ["odd", "plain"]


@pytest.mark.parametrize("content", [5, "words", {"text": "x"}, [None, 5], True])
async def test_a_result_of_another_make_has_its_line_and_so_have_those_after_it(content):
    out = io.StringIO()
    report = Report(out)
    for name, result in (("odd", {"task": 5, "content": content}), ("plain", {"content": []})):
        with report.call(name) as entry:
            entry.got = result
            entry.record_result(result)
    report.end()
    assert [line.split()[0] for line in out.getvalue().splitlines()] == ["odd", "plain", "aerogram:"]
