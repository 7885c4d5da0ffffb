"""Logs of the server: JSON lines for programs, words for people."""

from __future__ import annotations

import json
import subprocess
import sys

PROGRAM = """
import logging, sys
from aerogram_knowledge.hosting.logs import configure_logs
from aerogram_knowledge.hosting.settings import Settings
configure_logs(Settings.load({flags}, environ={{}}))
logging.getLogger("aerogram.access").info("GET / 200", extra={{"request_id": "req_1", "request": {{"status": 200}}}})
logging.getLogger("aerogram").debug("a detail")
logging.getLogger("httpx").info("noise")
try:
    1 / 0
except ZeroDivisionError:
    logging.getLogger("aerogram").exception("it broke\\nin two")
"""


def logged(**flags) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(flags=flags)], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""
    return done.stderr.splitlines()


def test_in_a_pipe_every_record_is_one_json_object_with_its_facts():
    first, second = map(json.loads, logged())
    assert (first["level"], first["message"], first["request_id"]) == ("info", "GET / 200", "req_1")
    assert first["request"] == {"status": 200}
    assert (second["level"], second["message"]) == ("error", "it broke\nin two")
    assert "ZeroDivisionError" in second["exception"]


def test_for_a_person_it_is_words():
    first, second, *trace = logged(log_format="text")
    assert first.endswith(" GET / 200  [req_1]")
    assert second.endswith(" error: it broke\\nin two")
    assert trace[-1] == "ZeroDivisionError: division by zero"


def test_the_level_says_what_is_worth_a_line():
    assert "a detail" in [json.loads(line)["message"] for line in logged(log_level="debug")]
    assert [json.loads(line)["level"] for line in logged(log_level="error")] == ["error"]
