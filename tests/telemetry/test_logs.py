"""Structured logs: one JSON object a line, and the request id on every line that belongs to a request."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from aerogram import Reply, problem_of
from aerogram.telemetry import JsonLines, Observer, RequestIds, current_request_id


class Lines(logging.Handler):
    """What a logger wrote, parsed."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.setFormatter(JsonLines())

    def emit(self, record):
        self.texts.append(self.format(record))

    @property
    def parsed(self):
        assert all("\n" not in text for text in self.texts)
        return [json.loads(text) for text in self.texts]


@pytest.fixture
def lines():
    handler, logger = Lines(), logging.getLogger("aerogram")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(before)


def test_a_reply_is_one_line(lines):
    with Observer().observe("search", request_id="req_1") as observation:
        observation.report_reply(Reply.ok([1]), dialect="response-v2", size=10)
    (line,) = lines.parsed
    assert (line["level"], line["logger"], line["message"]) == ("info", "aerogram.reply", "search: ok")
    assert line["request_id"] == "req_1" and line["time"].endswith("Z")
    assert line["reply"] | {"duration": 0} == {
        "operation": "search",
        "status": "ok",
        "dialect": "response-v2",
        "fidelity": "full",
        "size": 10,
        "duration": 0,
    }


@pytest.mark.parametrize(("code", "level"), [("NOT_FOUND", "info"), ("INTERNAL_ERROR", "warning")])
def test_only_the_servers_own_failures_are_warnings(lines, code, level):
    with Observer().observe("search") as observation:
        observation.report_reply(Reply.failed(code))
    (line,) = lines.parsed
    assert (line["level"], line["message"], line["reply"]["error.type"]) == (level, f"search: {code}", code)


def test_lines_of_a_handler_have_the_id_of_its_request(lines):
    async def handler(number):
        with Observer().observe("search", request_id=f"req_{number}"):
            await asyncio.sleep(0)
            logging.getLogger("aerogram.mine").warning("working on %d", number)

    async def several():
        await asyncio.gather(*(handler(number) for number in range(5)))

    asyncio.run(several())
    assert {(line["message"], line["request_id"]) for line in lines.parsed} == {
        (f"working on {number}", f"req_{number}") for number in range(5)
    }
    assert current_request_id() is None


def test_a_masked_exception_is_logged_with_its_trace_in_one_line(lines):
    problem_of(ZeroDivisionError("boom\nwith\nlines"), request_id="req_9")
    (line,) = lines.parsed
    assert line["request_id"] == "req_9" and "ZeroDivisionError: boom" in line["exception"]


def test_a_line_is_json_whatever_was_logged():
    record = logging.LogRecord("x", logging.INFO, "", 0, "odd \ud800 %s", ("\x00\u2028\n",), None)
    text = JsonLines().format(record)
    assert "\n" not in text and json.loads(text)["message"] == "odd ? \x00\u2028\n"


def test_other_formatters_can_show_the_id_too():
    record = logging.LogRecord("x", logging.INFO, "", 0, "hello", None, None)
    with Observer().observe("search", request_id="req_1"):
        assert RequestIds().filter(record)
    assert logging.Formatter("%(request_id)s %(message)s").format(record) == "req_1 hello"
