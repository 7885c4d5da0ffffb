"""What a careless server says, through `aerogram wrap` and through an installed contract: passed on or told."""

import json
import subprocess

import pytest
from fastmcp import Client, FastMCP

import careless_server
from aerogram import Archive
from aerogram.fastmcp import install
from aerogram.tokens import best_counter
from careless_server import HOLOGRAM, HUGE_NUMBERS, LONG, MIXED, RESULTS, ROWS, TEXTS
from programs import quick_command

BUDGET = 1_000
COUNT = best_counter().count


class Line:
    """A client that reads what stands on the line, whatever that is."""

    def __init__(self, process):
        self._process = process
        self._asked = 0

    def ask(self, method, **params):
        self._asked += 1
        self._write(id=self._asked, method=method, params=params)
        for line in self._process.stdout:
            message = json.loads(line)
            if message.get("id") == self._asked:
                return message
        raise EOFError("it has ended")

    def start(self):
        about = {"clientInfo": {"name": "line", "version": "1"}, "capabilities": {}}
        self.ask("initialize", protocolVersion="2025-11-25", **about)
        self._write(method="notifications/initialized")
        return self

    def call(self, name, **arguments):
        return self.ask("tools/call", name=name, arguments=arguments)["result"]

    def _write(self, **message):
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._process.stdin.flush()


@pytest.fixture(scope="module")
def wrapped():
    behind = quick_command(careless_server.__file__)
    command = quick_command("-m", "aerogram", "wrap", "--quiet", "--budget", str(BUDGET), "--", *behind)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        yield Line(process).start()
        process.stdin.close()


@pytest.fixture
async def installed():
    server = FastMCP("careless")
    install(server, budget=BUDGET, archive=Archive.in_memory())

    @server.tool
    def say(name: str):
        return TEXTS[name]

    async with Client(server) as client:
        yield client


def words(result):
    return "\n".join(block["text"] for block in result["content"] if "text" in block)


@pytest.mark.parametrize("name", ["near_json", "names_twice", "endless_numbers", "much_mixed"])
def test_a_long_text_that_is_no_data_is_cut_as_the_text_that_it_is(wrapped, name):
    result = wrapped.call(name)
    shown, _, note = words(result).rpartition("\n\naerogram: ")
    assert not result.get("isError") and COUNT(words(result)) <= BUDGET
    assert len(shown) > BUDGET and TEXTS[name].startswith(shown)
    assert f"of {len(TEXTS[name])} characters shown" in note and "retrieve(hash=" in note


@pytest.mark.parametrize("name", ["near_json", "names_twice", "endless_numbers", "much_mixed", "mixed"])
async def test_an_installed_contract_says_the_same(wrapped, installed, name):
    said = await installed.call_tool("say", {"name": name})
    assert said.content[0].text == words(wrapped.call(name))


def test_numbers_are_shown_with_all_digits(wrapped):
    shown = words(wrapped.call("huge_numbers")).partition("\n")[0]
    assert HUGE_NUMBERS.startswith(shown.removesuffix("]")) and shown.count(LONG) > 10


def test_text_in_any_letters_stays_as_it_is(wrapped):
    assert wrapped.call("mixed")["content"] == [{"type": "text", "text": MIXED}]


def test_bytes_in_no_encoding_are_passed_on_or_told(wrapped):
    result = wrapped.call("bytes")
    assert words(result).endswith("@") or "dev.aerogram/problem" in result["_meta"]
    assert words(wrapped.call("well")) == "all is well"


@pytest.mark.parametrize("name", ["hologram", "contradiction"])
def test_what_fits_is_passed_on_however_odd(wrapped, name):
    result = wrapped.call(name)
    assert {one: result.get(one) for one in RESULTS[name]} == RESULTS[name] and not result.get("isError")


def test_a_long_answer_with_blocks_of_an_unknown_type_is_told_as_data_and_kept_whole(wrapped):
    result = wrapped.call("holograms")
    shown, _, note = words(result).partition("\naerogram: ")
    assert [one["type"] for one in json.loads(shown)["content"]] == ["hologram", "text", "hologram"]
    assert COUNT(words(result)) <= BUDGET
    kept = wrapped.call("retrieve", hash=note.partition("hash='")[2][:12], path="/content/2")
    assert json.loads(words(kept)) == HOLOGRAM


def test_structured_content_that_contradicts_its_text_is_fitted_and_the_text_stays(wrapped):
    result = wrapped.call("long_contradiction")
    shown = result["structuredContent"]["rows"]
    assert result["content"][0]["text"] == '{"rows": []}'
    assert 10 < len(shown) < len(ROWS) and shown == ROWS[: len(shown)]
    assert "retrieve(hash=" in result["structuredContent"]["aerogram"]["note"]
