"""The archive: what was put away comes back whole, to its owner, while it lasts."""

# ruff: noqa: ASYNC240 - a test may block its own loop

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_value.aio.stores.memory import MemoryStore
from key_value.aio.wrappers.statistics import StatisticsWrapper

from aerogram.answer.retrieval import Retrieval, retrieve
from aerogram.archive import Archive
from aerogram.channels import Sizer
from aerogram.content import Content, canonical_json
from aerogram.content.jsontext import dumps
from aerogram.cursor import Cursors
from aerogram.errors import ContractError, IntegrityError, NotFound, QuotaExceeded, Unavailable
from aerogram.reply import Reply
from aerogram.shape.fit import fit

pytestmark = [
    pytest.mark.asyncio,
    # the Redis store of py-key-value calls a method that redis-py 8 would rather not have called
    pytest.mark.filterwarnings("ignore:Call to deprecated setex:DeprecationWarning"),
]
OpenArchive = Callable[..., Archive]

ROWS = [{"id": "finding-001", "title": "Primary"}, {"id": "finding-002", "title": "Zweitens – 二"}]


def somebody() -> str:
    """A principal that no other test uses, because they share one Redis."""
    return uuid.uuid4().hex


async def refusal(archive: Archive, hash: str, principal: str | None) -> NotFound:
    with pytest.raises(NotFound) as caught:
        await archive.get(hash, principal=principal)
    assert caught.value.remediation
    return caught.value


CONTENTS = [
    Content.of_json(ROWS),
    Content.of_json("just a text"),
    Content.of_json({}),
    Content.of_json({"wide": [2**64, -(10**30)], "exact": 2**63}),
    Content.of_text("Grüße, 世界 👩‍👩‍👧‍👦"),
    Content.of_text(""),
    Content.of_bytes(bytes(range(256))),
]


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: f"{content.kind}-{content.size}")
async def test_content_comes_back_as_it_was(open_archive: OpenArchive, content: Content) -> None:
    archive, owner = open_archive(), somebody()
    (stored,) = await archive.put(content, principal=owner)
    found = await archive.get(stored.hash, principal=owner)
    assert (found.kind, found.body, found.value()) == (content.kind, content.body, content.value())


async def test_keys_come_back_in_the_order_of_their_author(open_archive: OpenArchive) -> None:
    """The hash is that of the sorted form, whoever has put the same value in whichever order last."""
    archive, owner = open_archive(), somebody()
    sorted_rows = [{"a": {"x": 2, "y": 1}, "title": "One"}, {"id": 3}]
    rows = [{"title": "One", "a": {"y": 1, "x": 2}}, {"id": 3}]
    (first,) = await archive.put(Content.of_json(sorted_rows), principal=owner)
    (stored,) = await archive.put(Content.of_json(rows), principal=owner)
    found = await archive.get(stored.hash, principal=owner)
    assert first.hash == stored.hash == "sha256:" + hashlib.sha256(canonical_json(rows)).hexdigest()
    assert dumps(found.value()) == dumps(found.shared_value) == dumps(rows)
    assert found.text.encode() == canonical_json(rows)


async def test_a_text_that_spells_data_leaves_its_keys_in_their_order(open_archive: OpenArchive) -> None:
    archive, owner = open_archive(), somebody()
    value = {"title": "One", "author": "Ada"}
    (stored,) = await archive.put(Content.of_json(value), principal=owner)
    await archive.put(Content.of_text(canonical_json(value).decode()), principal=owner)
    assert dumps((await archive.get(stored.hash, principal=owner)).value()) == dumps(value)


async def test_a_hash_is_the_sha256_of_the_canonical_form() -> None:
    assert Content.of_json({"b": 1, "a": [1.5, None]}).body == b'{"a":[1.5,null],"b":1}'
    assert Content.of_json(ROWS).hash == "sha256:" + hashlib.sha256(canonical_json(ROWS)).hexdigest()
    assert Content.of_text("é").hash == "sha256:" + hashlib.sha256("é".encode()).hexdigest()
    assert Content.of_json({"b": 1, "a": 2}).hash == Content.of_json({"a": 2, "b": 1}).hash


async def test_integers_of_any_size_keep_every_digit_and_one_hash() -> None:
    value = {"b": [2**64, {"y": -(10**30), "x": 1.5}], "a": 2**63 + 1}
    content = Content.of_json(value)
    assert content.value() == value
    assert content.body == json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
    assert content.hash == Content.of_json({"a": value["a"], "b": value["b"]}).hash
    for unsayable in ({2**64: 1, "a": 2}, [2**64, {1}], [2**64, float("nan")]):
        with pytest.raises(ContractError):
            Content.of_json(unsayable)


async def test_what_json_cannot_say_cannot_be_archived() -> None:
    for value in (object(), {1, 2}, "\ud800"):
        with pytest.raises(ContractError):
            Content.of_json(value)


async def test_equal_content_is_stored_once(open_archive: OpenArchive) -> None:
    archive, owner = open_archive(), somebody()
    first, second = await archive.put(Content.of_json(ROWS), Content.of_json(list(ROWS)), principal=owner)
    await archive.put(Content.of_json(ROWS), principal=owner)
    usage = await archive.usage(principal=owner)
    assert first.hash == second.hash
    assert (usage.entries, usage.bytes) == (1, len(canonical_json(ROWS)))


async def test_an_entry_is_invisible_to_everybody_else(open_archive: OpenArchive) -> None:
    archive, owner, other = open_archive(), somebody(), somebody()
    (stored,) = await archive.put(Content.of_json(ROWS), principal=owner)
    for stranger in (other, None):
        assert (await refusal(archive, stored.hash, stranger)).details == {"hash": stored.hash, "reason": "unknown"}
        assert not await archive.delete(stored.hash, principal=stranger)
    assert (await archive.get(stored.hash, principal=owner)).value() == ROWS


async def test_an_entry_is_invisible_in_another_realm(open_archive: OpenArchive) -> None:
    archive, realm = open_archive(), "one"

    async def name_realm() -> str:
        return realm

    archive.realm = name_realm
    (stored,) = await archive.put(Content.of_text("kept"), principal="ada")
    realm = "two"
    with pytest.raises(NotFound):
        await archive.get(stored.hash, principal="ada")
    assert [one async for one in archive.newest(principal="ada")] == []
    assert not await archive.delete(stored.hash, principal="ada")
    realm = "one"
    assert (await archive.get(stored.hash, principal="ada")).body == b"kept"


async def test_one_principals_delete_leaves_the_same_content_of_another(open_archive: OpenArchive) -> None:
    archive, owner, other = open_archive(), somebody(), somebody()
    (stored,) = await archive.put(Content.of_json(ROWS), principal=owner)
    await archive.put(Content.of_json(ROWS), principal=other)
    assert await archive.delete(stored.hash, principal=owner)
    assert not await archive.delete(stored.hash, principal=owner)
    assert "deleted" in (await refusal(archive, stored.hash, owner)).message
    assert (await archive.get(stored.hash, principal=other)).value() == ROWS
    assert (await archive.usage(principal=owner)).entries == 0


async def test_an_expired_entry_says_that_it_expired(open_archive: OpenArchive, clock: Any) -> None:
    archive, owner = open_archive(lifetime=600, clock=clock), somebody()
    (stored,) = await archive.put(Content.of_json(ROWS), principal=owner)
    clock.ahead = 599
    assert (await archive.get(stored.hash, principal=owner)).value() == ROWS
    clock.ahead = 601
    assert "expired" in (await refusal(archive, stored.hash, owner)).message
    assert (await archive.usage(principal=owner)).entries == 0
    await archive.put(Content.of_text("a later entry sweeps up"), principal=owner)
    assert "expired" in (await refusal(archive, stored.hash, owner)).message


async def test_the_store_itself_forgets_expired_content(open_archive: OpenArchive) -> None:
    """The bytes end with the lifetime; only the fact that they expired outlives them."""
    archive, owner = open_archive(lifetime=0.001), somebody()
    (stored,) = await archive.put(Content.of_json(ROWS), principal=owner)
    await asyncio.sleep(0.01)
    assert "expired" in (await refusal(archive, stored.hash, owner)).message


async def test_putting_content_again_extends_its_life(open_archive: OpenArchive, clock: Any) -> None:
    archive, owner = open_archive(lifetime=600, clock=clock), somebody()
    (first,) = await archive.put(Content.of_json(ROWS), principal=owner)
    clock.ahead = 500
    (second,) = await archive.put(Content.of_json(ROWS), principal=owner)
    clock.ahead = 1_000
    assert second.expires_at > first.expires_at
    assert (await archive.get(second.hash, principal=owner)).value() == ROWS


async def test_the_oldest_entries_make_room_within_the_quota(open_archive: OpenArchive, clock: Any) -> None:
    archive, owner, other = open_archive(quota=2_500, clock=clock), somebody(), somebody()
    await archive.put(Content.of_text("x" * 2_000), principal=other)
    hashes = []
    for letter in "abc":
        clock.ahead += 1
        hashes += [stored.hash for stored in await archive.put(Content.of_text(letter * 1_000), principal=owner)]
    assert "make room" in (await refusal(archive, hashes[0], owner)).message
    assert (await archive.get(hashes[2], principal=owner)).value() == "c" * 1_000
    assert (await archive.usage(principal=owner)).bytes == 2_000
    assert (await archive.usage(principal=other)).bytes == 2_000


async def test_the_number_of_entries_is_bounded_too(open_archive: OpenArchive, clock: Any) -> None:
    archive, owner = open_archive(most_entries=3, clock=clock), somebody()
    for number in range(6):
        clock.ahead += 1
        await archive.put(Content.of_json(number), principal=owner)
    assert (await archive.usage(principal=owner)).entries == 3
    assert [content.value() async for content in archive.newest(principal=owner)] == [5, 4, 3]


async def test_nobody_is_crowded_out_of_the_memory_by_others() -> None:
    archive = Archive.in_memory()
    (mine,) = await archive.put(Content.of_json(ROWS), principal="ada")
    for other in ("bob", "eve", "joe"):
        await archive.put(*(Content.of_json([other, number]) for number in range(4_000)), principal=other)
    assert (await archive.get(mine.hash, principal="ada")).value() == ROWS
    assert (await archive.usage(principal="bob")).entries == 4_000


async def test_what_was_put_last_is_the_newest_whatever_the_clock_says(open_archive: OpenArchive, clock: Any) -> None:
    """A clock that goes back by an hour makes nothing older that comes after it."""
    archive, ada = open_archive(clock=clock, most_entries=4), somebody()
    for number in range(4):
        await archive.put(Content.of_json(["before", number]), principal=ada)
    clock.ahead -= 3_600
    for number in range(2):
        await archive.put(Content.of_json(["after", number]), principal=ada)
    found = [content.value() async for content in archive.newest(principal=ada)]
    assert found == [["after", 1], ["after", 0], ["before", 3], ["before", 2]]


async def test_any_text_may_be_the_name_of_a_principal(open_archive: OpenArchive) -> None:
    """A token may spell one with half of a character in it."""
    archive = open_archive()
    (stored,) = await archive.put(Content.of_json(ROWS), principal="ada \ud83d")
    assert (await archive.get(stored.hash, principal="ada \ud83d")).value() == ROWS
    assert await archive.delete(stored.hash, principal="ada \ud83d")


async def test_what_can_never_fit_the_quota_is_refused(open_archive: OpenArchive) -> None:
    archive, owner = open_archive(quota=100), somebody()
    (kept,) = await archive.put(Content.of_text("small"), principal=owner)
    with pytest.raises(QuotaExceeded):
        await archive.put(Content.of_text("x" * 101), principal=owner)
    assert (await archive.get(kept.hash, principal=owner)).value() == "small"


async def test_more_entries_at_once_than_there_may_be_are_refused(open_archive: OpenArchive) -> None:
    archive, owner = open_archive(most_entries=3), somebody()
    (kept,) = await archive.put(Content.of_text("small"), principal=owner)
    several = [Content.of_text(letter) for letter in "abcd"]
    with pytest.raises(QuotaExceeded):
        await archive.put(*several, principal=owner)
    assert (await archive.get(kept.hash, principal=owner)).value() == "small"
    await archive.put(*several[:3], *several[:3], principal=owner)  # what is the same is one
    assert [(await archive.get(one.hash, principal=owner)).value() for one in several[:3]] == ["a", "b", "c"]


async def test_reading_an_entry_takes_no_longer_in_a_full_archive() -> None:
    async def seconds(entries: int) -> float:
        archive = Archive.in_memory()
        stored = await archive.put(*(Content.of_text(f"text {number}") for number in range(entries)))
        taken = []
        for one in stored:
            start = time.perf_counter()
            await archive.get(one.hash)
            taken.append(time.perf_counter() - start)
        return min(taken[-100:])  # whatever else the machine does

    assert await seconds(4_000) < 5 * await seconds(100)


async def test_a_unique_beginning_of_a_hash_is_enough(open_archive: OpenArchive) -> None:
    archive, owner = open_archive(), somebody()
    (stored,) = await archive.put(Content.of_json(ROWS), principal=owner)
    assert (await archive.get(stored.hash[:19], principal=owner)).value() == ROWS
    await refusal(archive, stored.hash[:18], owner)
    await refusal(archive, "sha256:" + "0" * 12, owner)


@pytest.mark.parametrize("hash", ["", "sha256:", "../../etc/passwd", "sha256:" + "g" * 64, "a" * 65, "é" * 64])
async def test_what_is_no_hash_is_not_found(open_archive: OpenArchive, hash: str) -> None:
    await refusal(open_archive(), hash, None)


async def test_a_tampered_file_is_refused_and_mended_by_putting_again(tmp_path: Path) -> None:
    archive = Archive.at(tmp_path)
    (stored,) = await archive.put(Content.of_json(ROWS), principal="ada")
    (file,) = tmp_path.rglob(f"*{stored.hash[7:]}*.json")
    sound = file.read_text()
    for damaged in (sound.replace("Primary", "Forged!"), sound.replace('"json"', '"yaml"'), sound[:40], "", "[]", "{}"):
        file.write_text(damaged)
        with pytest.raises(IntegrityError) as caught:
            await archive.get(stored.hash, principal="ada")
        assert caught.value.remediation
    await archive.put(Content.of_json(ROWS), principal="ada")
    assert (await archive.get(stored.hash, principal="ada")).value() == ROWS


async def test_a_file_that_is_tampered_with_after_it_was_read_is_refused(tmp_path: Path) -> None:
    archive = Archive.at(tmp_path)
    (stored,) = await archive.put(Content.of_json(ROWS), principal="ada")
    assert (await archive.get(stored.hash, principal="ada")).value() == ROWS
    (file,) = tmp_path.rglob(f"*{stored.hash[7:]}*.json")
    file.write_text(file.read_text().replace("Primary", "Forged!"))
    with pytest.raises(IntegrityError):
        await archive.get(stored.hash, principal="ada")


@pytest.mark.parametrize("kind", ["files", "redis"])
async def test_an_entry_that_was_read_is_gone_when_somebody_else_deletes_it(
    kind: str, tmp_path: Path, redis_url: str
) -> None:
    owner, content = somebody(), Content.of_json(ROWS)
    opened = Archive.at(tmp_path) if kind == "files" else Archive.in_redis(redis_url)
    async with opened as reader, Archive.at(tmp_path) if kind == "files" else Archive.in_redis(redis_url) as writer:
        (stored,) = await writer.put(content, principal=owner)
        assert (await reader.get(stored.hash, principal=owner)).body == content.body
        assert await writer.delete(stored.hash, principal=owner)
        assert "deleted" in (await refusal(reader, stored.hash, owner)).message


async def test_ids_are_found_beside_an_entry_that_is_damaged_and_one_that_has_nothing_at_the_path(
    tmp_path: Path,
) -> None:
    archive = Archive.at(tmp_path)
    await archive.put(Content.of_json({"rows": ROWS}))
    await archive.put(Content.of_json({"others": ["finding-002"]}))
    (stored,) = await archive.put(Content.of_json([*ROWS, {"id": "more"}]))
    (file,) = tmp_path.rglob(f"*{stored.hash.removeprefix('sha256:')}.json")
    file.write_text(file.read_text().replace("Primary", "Forged!"))
    for path in ("", "/rows"):
        found = await retrieve(Archive.at(tmp_path), Cursors(), Retrieval(ids=["finding-002"], path=path))
        assert found.reply.data == [ROWS[1]]


async def test_a_search_for_many_ids_holds_up_nobody_else() -> None:
    archive, turns = Archive.in_memory(), 0
    for number in range(10):
        await archive.put(Content.of_json([{"id": f"{number}-{n}", "text": "word " * 40} for n in range(1_000)]))

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    counting = asyncio.create_task(count_turns())
    await asyncio.sleep(0)
    before = turns
    with pytest.raises(NotFound):
        await retrieve(archive, Cursors(), Retrieval(ids=[f"none-{number}" for number in range(200)]))
    counting.cancel()
    assert turns - before >= 10


async def test_an_entry_that_was_read_is_not_read_again_for_the_next_page() -> None:
    store = StatisticsWrapper(key_value=MemoryStore())
    archive, content = Archive(store), Content.of_json(ROWS)
    large = [Content.of_bytes(bytes([n]) * 6_000_000) for n in range(3)]
    hashes = [stored.hash for stored in await archive.put(content, *large)]

    def reads() -> int:
        return sum(collection.get.count for collection in store.statistics.collections.values())

    assert (await archive.get(content.hash)).body == content.body
    before = reads()
    again = await archive.get(content.hash)
    assert again.body == content.body
    assert reads() == before + 1  # the ledger, which says that the entry is still there
    for hash in hashes:  # noqa: A001 - it is one
        await archive.get(hash)
    before = reads()
    await archive.get(hashes[1])
    assert reads() == before + 2  # others have taken its place


async def test_a_damaged_ledger_does_not_lose_the_entries(tmp_path: Path) -> None:
    archive = Archive.at(tmp_path)
    (stored,) = await archive.put(Content.of_json(ROWS))
    (file,) = tmp_path.rglob("*_ledger.json")
    digests = '{"value": {"live": [[5, 5, 1e18]], "gone": []}, "created_at": null, "version": 1}'
    for damaged in ("not json", '{"value": {"live": [1]}, "created_at": null}', digests):
        file.write_text(damaged)
        assert (await archive.get(stored.hash)).value() == ROWS
        with pytest.raises(NotFound):  # which of them begin so is known again with the next one that is put
            await archive.get(stored.hash[:19])
        await archive.put(Content.of_text("still works"))


@pytest.mark.parametrize("damaged", ["", "[", "{}"])
async def test_what_the_store_notes_of_a_folder_is_not_needed(tmp_path: Path, damaged: str) -> None:
    (stored,) = await Archive.at(tmp_path).put(Content.of_json(ROWS))
    for file in tmp_path.rglob("*-info.json"):
        file.write_text(damaged)
    assert (await Archive.at(tmp_path).get(stored.hash)).value() == ROWS


async def test_files_are_private(tmp_path: Path) -> None:
    archive = Archive.at(tmp_path / "archive")
    await archive.put(Content.of_json(ROWS))
    assert (tmp_path / "archive").stat().st_mode & 0o077 == 0
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.rglob("*.json"))


async def test_a_principals_name_is_not_written_to_the_store(tmp_path: Path) -> None:
    await Archive.at(tmp_path).put(Content.of_json(ROWS), principal="ada@example.com")
    assert not any("ada" in file.name or "ada@" in file.read_text() for file in tmp_path.rglob("*.json"))


async def test_a_lost_store_is_unavailable_not_a_crash(tmp_path: Path, free_port: int) -> None:
    nowhere = Archive.in_redis(f"redis://127.0.0.1:{free_port}/0")
    directory = tmp_path / "archive"
    unusable = Archive.at(directory)
    directory.rmdir()
    directory.write_text("a file where the directory was")
    for archive in (nowhere, unusable):
        with pytest.raises(Unavailable):
            await archive.put(Content.of_json(ROWS))
        with pytest.raises(Unavailable):
            await archive.get(Content.of_json(ROWS).hash)


FILL_THE_DISK = """
import asyncio, resource, signal, sys
from aerogram.archive import Archive
from aerogram.content import Content
from aerogram.errors import Unavailable

async def main():
    archive = Archive.at(sys.argv[1])
    (kept,) = await archive.put(Content.of_text("small"))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    try:
        await archive.put(Content.of_text("x" * 1_000_000))
    except Unavailable as error:
        print(error.message)
    print((await archive.get(kept.hash)).value())

asyncio.run(main())
"""


async def test_a_full_disk_is_unavailable_and_leaves_what_was_there(tmp_path: Path) -> None:
    """The disk is played by a limit on the size of files, which fails writes in the same place."""
    command = [sys.executable, "-c", FILL_THE_DISK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: ASYNC221
    assert done.stdout.splitlines() == ["The archive cannot be reached at the moment", "small"]


async def test_sweeping_frees_expired_entries_and_stray_drafts(tmp_path: Path) -> None:
    archive = Archive.at(tmp_path, lifetime=0.001)
    (stored,) = await archive.put(Content.of_json(ROWS))
    directory = next(tmp_path.rglob("*_ledger.json")).parent
    stale, fresh = directory / "killed.tmp", directory / "being-written.tmp"
    stale.touch()
    fresh.touch()
    os.utime(stale, (0, 0))
    await asyncio.sleep(0.01)
    await archive.sweep()
    assert not list(tmp_path.rglob(f"*{stored.hash[7:]}*"))
    assert (stale.exists(), fresh.exists()) == (False, True)
    assert "expired" in (await refusal(archive, stored.hash, None)).message


async def test_what_callers_left_who_never_come_back_is_removed_by_the_writes_of_others(
    tmp_path: Path, clock: Any
) -> None:
    """After a restart as well, and in the folders of programs that are run no more."""

    def entries() -> list[Path]:
        return [file for file in tmp_path.rglob("*.json") if len(file.stem) > 64]

    for folder, who in (("ours", "ada"), ("ours", "bob"), ("another", None)):
        async with Archive.at(tmp_path / folder, clock=clock) as archive:
            await archive.put(Content.of_json([folder, who]), principal=who)
    ours = {"clock": clock, "beside": tmp_path}
    async with Archive.at(tmp_path / "ours", **ours) as archive:
        await archive.put(Content.of_json("a minute later"), principal="joe")
    assert len(entries()) == 4
    clock.ahead += 2 * 86_400
    async with Archive.at(tmp_path / "ours", **ours) as archive:
        (stored,) = await archive.put(Content.of_json("two days later"), principal="joe")
    (left,) = entries()
    assert left.stem.endswith(stored.hash.removeprefix("sha256:"))


async def test_sweeping_keeps_what_is_put_again_meanwhile(tmp_path: Path, clock: Any) -> None:
    archive = Archive.at(tmp_path, clock=clock)
    (stored,) = await archive.put(Content.of_json(ROWS))
    clock.ahead += 2 * 86_400
    await asyncio.gather(archive.sweep(), *(archive.put(Content.of_json(ROWS)) for _ in range(5)))
    assert (await archive.get(stored.hash)).value() == ROWS


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(json_values)
async def test_any_json_value_survives_the_round_trip(value: Any) -> None:
    archive = Archive.in_memory()
    (stored,) = await archive.put(Content.of_json(value))
    found = (await archive.get(stored.hash)).value()
    assert found == value
    assert json.dumps(found, sort_keys=True) == json.dumps(value, sort_keys=True)


@pytest.mark.parametrize("is_text_last", [True, False])
async def test_data_and_a_text_that_spells_it_are_both_given_back(tmp_path, is_text_last):
    data, text = Content.of_json([1, {"a": "b"}]), Content.of_text('[1,{"a":"b"}]')
    both = (data, text, Content.of_bytes(text.body)) if is_text_last else (Content.of_bytes(text.body), text, data)
    async with Archive.at(tmp_path) as archive:
        for content in both:
            await archive.put(content)
        await archive.put(*both)
        assert (await archive.get(data.hash)).value() == [1, {"a": "b"}]
        asked = await retrieve(archive, Cursors(), Retrieval(data.hash, as_text=True))
        assert asked.reply.data == '[1,{"a":"b"}]'


async def test_a_text_that_spells_data_is_asked_back_as_a_text():
    text = dumps([{"id": number, "text": "word " * 20} for number in range(60)]).decode()
    for said in (text, text.replace(",", ", ")):
        fitted = fit(Reply.ok(said), 400, measure=Sizer(), retrieve="retrieve")
        assert re.search(r"offset=\d+, as_text=True\)", fitted.reply.notices[-1].message)


async def test_files_that_are_put_together_are_flushed_side_by_side(tmp_path, monkeypatch):
    """A disk takes nearly as long for one file as for several, and fifty callers wait for theirs at once."""
    both, flush, flushed = threading.Barrier(2), os.fsync, set()

    def meet(file):
        if len(flushed) < both.parties:  # the inventory comes later, and alone
            flushed.add(file)
            both.wait(20)
        flush(file)

    archive = Archive.at(tmp_path)
    await archive.put(Content.of_text("makes the folder"))
    monkeypatch.setattr(os, "fsync", meet)
    first, second = await archive.put(Content.of_text("one"), Content.of_text("two"))
    assert ((await archive.get(first.hash)).value(), (await archive.get(second.hash)).value()) == ("one", "two")
