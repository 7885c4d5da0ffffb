"""Values that a serialiser in C would read without looking: none of them ends the process or prints its memory.

Each runs in a process of its own, so that a crash is a test that fails.
"""

from __future__ import annotations

import datetime as dt
import enum
import json
import subprocess
import sys
import uuid
import zoneinfo
from typing import Any

import pytest
from dateutil import tz

from aerogram.content import canonical_json
from aerogram.normalize import normalize_tool_result
from aerogram.normalize.plain import plain_json
from aerogram.normalize.policy import Policy
from aerogram.normalize.values import encode_fast

START = """
import dataclasses, datetime as dt, enum, json, logging, uuid, zoneinfo
from typing import Any
import numpy, pydantic
logging.disable(logging.CRITICAL)

class Zone(dt.tzinfo):
    pass

class Saying(dt.tzinfo):
    def __init__(self, said): self.said = said
    def utcoffset(self, moment): return self.said

class Raising(dt.tzinfo):
    def utcoffset(self, moment): raise SystemExit

class Late(dt.tzinfo):
    broken = False
    def utcoffset(self, moment): return "text" if self.broken else None

class Home(zoneinfo.ZoneInfo):
    def utcoffset(self, moment): return "text"

class Model(pydantic.BaseModel):
    at: Any

@dataclasses.dataclass(slots=True)
class Slotted:
    at: Any

@dataclasses.dataclass
class Record:
    at: Any

@dataclasses.dataclass
class Worded:
    at: Any
    def __json__(self): return [self.at, Raised.A]

class Spoken(Model):
    def __json__(self): return [self.at, Raised.A]

class Raised(enum.Enum):
    A = 1
    @property
    def value(self): raise ValueError

class Itself(enum.Enum):
    A = 1
    @property
    def value(self): return self

class Fresh(enum.Enum):
    A = "a"
    @property
    def value(self): return [self._value_ * 3000]

class Dug(enum.Enum):
    A = 1
    def __getattribute__(self, name):
        if name == "value": raise ValueError
        return super().__getattribute__(name)

class Bare(enum.Enum):
    A = 1
del Bare.A._value_

def day(zone): return dt.datetime(2020, 1, 1, tzinfo=zone)
def identity(number):
    made = uuid.uuid4()
    object.__setattr__(made, "int", number)
    return made
def key_of(zone):
    found = {day(zone): 1}
    zone.broken = True
    return found
def read_elsewhere(value):
    made = Record(1)
    made.more = made.most = 1
    Record.at = value
    del made.at
    return [Record(2), made]
"""

BROKEN = {
    "zone without methods": "day(Zone())",
    "zone of the base class": "day(dt.tzinfo())",
    "offset that is text": "day(Saying('text'))",
    "offset that is a number": "day(Saying(5))",
    "offset of years": "day(Saying(dt.timedelta(days=4000)))",
    "offset that exits": "day(Raising())",
    "subclass of ZoneInfo": "day(Home('UTC'))",
    "time with a zone": "dt.time(1, tzinfo=Zone())",
    "time with an offset of text": "dt.time(1, tzinfo=Saying('text'))",
    "key": "key_of(Late())",
    "in an array": "numpy.array([day(Zone())], dtype=object)",
    "in a model": "Model(at=day(Saying('text')))",
    "in a model of models": "Model(at=[Model(at=day(Zone()))])",
    "in slots": "Slotted(day(Zone()))",
    "in records": "[Record(day(Zone())), Record(day(Zone()))]",
    "enum that raises": "Raised.A",
    "enum that is its own value": "Itself.A",
    "enum that makes its value": "Fresh.A",
    "enum that hides its value": "Dug.A",
    "enum without a value": "Bare.A",
    "enum in slots": "[Slotted(1), Slotted(Raised.A)]",
    "enum in a class": "read_elsewhere(Raised.A)",
    "enum in own words": "[Worded(1), Worded(2)]",
    "enum in a model's own words": "[Spoken(at=1), Spoken(at=2)]",
    "enum in a model": "Model(at=Raised.A)",
    "UUID without a number": "uuid.UUID.__new__(uuid.UUID)",
    "UUID of text": "identity('text')",
    "UUID below zero": "identity(-1)",
    "UUID of 200 bits": "identity(1 << 200)",
    "UUID in a model": "Model(at=identity('text'))",
}

PLACES = {
    "top": "{}",
    "member": "{{'a': {}}}",
    "deep": "{{'a': [1, {{'b': ({}, 'x')}}], 'c': 1.5}}",
    "rows": "[{{'a': {}, 'n': n}} for n in range(50)]",
}


def answers(program: str) -> list[Any]:
    """What a program prints in a process of its own, each line as JSON."""
    done = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or f"the process ended by signal {-done.returncode}"
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("place", PLACES)
def test_broken_values_are_answered_as_tool_results(place: str):
    tries = "".join(
        f"print(normalize_tool_result({PLACES[place].format(value)}).to_bytes(1).decode())\n"
        for value in BROKEN.values()
    )
    found = answers(f"from aerogram.normalize import normalize_tool_result\n{tries}")
    assert len(found) == len(BROKEN)


def test_broken_value_has_a_notice_and_the_rest_of_the_data_is_there():
    program = """
from aerogram.normalize import normalize_tool_result
print(json.dumps(normalize_tool_result({'a': day(Zone()), 'b': 2}).to_wire()))
"""
    (wire,) = answers(program)
    assert json.loads(wire["content"][0]["text"]) == {"a": "[unreadable datetime.datetime]", "b": 2}
    (notice,) = wire["_meta"]["dev.aerogram/notices"]
    assert notice["code"] == "PARTIAL_FAILURE"
    assert notice["message"].startswith("/a (datetime.datetime): it cannot be read")


def test_broken_values_are_answered_as_resources_and_replies():
    tries = "".join(
        f"print(json.dumps(normalize_resource_payload('x://y', None, {{'a': {value}}}).to_wire()))\n"
        f"print(json.dumps(say(Reply([{value}]))))\n"
        f"print(json.dumps(say(NotFound('none', details={{'at': [{value}]}}))))\n"
        for value in BROKEN.values()
    )
    start = """
import asyncio
from aerogram import Call, Contract, Reply, ReplyError, normalize_resource_payload
from aerogram.answer import answer
class NotFound(ReplyError):
    error_code = 'NOT_FOUND'
contract = Contract()
def say(outcome):
    reply = asyncio.run(answer(Call(contract, operation='find'), outcome))
    return contract.speaker.encode(reply)
"""
    assert len(answers(start + tries)) == 3 * len(BROKEN)


def test_broken_values_are_not_archived_nor_kept_in_a_cache_nor_read_as_bodies():
    natives = [value for name, value in BROKEN.items() if name.startswith(("enum that", "enum without", "UUID"))]
    start = """
from aerogram.contract.cache import Cache
from aerogram import ContractError, read
from aerogram.content import Content
def refused(call, *values):
    try:
        call(*values)
    except ContractError:
        return True
"""
    tries = "".join(
        f"print(json.dumps(refused(Content.of_json, [{{'a': {value}}}])))\n"
        f"print(json.dumps(Cache.key('find', {{'a': {value}}}) is None))\n"
        f"print(json.dumps(refused(read, {{'success': True, 'data': {value}}})))\n"
        for value in natives
    )
    assert answers(start + tries) == [True] * 3 * len(natives)


class Colour(enum.Enum):
    RED = "red"
    MIXED = ("red", 0.5)


class Size(enum.IntEnum):
    SMALL = 1


def test_sound_values_keep_their_forms():
    number = uuid.UUID(int=7)
    value = {"a": [Colour.RED, Size.SMALL, number], "b": {"c": (Colour.MIXED, {"d": number})}}
    expected = {"a": ["red", 1, str(number)], "b": {"c": [["red", 0.5], {"d": str(number)}]}}
    assert normalize_tool_result(value).structuredContent == expected
    assert (
        canonical_json({"a": [Colour.RED, number]})
        == json.dumps({"a": ["red", str(number)]}, separators=(",", ":")).encode()
    )


def test_sound_values_go_the_fast_way():
    moments = [dt.datetime(2020, 1, 1, tzinfo=zone) for zone in (None, dt.UTC, zoneinfo.ZoneInfo("Europe/Paris"))]
    value = {"rows": [{"at": moment, "kind": Colour.RED, "id": uuid.UUID(int=7)} for moment in moments]}
    assert plain_json(value, 1000) is None
    assert encode_fast(value, Policy()) is not None


@pytest.mark.parametrize(
    ("zone", "offset"),
    [
        (None, ""),
        (dt.UTC, "Z"),
        (dt.timezone(dt.timedelta(hours=-3.5)), "-03:30"),
        (zoneinfo.ZoneInfo("Europe/Paris"), "+01:00"),
        (tz.gettz("Europe/Paris"), "+01:00"),
        (tz.tzutc(), "Z"),
    ],
)
def test_zones_of_other_packages_are_written_as_those_of_python(zone: dt.tzinfo | None, offset: str):
    moment = dt.datetime(2020, 1, 2, 3, 4, 5, 60, tzinfo=zone)
    result = normalize_tool_result({"at": [moment], "at once": moment, moment: 1})
    written = f"2020-01-02T03:04:05.000060{offset}"
    assert result.structuredContent == {"at": [written], "at once": written, written: 1}


CHANGED = """
import gc, json
from aerogram.normalize import normalize_tool_result

class Row:
    \"\"\"What stands beside it is changed while it is written, as another thread may do that.\"\"\"
    def to_dict(self):
        rows.clear()
        table.clear()
        table.update({f"other {number}": ["y" * 30] for number in range(500)})
        gc.collect()
        return {"n": 1}

rows, table = [], {}
for _ in range(20):
    rows[:] = [Row() if number == 3 else ["x" * 30, number] for number in range(50)]
    table.clear()
    table.update({f"name {number}": one for number, one in enumerate(rows)})
    values = {"rows": rows}, {"table": dict(table), "rows": [table]}
    wires = [normalize_tool_result(value).to_wire() for value in values]
    print(json.dumps([wire["structuredContent"] for wire in wires]), flush=True)
"""


def test_data_that_is_changed_while_it_is_written_ends_no_process():
    """A handler may return what it holds itself, and another call may change that: it is told as it was."""
    done = subprocess.run([sys.executable, "-c", CHANGED], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    for rows, _ in map(json.loads, done.stdout.splitlines()):
        assert len(rows["rows"]) == 50 and rows["rows"][3:5] == [{"n": 1}, ["x" * 30, 4]]


CHANGED_BY_ANOTHER = """
import enum, sys, threading, time
from aerogram.normalize import normalize_tool_result

class Colour(enum.Enum):
    RED = "red"

held = {"rows": [{"id": number, "colour": Colour.RED} for number in range(300)]}
ends = time.monotonic() + 4
sys.setswitchinterval(1e-4)

def change():
    while time.monotonic() < ends:
        held["rows"].extend({"id": number, "colour": Colour.RED} for number in range(2_000))
        del held["rows"][300:]

threading.Thread(target=change, daemon=True).start()
while time.monotonic() < ends:
    found = normalize_tool_result(held).structuredContent["rows"]
    assert len(found) >= 300 and all(row["colour"] == "red" for row in found)
"""


def test_members_of_an_enum_are_written_while_another_thread_changes_what_they_stand_in():
    done = subprocess.run([sys.executable, "-c", CHANGED_BY_ANOTHER], capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
