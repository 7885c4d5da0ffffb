"""Cursors: signed, bound, and readable as the documented base64 JSON."""

from __future__ import annotations

import base64
import json
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerogram.cursor import CursorKeys, Cursors, Position, dearest, farthest, query_hash
from aerogram.errors import ContractError, InvalidCursor
from aerogram.state import file_lock
from aerogram.tokens import Estimate, Vocabulary

QUERY = query_hash("search", {"query": "JWT"})
HERE = Position(QUERY, 10, "metadata")


def servers(count: int) -> list[Cursors]:
    """So many that sign with other keys, and always with the same."""
    rings = (CursorKeys.from_secrets(f"a secret that a server has, number {number}") for number in range(count))
    return [Cursors(ring, clock=lambda: 1_795_000_000.0) for ring in rings]


def opened(cursors: Cursors, cursor: Any, **known: Any) -> Position:
    return cursors.open(cursor, **{"query_hash": QUERY, "response_mode": "metadata", "principal": "ada", **known})


def reason_of(cursors: Cursors, cursor: Any, **known: Any) -> str:
    with pytest.raises(InvalidCursor) as caught:
        opened(cursors, cursor, **known)
    assert caught.value.remediation
    assert caught.value.error_code == "INVALID_CURSOR"
    return str((caught.value.details or {})["reason"])


def test_a_cursor_decodes_as_base64_json_with_the_documented_keys() -> None:
    cursors = Cursors()
    body, again, other = (
        json.loads(base64.b64decode(cursors.seal(one, documented=True), validate=True))
        for one in (HERE, replace(HERE, offset=20), replace(HERE, query_hash=query_hash("search", {"query": "OAuth"})))
    )
    assert set(body) == {"query_hash", "offset", "response_mode"}
    assert (body["offset"], again["offset"], body["response_mode"]) == (10, 20, "metadata")
    assert body["query_hash"] != other["query_hash"]


FORMS = pytest.mark.parametrize("documented", [False, True])


@pytest.mark.parametrize(
    ("documented", "after", "most"), [(False, None, 24), (True, None, 74), (True, (0.591234, 202_020), 84)]
)
def test_a_cursor_takes_few_tokens(documented: bool, after: Any, most: int) -> None:
    """What it takes is up to chance; a place by number on a page of the usual size, anywhere in a long walk."""
    cursors, counter = Cursors(), Vocabulary()
    places = [replace(HERE, offset=offset, after=after and [*after]) for offset in range(0, 20_000, 97)]
    sizes = [counter.count(cursors.seal(place, documented=documented)) for place in places]
    assert max(sizes) <= most
    assert sum(sizes) / len(sizes) <= most * 0.95


def test_both_forms_are_opened_everywhere() -> None:
    cursors = Cursors()
    short, long = (opened(cursors, cursors.seal(HERE, principal="ada", documented=form)) for form in (False, True))
    assert short == long


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.integers(0, 2**53), json_values, st.text(min_size=1, max_size=20), st.booleans())
def test_what_is_sealed_opens_as_it_was_and_needs_no_url_escaping(
    offset: int, after: Any, principal: str, documented: bool
) -> None:
    cursors = Cursors()
    try:
        cursor = cursors.seal(Position(QUERY, offset, "full", after), principal=principal, documented=documented)
    except ValueError:
        assert len(json.dumps(after)) > 2_000
        return
    assert quote(cursor, safe="") == cursor
    assert not documented or (cursor.isalnum() and base64.b64decode(cursor) == base64.urlsafe_b64decode(cursor))
    position = cursors.open(cursor, query_hash=QUERY, response_mode="full", principal=principal)
    assert (position.offset, position.after) == (offset, after)


@pytest.mark.parametrize(
    "cursor", ["", "page2", "!!!", "e30", "bnVsbA", "WzFd", "=" * 9, "A" * 5_000, "é", None, 7, b"eyJ9"]
)
def test_garbled_cursors_are_refused(cursor: Any) -> None:
    assert reason_of(Cursors(), cursor) == "garbled"


@given(st.data())
def test_no_changed_byte_goes_unnoticed(data: st.DataObject) -> None:
    cursors = Cursors(CursorKeys.from_secrets("a secret that two servers know"))
    cursor = cursors.seal(HERE, principal="ada", documented=data.draw(st.booleans()))
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from("ABCDwxyz0189-_"))
    changed = cursor[:at] + other + cursor[at + 1 :]
    try:
        assert opened(cursors, changed) == opened(cursors, cursor)  # the padding may change, the meaning may not
    except InvalidCursor:
        assert changed != cursor


def test_a_position_cannot_be_forged_by_rewriting_the_json() -> None:
    cursors = Cursors()
    body = json.loads(base64.b64decode(cursors.seal(HERE, principal="ada", documented=True)))
    forged = base64.b64encode(json.dumps({**body, "offset": 0}).encode()).decode()
    assert reason_of(cursors, forged) == "signature"


@FORMS
def test_a_cursor_is_bound_to_its_principal_query_mode_and_server(documented: bool) -> None:
    cursors = Cursors()
    cursor = cursors.seal(HERE, principal="ada", documented=documented)
    assert opened(cursors, cursor).offset == 10
    assert reason_of(cursors, cursor, principal="bob") == "signature"
    assert reason_of(cursors, cursor, principal=None) == "signature"
    assert reason_of(cursors, cursor, query_hash=query_hash("search", {"query": "OAuth"})) == "query"
    assert reason_of(cursors, cursor, query_hash=query_hash("list", {"query": "JWT"})) == "query"
    assert reason_of(cursors, cursor, response_mode="full") == "mode"
    assert reason_of(Cursors(), cursor) == "signature"


@FORMS
def test_a_query_whose_hash_begins_alike_is_another_query(documented: bool) -> None:
    """A cursor shows two digits of the hash, and its signature covers all of them."""
    cursors = Cursors()
    cursor = cursors.seal(HERE, principal="ada", documented=documented)
    assert opened(cursors, cursor) == replace(HERE, expires_at=opened(cursors, cursor).expires_at)
    other = QUERY[:2] + QUERY[:1:-1]
    assert other != QUERY
    assert reason_of(cursors, cursor, query_hash=other) == "signature"


def test_keys_whose_names_begin_alike_both_open_what_they_signed() -> None:
    secrets = [f"a secret that servers share, number {number}" for number in range(600)]
    by_name: dict[str, list[str]] = {}
    for secret in secrets:
        by_name.setdefault(CursorKeys.from_secrets(secret).signing_key().kid[:2], []).append(secret)
    first, second, *_ = next(alike for alike in by_name.values() if len(alike) > 1)
    both = Cursors(CursorKeys.from_secrets(first, second))
    for secret in (first, second):
        assert opened(both, Cursors(CursorKeys.from_secrets(secret)).seal(HERE, principal="ada")).offset == 10


def test_a_fresh_key_has_a_name_of_its_own_in_cursors() -> None:
    """So a server that does not know it yet notices, and looks for it."""
    keys = CursorKeys.ephemeral()
    names = {keys.signing_key().kid[:2]}
    for _ in range(40):
        keys.rotate()
        names.add(keys.signing_key().kid[:2])
    assert len(names) == 41


@pytest.mark.parametrize("kind", ["ephemeral", "file"])
def test_keys_may_be_rotated_more_often_than_there_are_names_for_them(tmp_path: Path, kind: str) -> None:
    """Those of the oldest go to new ones."""
    keys = CursorKeys.ephemeral() if kind == "ephemeral" else CursorKeys.at(tmp_path / "keys.json")
    first = Cursors(keys).seal(HERE, principal="ada")
    for _ in range(200):
        keys.rotate()
    second = Cursors(keys).seal(HERE, principal="ada")
    for _ in range(100):
        keys.rotate()
    assert reason_of(Cursors(keys), first) == "signature"
    assert opened(Cursors(keys), second).offset == 10


def test_a_file_of_keys_that_another_process_holds_keeps_nobody_from_signing(tmp_path: Path) -> None:
    """It may have been stopped; the event loop, on which cursors are made, does not wait for it."""
    path = tmp_path / "keys.json"
    keys = CursorKeys.at(path, rotate_every=-1)
    before = keys.signing_key()
    with file_lock(tmp_path / "keys.json.lock"):
        begun = time.monotonic()
        assert keys.signing_key() == before
        assert CursorKeys.at(path, rotate_every=-1).signing_key() == before
        assert time.monotonic() - begun < 1
        with pytest.raises(TimeoutError):
            keys.rotate()
    assert keys.signing_key() != before


@FORMS
def test_a_cursor_expires(documented: bool) -> None:
    now = [1_000.0]
    cursors = Cursors(lifetime=60, clock=lambda: now[0])
    cursor = cursors.seal(HERE, principal="ada", documented=documented)
    now[0] = 1_059.0
    assert opened(cursors, cursor).expires_at == 1_060
    now[0] = 1_060.0
    assert reason_of(cursors, cursor) == "expired"


@pytest.mark.parametrize("documented", [False, True])
@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"offset": -1}, "/offset"),
        ({"offset": 2**63}, "/offset"),
        ({"offset": 1.5}, "/offset"),
        ({"offset": True}, "/offset"),
        ({"size": -1}, "/size"),
        ({"size": 10**30}, "/size"),
        ({"response_mode": "nope"}, "/response_mode"),
    ],
)
def test_a_position_that_could_not_be_opened_again_is_refused_when_sealing(changes, place, documented) -> None:
    with pytest.raises(ContractError) as refused:
        Cursors().seal(replace(HERE, **changes), documented=documented)
    assert refused.value.pointer == place


@pytest.mark.parametrize("documented", [False, True])
def test_the_farthest_position_opens(documented) -> None:
    cursors, far = Cursors(), replace(HERE, offset=2**63 - 1, size=2**63 - 1)
    assert cursors.open(cursors.seal(far, documented=documented), query_hash=QUERY).offset == far.offset


def test_a_position_too_long_for_a_cursor_is_refused_when_sealing() -> None:
    with pytest.raises(ValueError, match="too long"):
        Cursors().seal(Position(QUERY, 0, "full", "x" * 5_000))


def test_keys_in_a_file_are_private_and_survive_a_restart(tmp_path: Path) -> None:
    """A second process opens what the first one sealed."""
    path = tmp_path / "state" / "keys.json"
    cursor = Cursors(CursorKeys.at(path)).seal(HERE, principal="ada")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    program = """
import sys
import time
from aerogram.cursor import Cursors, CursorKeys
path, cursor, query = sys.argv[1:]
print(Cursors(CursorKeys.at(path)).open(cursor, query_hash=query, principal="ada").offset)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, path, cursor, QUERY], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "10"


def test_processes_that_start_together_share_one_key(tmp_path: Path) -> None:
    program = "import sys; from aerogram.cursor import CursorKeys; print(CursorKeys.at(sys.argv[1]).signing_key().kid)"
    path = str(tmp_path / "keys.json")
    started = [
        subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    assert len({process.communicate()[0] for process in started}) == 1


def test_cursors_of_a_rotated_key_stay_good_and_other_processes_learn_the_new_key(tmp_path: Path) -> None:
    ours, theirs = CursorKeys.at(tmp_path / "keys.json"), CursorKeys.at(tmp_path / "keys.json")
    before = Cursors(ours).seal(HERE, principal="ada")
    ours.rotate()
    after = Cursors(ours).seal(HERE, principal="ada")
    for keys in (ours, theirs, CursorKeys.at(tmp_path / "keys.json")):
        assert opened(Cursors(keys), before) == opened(Cursors(keys), after)


def test_keys_rotate_by_themselves_and_very_old_ones_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    keys = CursorKeys.at(path, rotate_every=-1, keep=-1)
    first = Cursors(keys).seal(HERE, principal="ada")
    second = Cursors(keys).seal(HERE, principal="ada")
    assert first != second
    assert len(json.loads(path.read_text())["keys"]) == 1
    assert reason_of(Cursors(keys), first) == "signature"


DAMAGED = ['{"other": 1}', "", '{"keys": [', "[]", "\x00", '{"keys": [{"kid": "a", "secret": "zz", "created": 0}]}']


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_file_that_holds_no_keys_is_named_and_not_overwritten(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / "keys.json"
    path.write_text(damaged)
    with pytest.raises(ValueError, match=r"keys\.json is not a file of cursor keys"):
        CursorKeys.at(path)
    assert path.read_text() == damaged


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_file_that_is_damaged_meanwhile_stops_nobody(tmp_path: Path, damaged: str) -> None:
    path = tmp_path / "keys.json"
    for keys in (CursorKeys.at(path), CursorKeys.at(path, rotate_every=-1)):
        intact = path.read_text()
        stranger = Cursors().seal(HERE, principal="ada")
        path.write_text(damaged)
        assert reason_of(Cursors(keys), stranger) == "signature"
        assert opened(Cursors(keys), Cursors(keys).seal(HERE, principal="ada")).offset == 10
        assert path.read_text() == damaged
        path.write_text(intact)


def test_without_a_path_the_keys_are_in_the_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AEROGRAM_STATE", str(tmp_path / "chosen"))
    CursorKeys.at()
    assert (tmp_path / "chosen" / "cursor-keys.json").exists()


def test_servers_that_share_a_secret_open_each_others_cursors() -> None:
    old, new = "the secret of last month", "the secret of this month"
    cursor = Cursors(CursorKeys.from_secrets(old)).seal(HERE, principal="ada")
    assert opened(Cursors(CursorKeys.from_secrets(new, old)), cursor).offset == 10
    assert reason_of(Cursors(CursorKeys.from_secrets(new)), cursor) == "signature"
    with pytest.raises(ValueError, match="16 bytes"):
        CursorKeys.from_secrets("short")


def test_a_cursor_carries_the_size_of_the_pages_only_when_it_is_told_one() -> None:
    cursors = Cursors()
    sized = cursors.seal(Position(QUERY, 10, "metadata", size=25), principal="ada")
    assert opened(cursors, sized).size == 25
    assert opened(cursors, cursors.seal(HERE, principal="ada")).size is None


def test_the_size_of_the_pages_in_a_cursor_cannot_be_changed() -> None:
    cursors = Cursors()
    sized = cursors.seal(Position(QUERY, 10, "metadata", size=25), principal="ada", documented=True)
    body = json.loads(base64.b64decode(sized))
    for changed in ({**body, "size": 9_999}, {name: value for name, value in body.items() if name != "size"}):
        forged = base64.b64encode(json.dumps(changed).encode()).decode()
        assert reason_of(cursors, forged) == "signature"


@pytest.mark.parametrize("counter", [Vocabulary(), Vocabulary("cl100k_base"), Estimate()], ids=lambda one: one.name)
@pytest.mark.parametrize("mode", ["full", "ids_only"])
@FORMS
def test_no_cursor_of_a_walk_takes_more_room_than_the_farthest(
    counter: Vocabulary | Estimate, mode: str, documented: bool
) -> None:
    """Whatever key has signed it, and however far on it is; so a page that has room for it has room for any."""
    total = 1_000
    for size in (None, 5, 50):
        for offset in (1, 9, 10, 99, 100, 999):
            place = Position(QUERY, offset, mode, size=size)
            sealed = [one.seal(place, documented=documented) for one in servers(12)]
            known = {farthest(cursor, total) for cursor in sealed}
            assert len(known) == 1
            assert max(map(counter.count, sealed)) <= counter.count(known.pop())


@pytest.mark.parametrize("counter", [Vocabulary(), Vocabulary("cl100k_base"), Estimate()], ids=lambda one: one.name)
@pytest.mark.parametrize("mode", ["full", "preview", "metadata", "ids_only"])
@FORMS
def test_no_cursor_to_a_place_takes_more_room_than_the_dearest(
    counter: Vocabulary | Estimate, mode: str, documented: bool
) -> None:
    """Whatever key has signed it, so that what fits does not depend on chance."""
    for offset in (3, 42, 280, 4_821):
        for after in (None, [0.453, 7], [0.592963, 272], [1, 99_999]) if documented else (None,):
            place = Position(QUERY, offset, mode, after)
            sealed = [one.seal(place, documented=documented) for one in servers(40)]
            known = {dearest(cursor) for cursor in sealed}
            assert len(known) == 1
            assert max(map(counter.count, sealed)) <= counter.count(known.pop())


@FORMS
def test_the_farthest_cursor_is_one_for_the_whole_walk_and_others_are_what_they_are(documented: bool) -> None:
    cursors = Cursors()
    for total in (None, 40):
        places = (Position(QUERY, offset, "full", [0.5, 1 << offset]) for offset in (0, 7, 19))
        sealed = [cursors.seal(place, documented=documented) for place in places]
        assert not documented or len({farthest(cursor, total) for cursor in sealed}) == 1
        plain = (cursors.seal(Position(QUERY, offset, "full"), documented=documented) for offset in (0, 7, 39))
        assert len({farthest(cursor, total) for cursor in plain}) == 1
    assert dearest("41") == farthest("41") == "41"


@FORMS
def test_a_cursor_ends_when_it_says_whatever_the_century_and_no_later_than_in_twenty_days(documented: bool) -> None:
    """It shows only the last bits of its end, which come again: an old cursor is not taken for a young one."""
    for start in (1_000.0, 1_795_000_000.0, 2**24 * 107 - 5.0):
        now = [start]
        cursors = Cursors(lifetime=10 * 365 * 86_400, clock=lambda now=now: now[0])
        cursor = cursors.seal(HERE, principal="ada", documented=documented)
        past = cursors.seal(replace(HERE, expires_at=1.0), principal="ada", documented=documented)
        assert reason_of(cursors, past) == "expired"
        end = opened(cursors, cursor).expires_at
        assert 0 <= end - start - 20 * 86_400 < 4
        now[0] = end - 1
        assert opened(cursors, cursor).expires_at == end
        for later, reason in (
            (0, "expired"),
            (20 * 86_400, "expired"),
            (2**22 - 10, "signature"),
            (2**23, "signature"),
        ):
            now[0] = end + later
            assert reason_of(cursors, cursor) == reason
