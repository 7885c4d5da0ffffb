"""Archives that several servers share, in Redis and in S3-compatible storage: their sums stay exact."""

from __future__ import annotations

import asyncio
import socket
import time

import obstore
import pytest
from redis import Redis

from aerogram.archive import Archive
from aerogram.archive.s3 import open_bucket
from aerogram.content import Content
from aerogram.errors import NotFound, QuotaExceeded, Unavailable
from backends import running_s3, s3_url
from programs import start_program

__all__ = ["s3_url"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # redis-py would rather have `set` than `setex`

WRITER = """
import asyncio, sys, warnings
warnings.simplefilter("ignore")
from aerogram.archive import Archive
from aerogram.content import Content

async def write(kind, url, name):
    archive = getattr(Archive, kind)(url)
    for number in range(12):
        await archive.put(Content.of_text(f"{name} {number} " + "x" * 100), principal="ada")
    await archive.close()

asyncio.run(write(*sys.argv[1:]))
"""


@pytest.fixture(params=[("in_redis", "redis_url"), ("in_bucket", "s3_url")], ids=["redis", "s3"])
def place(request):
    """The kind and the address of an archive for several servers."""
    kind, fixture = request.param
    return kind, request.getfixturevalue(fixture)


async def test_the_sum_is_exact_however_many_processes_write_for_one_caller(place):
    kind, url = place
    writers = [start_program([kind, url, name], program=("-c", WRITER)) for name in "abcd"]
    assert [writer.wait(300) for writer in writers] == [0] * 4
    async with getattr(Archive, kind)(url) as archive:
        used = await archive.usage(principal="ada")
        assert used.entries == 48
        assert used.bytes == sum(len(f"{name} {number} ") + 100 for name in "abcd" for number in range(12))


async def test_a_full_archive_makes_room_and_says_what_made_it(place):
    kind, url = place
    clock = [1_000_000_000.0]
    async with getattr(Archive, kind)(url, quota=1_000, clock=lambda: clock[0]) as archive:
        hashes = []
        for number in range(6):
            clock[0] += 1
            (stored,) = await archive.put(Content.of_text(f"{number} " + "y" * 298), principal="bob")
            hashes.append(stored.hash)
        used = await archive.usage(principal="bob")
        assert (used.entries, used.bytes) == (3, 900)
        for number, kept in enumerate(hashes[3:], 3):
            assert (await archive.get(kept, principal="bob")).body.decode().startswith(f"{number} ")
        with pytest.raises(QuotaExceeded):
            await archive.put(Content.of_text("z" * 1_001), principal="bob")


async def test_what_is_deleted_is_gone_and_what_others_have_stays(place):
    kind, url = place
    async with getattr(Archive, kind)(url) as archive:
        content = Content.of_text("a letter")
        (stored,) = await archive.put(content, principal="eve")
        await archive.put(content, principal="mallory")
        assert await archive.delete(stored.hash, principal="eve")
        with pytest.raises(NotFound):
            await archive.get(stored.hash, principal="eve")
        assert await archive.get(stored.hash, principal="mallory") == content


async def test_what_is_put_again_while_it_is_evicted_is_not_lost(redis_url):
    """One server fills the archive of a caller, another puts the same letter into it again and again."""
    letter = Content.of_text("the letter " + "l" * 90)
    async with Archive.in_redis(redis_url, quota=600) as one, Archive.in_redis(redis_url, quota=600) as other:

        async def fill():
            for number in range(60):
                await one.put(Content.of_text(f"{number:4} " + "f" * 95), principal="kim")

        async def insist():
            for _ in range(60):
                await other.put(letter, principal="kim")

        await asyncio.gather(fill(), insist())
        used = await one.usage(principal="kim")
        found = [content async for content in one.newest(principal="kim")]  # whatever it names can be read
        assert (used.entries, used.bytes) == (len(found), sum(content.size for content in found))
        assert used.bytes <= 600


async def test_a_bucket_that_is_not_there_is_unavailable_and_says_when_to_come_back(monkeypatch):
    with running_s3() as url:
        pass
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tester")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    async with Archive.in_bucket(url) as archive:
        with pytest.raises(Unavailable) as caught:
            await archive.put(Content.of_text("x"))
    assert caught.value.retry_after


async def test_what_a_bucket_objects_to_is_in_the_log(s3_url, caplog):
    async with Archive.in_bucket(s3_url.replace("s3://archive", "s3://elsewhere")) as archive:
        with pytest.raises(Unavailable):
            await archive.put(Content.of_text("x"))
    assert "NoSuchBucket" in caplog.text


async def test_what_has_ended_is_swept_out_of_a_bucket(s3_url):
    async with Archive.in_bucket(s3_url, lifetime=0.2) as archive:
        (stored,) = await archive.put(Content.of_text("short-lived"), principal="zoe")
        await asyncio.sleep(0.3)
        await archive.sweep()
        with pytest.raises(NotFound) as caught:
            await archive.get(stored.hash, principal="zoe")
        assert caught.value.details["reason"] == "expired"


async def test_what_is_no_entry_does_not_keep_others_from_being_swept(s3_url):
    bucket = open_bucket(s3_url)
    await bucket.ask(obstore.put, "entries/aerogram_archive/0", b"\xffno entry")
    async with Archive.in_bucket(s3_url, lifetime=0.2) as archive:
        await archive.put(Content.of_text("short-lived, too"), principal="mia")
        before = {one["path"] for one in await bucket.ask(lambda store: obstore.list(store, "entries").collect())}
        await asyncio.sleep(0.3)
        await archive.sweep()
        left = {one["path"] for one in await bucket.ask(lambda store: obstore.list(store, "entries").collect())}
    await bucket.ask(obstore.delete, "entries/aerogram_archive/0")
    assert "entries/aerogram_archive/0" in left
    assert left < before


async def damage_inventories(kind, url):
    """Overwrite the inventory of everybody with what is no JSON."""
    if kind == "in_redis":
        with Redis.from_url(url) as client:
            for key in client.keys("*:ledger:*"):
                client.hset(key, "record", "{nonsense")
        return
    bucket = open_bucket(url)
    for one in await bucket.ask(lambda store: obstore.list(store, "ledgers").collect()):
        await bucket.ask(obstore.put, one["path"], b"\xff{nonsense")


async def test_a_damaged_inventory_is_begun_anew_and_entries_are_given_back(place):
    kind, url = place
    async with getattr(Archive, kind)(url) as archive:
        (stored,) = await archive.put(Content.of_text("before"), principal="lea")
        await damage_inventories(kind, url)
        await archive.put(Content.of_text("after"), principal="lea")
        assert (await archive.get(stored.hash, principal="lea")).body == b"before"
        assert (await archive.usage(principal="lea")).entries == 1


@pytest.mark.parametrize(
    ("kind", "address"),
    [("in_redis", "redis://127.0.0.1:{}/0"), ("in_bucket", "s3://kept?endpoint=http://127.0.0.1:{}")],
    ids=["redis", "s3"],
)
async def test_nobody_waits_for_the_others_until_a_silent_store_is_given_up(kind, address):
    """A store that takes connections and never answers: each question ends in time, and so do many."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as silent:
        async with getattr(Archive, kind)(address.format(silent.getsockname()[1])) as archive:
            asked = [archive.put(Content.of_text(f"letter {number}")) for number in range(30)]
            asked += [archive.get("0" * 64) for _ in range(30)]
            begun = time.monotonic()
            told = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(one) for one in told} == {Unavailable}
    assert time.monotonic() - begun < 20


@pytest.mark.parametrize(
    "url",
    [
        "s3://user:secret@bucket/x",
        "s3://bucket?secret_access_key=x",
        "s3:///x",
        "s3://bucket/?endpoint=http://key:secret@storage.example",
        "s3://bucket/?endpoint=http%3A%2F%2Fkey%3Asecret%40storage.example",
    ],
)
def test_keys_to_a_bucket_are_not_taken_from_its_address(url):
    with pytest.raises(ValueError, match="s3://bucket/prefix"):
        Archive.in_bucket(url)
