"""API keys: made, checked, revoked, and nothing but their hashes in the file."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import stat
import threading

import pytest

from aerogram.errors import Conflict, NotFound, Unauthenticated, ValidationFailed
from aerogram.limits import Limits, Plan, Quota
from aerogram_knowledge.access.keys import BadKeyFile, Keys


@pytest.fixture
def keys(tmp_path):
    return Keys(tmp_path / "some" / "keys.json")


def test_a_key_opens_until_it_is_revoked(keys):
    key, secret = keys.create("ada")
    assert keys.check(secret) == key
    assert key.principal == f"key:{key.id}"
    assert keys.has_active
    keys.revoke("ada")
    with pytest.raises(Unauthenticated, match="'ada' is revoked"):
        keys.check(secret)
    assert not keys.has_active


def test_the_file_holds_no_secret_and_is_its_owners_alone(keys):
    _, secret = keys.create("ada")
    text = keys.path.read_text()
    assert secret not in text
    assert secret.rpartition("_")[2] not in text
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert [path.name for path in keys.path.parent.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize("secret", ["", "aero_", "x", "aero_00000000_" + "A" * 43, "\udcff", "é" * 57, "a" * 100_000])
def test_what_is_no_key_opens_nothing(keys, secret):
    keys.create("ada")
    with pytest.raises(Unauthenticated, match="not valid"):
        keys.check(secret)


def test_a_secret_with_one_letter_changed_opens_nothing(keys):
    _, secret = keys.create("ada")
    changed = secret[:-1] + ("A" if secret[-1] != "A" else "B")
    with pytest.raises(Unauthenticated):
        keys.check(changed)


def test_a_key_ends_when_it_was_said_to(tmp_path):
    now = [1_000_000.0]
    keys = Keys(tmp_path / "keys.json", clock=lambda: now[0])
    _, secret = keys.create("ada", expires=keys.now + dt.timedelta(hours=1))
    now[0] += 3_599
    assert keys.check(secret).name == "ada"
    now[0] += 1
    with pytest.raises(Unauthenticated, match="'ada' is expired"):
        keys.check(secret)
    with pytest.raises(ValidationFailed, match="in the future"):
        keys.create("bob", expires=keys.now)


@pytest.mark.parametrize(("written", "is_good"), [("2026-11-20", True), ("2026-11-19T12:00:00", False)])
def test_a_key_whose_end_somebody_wrote_by_hand_ends_then_in_utc(tmp_path, written, is_good):
    """Whoever extends a key in the file writes a day, without the zone that the program writes."""
    now = dt.datetime(2026, 11, 19, 13, tzinfo=dt.UTC)
    keys = Keys(tmp_path / "keys.json", clock=now.timestamp)
    key, secret = keys.create("ada", expires=now + dt.timedelta(days=9))
    keys.path.write_text(keys.path.read_text().replace("2026-11-28T13:00:00.000Z", written))
    assert keys.has_active == is_good
    with contextlib.nullcontext() if is_good else pytest.raises(Unauthenticated, match="'ada' is expired"):
        assert keys.check(secret).id == key.id
    keys.create("bob")  # which writes them all
    assert [one.expires and one.expires.isoformat()[:10] for one in keys.all()] == [written[:10], None]


def test_a_running_server_sees_what_another_process_did(keys):
    """Two objects on one file are two processes as far as the file is concerned."""
    other = Keys(keys.path)
    _, first = keys.create("ada")
    assert other.check(first).name == "ada"
    _, second = other.create("bob")
    assert keys.check(second).name == "bob"
    other.revoke("ada")
    with pytest.raises(Unauthenticated):
        keys.check(first)
    keys.path.unlink()
    with pytest.raises(Unauthenticated):
        other.check(second)


def test_nobody_loses_a_key_that_is_made_at_the_same_time(keys):
    makers = [threading.Thread(target=Keys(keys.path).create, args=(f"n{number}",)) for number in range(8)]
    for one in makers:
        one.start()
    for one in makers:
        one.join()
    assert {key.name for key in keys.all()} == {f"n{number}" for number in range(8)}


def test_an_id_is_of_its_key_and_not_of_one_that_is_called_so(keys):
    ada, _ = keys.create("ada")
    other, secret = keys.create(ada.id)
    assert keys.revoke(ada.id).name == "ada"
    assert keys.check(secret).name == ada.id
    assert keys.revoke(ada.id).id == other.id


def test_a_name_is_free_again_once_its_key_is_revoked(keys):
    first = keys.create("ada").key
    with pytest.raises(Conflict, match="a key 'ada' already"):
        keys.create("ada")
    keys.revoke(first.id)
    second = keys.create("ada").key
    assert [key.revoked is None for key in keys.all()] == [False, True]
    keys.revoke("ada")
    assert {key.id for key in keys.all() if key.revoked} == {first.id, second.id}
    with pytest.raises(NotFound):
        keys.revoke("ada")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a" * 81])
def test_a_name_is_one_short_line(keys, name):
    with pytest.raises(ValidationFailed):
        keys.create(name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"keys": 1}',
        '{"keys": [1]}',
        '{"keys": [{"id": "a"}]}',
        '{"keys": [{"id": "a", "name": "b"}]}',
        json.dumps({"keys": [{"id": "a", "name": "b", "hash": "0" * 64, "created": "0001-01-01T00:00:00+23:59"}]}),
    ],
)
def test_a_file_of_something_else_is_refused_and_left_alone(keys, text):
    keys.path.parent.mkdir()
    keys.path.write_text(text)
    for act in (keys.all, lambda: keys.create("ada"), lambda: keys.check("aero_00000000_" + "A" * 43)):
        with pytest.raises(BadKeyFile, match=r"keys\.json is not a file of API keys: put back a copy.*keys create"):
            act()
    assert keys.path.read_text() == text


@pytest.mark.parametrize("plan", ["", " ", ","])
def test_no_key_has_limits_of_its_own_that_limit_nothing(keys, plan):
    """It would escape those of everybody, because of a variable that was not set."""
    with pytest.raises(ValidationFailed, match="are no limits; limits such as"):
        keys.create("ada", plan=plan)
    key = keys.create("ada").key
    keys.path.write_text(keys.path.read_text().replace('"plan": null', '"plan": ""'))
    assert keys.plan_of(key.principal) is None


async def test_each_key_has_its_own_limits(keys):
    small = keys.create("small", plan="1/hour, search=9/day").key
    usual = keys.create("usual").key
    assert keys.plan_of(small.principal).per_tool == {"search": (Quota(9, "day"),)}
    assert keys.plan_of(usual.principal) is keys.plan_of(None) is keys.plan_of("key:") is None
    limits = Limits.in_memory(lambda who: keys.plan_of(who) or Plan.of("100/hour"))
    assert (await limits.take(small.principal, "x")).rate_limit.limit == 1
    assert (await limits.take(usual.principal, "x")).rate_limit.limit == 100
    with pytest.raises(ValidationFailed, match="'often' are no limits"):
        keys.create("bad", plan="often")


def test_keys_on_the_command_line(aerogram):
    made = aerogram("keys", "create", "ada", "--limits", "60/minute", "--expires", "90d")
    assert made.returncode == 0
    secret = made.stdout.strip()
    assert secret.startswith("aero_") and secret not in made.stderr
    listed = aerogram("keys", "list")
    assert secret not in listed.stdout
    head, row = listed.stdout.splitlines()
    assert head.split() == ["id", "name", "limits", "created", "expires", "state"]
    assert row.split()[1:3] == ["ada", "60/minute"] and row.split()[-1] == "active"
    ended = aerogram("keys", "revoke", "ada")
    assert ended.stdout == f"revoked {secret.split('_')[1]} (ada)\n"
    assert json.loads(aerogram("keys", "list", "--json").stdout)[0]["state"] == "revoked"


def test_a_key_in_json_is_one_object_with_its_secret(aerogram, tmp_path):
    said = json.loads(aerogram("keys", "create", "ci", "--json", "--keys", "k.json").stdout)
    assert Keys(tmp_path / "k.json").check(said["key"]).id == said["id"]


def test_the_keys_are_those_of_the_settings(aerogram, tmp_path):
    (tmp_path / "aerogram.toml").write_text("keys = 'mine.json'")
    aerogram("keys", "create", "ada")
    assert [key.name for key in Keys(tmp_path / "mine.json").all()] == ["ada"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("create", "ada", "--limits", "often"),
            "aerogram: 'often' are no limits; limits such as '60/minute, 5000/day'",
        ),
        (("create", "ada", "--expires", "soon"), "aerogram: 'soon' is no time; write '12h', '90d', '4w' or a day"),
        (("create", "ada", "--expires", "2020-01-01"), "aerogram: a key must expire in the future"),
        (("revoke", "nobody"), "aerogram: there is no key 'nobody' to revoke"),
    ],
)
def test_bad_input_to_keys_is_one_line(aerogram, arguments, said):
    done = aerogram("keys", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_an_empty_list_says_how_to_make_a_key(aerogram):
    done = aerogram("keys", "list")
    assert (done.returncode, done.stdout) == (0, "")
    assert "aerogram keys create NAME" in done.stderr
