"""A directory of an archive that is copied or moved: each place is an archive of its own."""

from __future__ import annotations

import shutil

import pytest

from aerogram.archive import Archive
from aerogram.content import Content
from aerogram.contract.cache import Cache
from aerogram.cursor import CursorKeys
from aerogram.errors import NotFound
from aerogram.reply import Reply

OLD, NEW = Content.of_json(["kept before"]), Content.of_json(["kept after"])


async def test_a_copy_has_what_was_kept_and_keeps_more_in_its_own_place(tmp_path):
    await Archive.at(tmp_path / "one").put(OLD)
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    copy = Archive.at(tmp_path / "two")
    await copy.put(NEW)
    assert [await copy.get(one.hash) for one in (OLD, NEW)] == [OLD, NEW]
    original = Archive.at(tmp_path / "one")
    assert await original.get(OLD.hash) == OLD
    with pytest.raises(NotFound):
        await original.get(NEW.hash)


async def test_a_directory_that_was_moved_goes_on_and_does_not_come_back_in_its_old_place(tmp_path):
    await Archive.at(tmp_path / "one").put(OLD)
    (tmp_path / "one").rename(tmp_path / "two")
    moved = Archive.at(tmp_path / "two")
    await moved.put(NEW)
    assert await moved.get(OLD.hash) == OLD
    assert await moved.delete(OLD.hash)
    assert not (tmp_path / "one").exists()


async def test_a_directory_that_was_emptied_is_written_to_again(tmp_path):
    """As by somebody who needs the room, while the server runs on."""
    archive = Archive.at(tmp_path / "one")
    await archive.put(OLD)
    shutil.rmtree(tmp_path / "one")
    (tmp_path / "one").mkdir()
    with pytest.raises(NotFound):
        await archive.get(OLD.hash)
    for one in (NEW, OLD):
        await archive.put(one)
        assert await archive.get(one.hash) == one


async def test_a_cache_in_files_may_be_moved_too(tmp_path):
    async def answer():
        return Reply.ok("fresh")

    async def never():
        raise AssertionError("it is in the cache")

    await Cache.at(tmp_path / "one").fetch("key", answer, request_id="req_1")
    (tmp_path / "one").rename(tmp_path / "two")
    assert (await Cache.at(tmp_path / "two").fetch("key", never, request_id="req_2")).data == "fresh"


@pytest.mark.parametrize("is_named", [True, False])
async def test_a_program_that_goes_to_another_folder_leaves_its_archive_where_it_is(tmp_path, monkeypatch, is_named):
    """As a daemon does when it has started; its keys for cursors stay there as well."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AEROGRAM_STATE", "state")
    archive = Archive.at("state/archive" if is_named else None)
    keys = CursorKeys.at("state/cursor-keys.json" if is_named else None)
    await archive.put(OLD)
    monkeypatch.chdir(tmp_path / "elsewhere")
    await archive.put(NEW)
    await archive.sweep()
    keys.rotate()
    assert [await Archive.at(tmp_path / "state" / "archive").get(one.hash) for one in (OLD, NEW)] == [OLD, NEW]
    assert CursorKeys.at(tmp_path / "state" / "cursor-keys.json").signing_key() == keys.signing_key()
    assert not any((tmp_path / "elsewhere").iterdir())
