"""Digests: made for a question, by a policy, from the cache, by a writer, and verified after a restart."""

import asyncio
import errno
import json
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import pytest
from key_value.aio.stores.memory import MemoryStore

from aerogram.archive import Archive
from aerogram.digest import (
    DigestCache,
    Digester,
    DigestPayload,
    DigestPolicy,
    Draft,
    UnreadableSource,
    digest_many,
    digest_text,
    fetch,
    query_hash,
    read,
    reply_of,
    source_of,
    verify,
)
from aerogram.errors import IntegrityError, NotFound, ValidationFailed
from programs import quick_command

QUERY = "What does a ticket cost?"
ALWAYS = DigestPolicy(mode="always")


def test_a_digest_has_summary_key_points_and_evidence_for_the_question(long_ferry):
    payload = digest_text(read(long_ferry), "When does the boat sail, and what does a ticket cost?")
    assert "From November to March the boat sails only on Fridays." in payload.summary
    assert payload.key_points == ["A ticket costs four crowns, and a bicycle is carried free of charge."]
    assert payload.original_chars == len(read(long_ferry).text)
    assert payload.digest_chars == len(payload.to_json())
    assert payload.compression_ratio == pytest.approx(payload.digest_chars / payload.original_chars, abs=1e-3)


def test_another_question_gives_another_digest(long_ferry):
    text = read(long_ferry)
    one, other = digest_text(text, QUERY), digest_text(text, "When does ice stop the service?")
    assert (one.summary, one.key_points, one.query_hash) != (other.summary, other.key_points, other.query_hash)
    assert "Ice thicker" in other.summary
    assert one.source_text_hash == other.source_text_hash


def test_key_points_and_quotations_leave_out_what_only_stands_beside_the_answer():
    text = "A ticket costs four crowns. Dogs travel on deck. The sea is calm today. Fog comes from the west."
    payload = digest_text(read(text + " Tickets are sold on board."), "What does a ticket cost?")
    assert payload.key_points == ["Tickets are sold on board."]
    alone = digest_text(read(text), "What does a ticket cost?")
    assert alone.key_points == []
    assert [snippet.text for snippet in alone.evidence_snippets] == ["A ticket costs four crowns. Dogs travel on deck."]


def test_the_same_question_in_other_blanks_has_the_same_hash():
    assert query_hash("  What  costs\na ticket? ") == query_hash("What costs a ticket?") != query_hash("What costs it?")


def test_without_a_question_the_summary_says_what_the_text_is_about(ferry):
    payload = digest_text(read(ferry), "")
    assert payload.summary.startswith("The ferry leaves Holm")
    assert payload.evidence_snippets == []


def test_a_one_character_change_in_the_source_is_caught_and_named(ferry):
    text = read(ferry)
    payload = digest_text(text, QUERY)
    outcome = verify(payload, text.text.replace("four crowns", "five crowns"))
    assert not outcome
    assert outcome.mismatch.field == "source_text_hash"
    assert [mismatch.field for mismatch in outcome.mismatches][1] == "evidence_snippets[0].text"
    with pytest.raises(IntegrityError, match="another text"):
        outcome.require()
    verify(payload, text).require()


def test_a_doctored_quotation_is_named_even_when_the_hash_holds(ferry):
    text = read(ferry)
    data = digest_text(text, QUERY).model_dump()
    data["evidence_snippets"][0]["text"] = data["evidence_snippets"][0]["text"].replace("four", "five")
    assert verify(DigestPayload(**data), text).mismatch.field == "evidence_snippets[0].text"
    data["evidence_snippets"][0]["locator"] = "char:0-99999"
    assert verify(DigestPayload(**data), text).mismatch.field == "evidence_snippets[0].locator"


async def test_the_archive_holds_the_text_by_its_hash_and_gives_it_back_whole_or_by_locator(print_pdf, ferry):
    archive = Archive.in_memory()
    found = await Digester(ALWAYS, archive=archive).digest(print_pdf(["A cover.", ferry]), QUERY)
    assert found.archived
    assert await fetch(archive, found.payload.source_text_hash) == found.text.text
    for snippet in found.payload.evidence_snippets:
        assert snippet.locator.startswith("page:2:char:")
        assert await fetch(archive, found.payload.source_text_hash, snippet.locator) == snippet.text
    assert await verify(found.payload, archive)


async def test_the_hashes_of_a_reply_are_there_for_its_principal_and_nobody_else(ferry):
    archive = Archive.in_memory()
    batch = await digest_many(Digester(ALWAYS, archive=archive), {"ferry": ferry}, QUERY, principal="ann")
    payload = batch.outcomes[0].digest.payload
    named = reply_of(batch).fidelity.archive_hashes["ferry"]
    assert (await archive.get(named, principal="ann")).body.decode() == read(ferry).text
    assert await fetch(archive, named, "char:0-9", principal="ann") == "The ferry"
    assert await verify(payload, archive, principal="ann")
    assert not await verify(payload, archive, principal="bob")
    assert not await verify(payload, archive)
    with pytest.raises(NotFound):
        await fetch(archive, named)


def test_what_is_neither_text_nor_archive_cannot_be_verified_against(ferry):
    with pytest.raises(TypeError, match=r"verify takes a text or an archive, not bytes; read\(…\)"):
        verify(digest_text(read(ferry), QUERY), ferry.encode())


async def test_a_digest_whose_text_is_not_archived_does_not_verify_there(ferry):
    outcome = await verify(digest_text(read(ferry), QUERY), Archive.in_memory())
    assert outcome.mismatch.field == "source_text_hash"


async def test_a_digest_verifies_after_a_restart_against_file_and_archive(tmp_path, print_pdf, ferry):
    """The digest is made here and checked by a new process that has nothing but the files."""
    (tmp_path / "a.pdf").write_bytes(print_pdf([ferry, "終わりの頁。"]))
    async with Archive.at(tmp_path / "archive") as archive:
        found = await Digester(ALWAYS, archive=archive).digest(tmp_path / "a.pdf", QUERY)
    (tmp_path / "digest.json").write_text(found.payload.to_json(), encoding="utf-8")
    program = (
        "import asyncio, pathlib, sys\n"
        "from aerogram.archive import Archive\n"
        "from aerogram.digest import deserialize_payload, read, verify\n"
        "folder = pathlib.Path(sys.argv[1])\n"
        "payload = deserialize_payload((folder / 'digest.json').read_text(encoding='utf-8'))\n"
        "assert payload.evidence_snippets\n"
        "print(bool(verify(payload, read(folder / 'a.pdf'))))\n"
        "async def archived():\n"
        "    async with Archive.at(folder / 'archive') as archive:\n"
        "        return await verify(payload, archive)\n"
        "print(bool(asyncio.run(archived())))\n"
    )
    command = quick_command("-c", program, str(tmp_path))
    run = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True", "True"]


@pytest.mark.parametrize(
    ("policy", "source", "query", "reason"),
    [
        (DigestPolicy(mode="off"), "long", QUERY, "off"),
        (DigestPolicy(), "short", QUERY, "too_small"),
        (DigestPolicy(), "long", "quantum chromodynamics", "not_relevant"),
        (DigestPolicy(), "", QUERY, "empty"),
        (DigestPolicy(), "long", QUERY, None),
        (DigestPolicy(mode="always"), "short", "quantum chromodynamics", None),
    ],
)
async def test_the_policy_says_what_is_digested_and_why_not(ferry, long_ferry, policy, source, query, reason):
    text = {"long": long_ferry, "short": ferry}.get(source, "")
    found = await Digester(policy).digest(text, query)
    assert found.skipped == reason
    assert (found.payload is None) == (reason is not None)
    assert found.text.text == read(text).text


async def test_always_gives_an_empty_text_an_empty_digest_and_says_so():
    found = await Digester(ALWAYS).digest(b"  \n", QUERY)
    assert (found.skipped, found.payload.summary, found.payload.original_chars) == ("empty", "", 0)


async def test_a_digest_is_never_digested_again(long_ferry):
    first = await Digester(ALWAYS).digest(long_ferry, QUERY)
    listed = source_of("ferry", first)
    written = first.payload.to_json()
    for source in (first.payload, listed, SimpleNamespace(**listed), written, written.encode()):
        again = await Digester(ALWAYS).digest(source, "Another question?")
        assert again.skipped == "already_digest"
        assert again.payload == first.payload


async def test_a_text_about_digests_is_not_taken_for_one():
    for text in ('{"content_type": "digest/v1"}', "Its content_type is digest/v1."):
        assert (await Digester(ALWAYS).digest(text, "content")).skipped is None


async def test_sources_may_be_mappings_or_objects_with_content(ferry):
    for source in ({"content_type": "text/plain", "content": ferry}, SimpleNamespace(content=ferry)):
        found = await Digester(ALWAYS).digest(source, QUERY)
        assert found.payload == digest_text(read(ferry), QUERY)
    with pytest.raises(UnreadableSource, match="not NoneType"):
        await Digester(ALWAYS).digest({"content": None}, QUERY)


def test_settings_outside_the_contract_are_refused():
    for wrong in (
        {"snippets": 11},
        {"snippet_chars": 501},
        {"summary_chars": 2001},
        {"key_points": 11},
        {"mode": "now"},
    ):
        with pytest.raises(ValidationFailed):
            DigestPolicy(**wrong)


async def test_the_cache_answers_for_the_same_text_question_and_settings_only(long_ferry):
    for cache in (DigestCache(), DigestCache(MemoryStore())):
        digester = Digester(ALWAYS, cache=cache)
        first = await digester.digest(long_ferry, QUERY)
        again = await digester.digest(long_ferry + "\n\n", f"  {QUERY}")
        assert (first.cached, again.cached) == (False, True)
        assert again.payload == first.payload
        assert not (await digester.digest(long_ferry, "When is it cold?")).cached
        assert not (await digester.digest(long_ferry + "!", QUERY)).cached
        assert not (
            await Digester(DigestPolicy(mode="always", snippets=2), cache=cache).digest(long_ferry, QUERY)
        ).cached
        assert not (await Digester(ALWAYS, cache=cache, writer=brief).digest(long_ferry, QUERY)).cached


async def test_writers_that_cannot_be_told_apart_share_no_entry_of_the_cache(long_ferry):
    cache = DigestCache()

    def saying(words):
        return lambda _: Draft(words, ())

    for pair in (
        (lambda _: Draft("One.", ()), lambda _: Draft("Two.", ())),
        (saying("One."), saying("Two.")),
        (partial(repeat, "One."), partial(repeat, "Two.")),
        (Repeater("One.").write, Repeater("Two.").write),
    ):
        made = [await Digester(ALWAYS, cache=cache, writer=writer).digest(long_ferry, QUERY) for writer in pair]
        assert [found.payload.summary for found in made] == ["One.", "Two."]
    for writer in (brief, Repeater("Three.")):
        digester = Digester(ALWAYS, cache=cache, writer=writer)
        assert [(await digester.digest(long_ferry, QUERY)).cached for _ in range(2)] == [False, True]


def repeat(words, _assignment):
    return Draft(words, ())


class Repeater:
    """A writer with a setting, and a name that tells it."""

    def __init__(self, words):
        self.words = self.name = words

    def __call__(self, assignment):
        return self.write(assignment)

    def write(self, assignment):
        return repeat(self.words, assignment)


class FullDisk:
    """A store on a disk that has no room left."""

    async def get(self, *_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    put = get


async def test_a_digest_goes_out_when_its_text_cannot_be_archived(long_ferry):
    batch = await digest_many(Digester(ALWAYS, archive=Archive(FullDisk())), {"ferry": long_ferry}, QUERY)
    found = batch.outcomes[0].digest
    assert (found.payload, found.archived) == (digest_text(read(long_ferry), QUERY), False)
    assert [notice.code for notice in found.notices] == ["PARTIAL_FAILURE"]
    assert found.notices[0].message.startswith("The text could not be archived")
    reply = reply_of(batch)
    assert (reply.status, not reply.fidelity.archive_hashes, reply.notices) == ("ok", True, found.notices)
    small = await Digester(ALWAYS, archive=Archive.in_memory(quota=100)).digest(long_ferry, QUERY)
    assert (small.payload, small.archived) == (found.payload, False)


async def test_a_cache_that_is_lost_is_passed_over_with_a_line_in_the_log(long_ferry, caplog):
    found = await Digester(ALWAYS, cache=DigestCache(FullDisk())).digest(long_ferry, QUERY)
    assert (found.payload, found.cached, found.notices) == (digest_text(read(long_ferry), QUERY), False, ())
    assert [record.message for record in caplog.records if record.name == "aerogram.digest"] == [
        "the cache of digests could not be read",
        "the cache of digests could not be written",
    ]


def brief(assignment):
    return Draft(f"{len(assignment.text)} characters on {assignment.query}", ("One point.",))


async def brief_later(assignment):
    await asyncio.sleep(0)
    return brief(assignment)


@pytest.mark.parametrize("writer", [brief, brief_later, partial(brief_later)])
async def test_a_writer_may_write_the_summary_and_key_points(long_ferry, writer):
    found = await Digester(ALWAYS, writer=writer).digest(long_ferry, QUERY)
    assert found.payload.summary.endswith("characters on What does a ticket cost?")
    assert found.payload.key_points == ["One point."]
    assert found.notices == ()
    assert verify(found.payload, found.text)


async def never(assignment):
    await asyncio.sleep(60)


def broken(assignment):
    raise RuntimeError("password=hunter2")


@pytest.mark.parametrize(
    ("writer", "reason"),
    [
        (broken, "RuntimeError"),
        (never, "TimeoutError"),
        (lambda _: None, "the writer gave no summary"),
        (lambda _: Draft("  ", ()), "the writer gave no summary"),
        (lambda _: Draft("x" * 2001, ()), "the summary has 2001 characters; the limit is 2000"),
        (lambda _: Draft("x", ("y",) * 11), "there are 11 key points; the limit is 10"),
        (lambda _: Draft("x", ("y" * 501,)), "a key point is text of 1 to 500 characters"),
        (lambda _: Draft("x", (3,)), "a key point is text of 1 to 500 characters"),
        (lambda _: Draft("x", "points"), "the key points are a row of texts, not str"),
        (lambda _: Draft("x", None), "the key points are a row of texts, not NoneType"),
        (lambda _: Draft("half \ud83d", ()), "a half of a character cannot be written down"),
        (lambda _: Draft("x", ("half \udc00",)), "a half of a character cannot be written down"),
    ],
)
async def test_when_the_writer_fails_the_text_speaks_for_itself(long_ferry, writer, reason):
    digester = Digester(ALWAYS, writer=writer, writer_timeout=0.05 if writer is never else 60, cache=DigestCache())
    found = await digester.digest(long_ferry, QUERY)
    plain = digest_text(read(long_ferry), QUERY)
    assert found.payload == plain
    assert [(notice.code, notice.context["reason"]) for notice in found.notices] == [("FALLBACK_USED", reason)]
    assert not (await digester.digest(long_ferry, QUERY)).cached


def test_the_core_does_not_load_the_digest_models():
    program = "import sys, aerogram; print([name for name in sys.modules if name.startswith('aerogram.digest')])"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout.replace("'", '"')) == []


async def test_where_nothing_bears_on_the_question_a_digest_says_so(long_ferry):
    digester = Digester(ALWAYS, cache=DigestCache())
    for is_cached in (False, True):
        found = await digester.digest(long_ferry, "quantum chromodynamics", name="ferry.txt")
        assert (found.cached, found.payload.evidence_snippets) == (is_cached, [])
        (notice,) = found.notices
        assert (notice.code, notice.context) == ("LOW_QUALITY_RESULTS", {"source": "ferry.txt"})
        assert notice.message.startswith("Nothing in ferry.txt bears on the question")
    assert (await digester.digest(long_ferry, QUERY)).notices == ()


@pytest.mark.parametrize("chars", [60, 120, 500])
@pytest.mark.parametrize("pages", [1, 2])
async def test_a_text_that_is_shorter_than_its_digest_can_be_quoted_from_its_beginning_to_its_end(
    ferry, print_pdf, chars, pages
):
    policy = DigestPolicy(mode="always", snippet_chars=chars, quote_whole=True)
    text = read(print_pdf(["A cover."] * (pages - 1) + [ferry]))
    found = await Digester(policy).digest(text, "What do dogs, tickets, coffee and ice cost?")
    payload = found.payload
    assert verify(payload, text)
    quoted = "".join("".join(one.text.split()) for one in _in_order(payload, text))
    is_whole = quoted == "".join(text.text.split())
    # ten quotations of sixty characters have no room for all of it
    assert is_whole == (chars > 60)
    assert not (is_whole and (payload.key_points or verify(payload, text).unfound))
    scores = [one.relevance_score for one in payload.evidence_snippets]
    assert scores == sorted(scores, reverse=True)


def _in_order(payload, text):
    return sorted(payload.evidence_snippets, key=lambda one: text.text.index(one.text))


@pytest.mark.parametrize(
    "text",
    [
        "渡し船\n\n切符は四クローネで、\n自転車は無料です。 犬は甲板に乗ります。\n",
        "# Fares\n\n- dogs: 2\n- cats: 3\n\nOne. Two.\n",
    ],
)
async def test_a_short_text_that_does_not_bear_on_the_question_is_its_own_summary(text):
    source = read(text, kind="markdown")
    payload = digest_text(source, "quantum chromodynamics?", DigestPolicy(quote_whole=True))
    assert payload.evidence_snippets == []
    assert "".join(payload.summary.split()) == "".join(text.replace("- dogs", "dogs").split())
    assert verify(payload, source) and not verify(payload, source).unfound


async def test_a_long_text_is_not_quoted_whole(long_ferry):
    found = await Digester(DigestPolicy(mode="always", quote_whole=True)).digest(long_ferry, QUERY)
    assert found.payload == digest_text(read(long_ferry), QUERY)
