"""A summary in the text's own words is told from one that is not, which only a model may write."""

import asyncio
import json
import time

import pytest

from aerogram.dialects import dialect
from aerogram.digest import Digester, DigestPayload, DigestPolicy, digest_many, digest_text, read, reply_of, verify
from aerogram.digest.sentences import split
from aerogram.shape.facts import count_digest
from programs import run_program

LIE = "Dogs travel below deck."
JAPANESE = "渡し船\n\n切符は四クローネで、\n自転車は無料です。 犬は甲板に乗ります。\n冬は金曜日だけ運航します。\n"
LISTS = (
    "Fares\n\n- a bicycle is carried free of charge\n- a dog travels for two crowns\n- children under six pay nothing\n"
)
SPEECH = (
    "「切符は四クローネです。」\n\n彼は「犬は無料だ。」と言った。\n\n猫が好きです\n\n「切符はどこで買えますか？」\n\n"
    "他说：“票价是四克朗。”然后走了。\n\n「はい」\n\n切符はいくらですか「A」\n\n昨日は雨でした。\n\n港の切符は、\n"
)
"""Sentences that end within quotation marks, and with marks that end none."""


def said(payload, **members):
    """A digest with other members, counted as whoever writes one counts it."""
    changed = payload.model_copy(update=members)
    counted = count_digest(
        {"original_chars": changed.original_chars}, lambda new: changed.model_copy(update=new).to_json()
    )
    return changed.model_copy(update=counted)


@pytest.mark.parametrize("query", ["What does a ticket cost?", "ice and fog", "dog", "切符はいくらですか"])
@pytest.mark.parametrize("chars", [120, 500])
@pytest.mark.parametrize("document", ["ferry", JAPANESE, LISTS, SPEECH])
def test_what_the_text_says_itself_is_found_in_it(ferry, document, query, chars):
    text = read(ferry if document == "ferry" else document)
    assert verify(digest_text(text, query, DigestPolicy(snippet_chars=chars)), text).unfound == ()


def test_a_summary_and_key_points_in_other_words_are_named_and_the_evidence_holds(ferry):
    text = read(ferry)
    payload = digest_text(text, "What does a ticket cost?")
    found = verify(said(payload, summary=f"{payload.summary} {LIE}", key_points=["A ticket costs nine crowns."]), text)
    assert found
    assert [(one.field, one.text) for one in found.unfound] == [
        ("summary", LIE),
        ("key_points[0]", "A ticket costs nine crowns."),
    ]


@pytest.mark.parametrize(
    "summary",
    [
        "Dogs travel on decks.",
        "ogs travel on deck.",
        "Dogs travel on deck",
        "Dogs travel when the sea is calm.",
        "Winter Dogs travel on the pier.",
        "犬は甲板に乗りません。",
    ],
)
def test_a_letter_or_a_seam_makes_other_words(ferry, summary):
    text = read(ferry + JAPANESE)
    found = verify(said(digest_text(text, "dogs"), summary=summary, key_points=[]), text)
    assert bool(found.unfound) is (summary != "Dogs travel on deck")


def test_of_another_text_nothing_is_said(ferry):
    payload = digest_text(read(ferry), "What does a ticket cost?")
    found = verify(said(payload, summary=LIE), "Another text.")
    assert (bool(found), found.unfound) == (False, ())


def test_the_program_tells_what_was_checked_and_what_was_not(tmp_path, ferry):
    (tmp_path / "a.txt").write_text(ferry, encoding="utf-8")
    payload = digest_text(read(ferry), "What does a ticket cost?")
    own = run(tmp_path, payload)
    assert own.stdout == "verified: the hash and 1 quotation hold; summary and key points are from the text\n"
    free = run(tmp_path, said(payload, summary=LIE, key_points=[]), "--own-words")
    assert free.returncode == 0
    assert free.stdout.splitlines()[1:] == [f"summary: not from the text (not checked): {LIE}"]
    told = json.loads(run(tmp_path, said(payload, summary=LIE, key_points=[]), "--json", "--own-words").stdout)
    assert (told["verified"], told["not_from_text"]) == (True, [{"field": "summary", "text": LIE}])


def test_a_key_point_that_was_changed_fails_the_check(tmp_path, ferry):
    (tmp_path / "a.txt").write_text(ferry, encoding="utf-8")
    payload = digest_text(read(ferry), "What does a ticket cost?")
    false = said(payload, key_points=[LIE])
    done = run(tmp_path, false)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"key_points[0]: not from the text: {LIE}" in done.stderr
    told = run(tmp_path, false, "--json")
    assert (told.returncode, json.loads(told.stdout)["verified"]) == (1, False)


@pytest.mark.parametrize("name", ["knowledge-1.0", "response-v2", "standard-v2"])
def test_the_reply_of_a_tool_is_checked_in_any_dialect(tmp_path, ferry, name):
    (tmp_path / "a.txt").write_text(ferry, encoding="utf-8")
    batch = asyncio.run(digest_many(Digester(DigestPolicy(mode="always")), {"a.txt": ferry}, "What does it cost?"))
    body = dialect(name).encode(reply_of(batch).complete())
    for said_as in (body, {"content": [{"type": "text", "text": json.dumps(body)}]}, {"structuredContent": body}):
        (tmp_path / "reply.json").write_text(json.dumps(said_as))
        done = run_program(["verify", "reply.json", "--source", "a.txt"], cwd=tmp_path, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("verified: ")


def run(where, payload, *options):
    words = ["verify", "-", "--source", "a.txt", *options]
    return run_program(words, cwd=where, input=payload.to_json(), text=True)


def test_a_sentence_of_many_clauses_is_looked_for_in_few_steps():
    text = read("# Boats\n\n" + "a, " * 300 + "end.\n\nThe ferry costs four crowns.\n", kind="markdown")
    digest = digest_text(text, "What does the ferry cost?")
    for count in (60, 250):
        found = verify(digest.model_copy(update={"summary": "a, " * count + "zzz"}), text)
        assert [one.field for one in found.unfound] == ["summary"]
    first = next(one for one in split(text.text, 500) if one.kind == "prose")
    run_on = digest.model_copy(update={"summary": f"{text.text[first.start : first.end]} The ferry costs four crowns."})
    assert verify(run_on, text).unfound == ()
    part = digest.model_copy(update={"summary": "a, " * 40 + "The ferry costs four crowns."})
    assert [one.field for one in verify(part, text).unfound] == ["summary"]


def test_what_runs_on_is_looked_for_in_a_long_text_only_so_often():
    """Any of the words may begin or end a sentence, and the last of them is not from the text."""
    words = [f"w{number}" for number in range(400)]
    text = read(("0" * 97 + ".\n\n") * 80_000 + "\n\n".join(words) + "\n")
    begun = time.process_time()
    digest = digest_text(text, "What is w7?")
    made_up = " ".join(words)[:1_900] + " 99"
    digested = time.process_time()
    found = verify(said(digest, key_points=[made_up] * 5), text)
    assert {one.field for one in found.unfound} == {f"key_points[{number}]" for number in range(5)}
    assert time.process_time() - digested < 10 * (digested - begun)


@pytest.mark.parametrize(
    ("text", "query", "summary"),
    [
        ("料金は 100\n200 です。", "料金", "料金は 100 200 です。"),
        ("チケットは four\ncrowns です。", "チケット", "チケットは four crowns です。"),
        ("日本語の\n文章です。", "文章", "日本語の文章です。"),
        ("g\n。", "x", "g。"),
    ],
)
def test_where_a_line_ends_words_and_numbers_stay_apart_in_every_script(text, query, summary):
    source = read(text.encode(), kind="plain")
    payload = digest_text(source, query)
    assert payload.summary == summary
    assert verify(payload, source).unfound == ()


@pytest.mark.parametrize("made_up", ["料金は 100200 です。", "00 200 です。"])
def test_a_number_run_together_or_cut_is_not_found(made_up):
    source = read("料金は 100\n200 です。".encode(), kind="plain")
    payload = said(digest_text(source, "料金"), summary=made_up)
    assert [one.text for one in verify(payload, source).unfound] == [made_up]


@pytest.mark.parametrize(
    "part",
    [
        "recommend the night ferry.",
        "We do not recommend the night ferry",
        "The ferry is safe",
        "The ferry is safe,",
        "if the sea is calm.",
    ],
)
def test_a_part_of_a_sentence_is_not_what_the_text_says(part):
    text = read(
        "# Ferries\n\nWe do not\nrecommend the night ferry.\nThe ferry is safe, if the sea is calm.\n", kind="markdown"
    )
    payload = digest_text(text, "ferry")
    is_whole = part.startswith("We do not")
    assert bool(verify(said(payload, summary=part, key_points=[]), text).unfound) is not is_whole
    assert bool(verify(said(payload, summary=payload.summary, key_points=[part]), text).unfound) is not is_whole


SIGNS = (
    "It is wrong to say that approx. nine in ten patients were healed.\n\n"
    "Nobody has said, as was claimed by Acme Inc. the money was stolen.\n\n"
    "Tickets cost four crowns etc. only on days without rain.\n\nYes. The ferry runs.\n\n"
    "Nobody heard him cry “Stop!” the ferry was on time.\n"
)


@pytest.mark.parametrize(
    "part",
    [
        "nine in ten patients were healed.",
        "the money was stolen.",
        "Tickets cost four crowns etc.",
        "the ferry was on time.",
    ],
)
def test_a_sign_that_ends_no_sentence_leaves_no_part_of_one_to_be_said(part):
    text = read(SIGNS)
    payload = digest_text(text, "What do tickets cost?")
    assert [one.text for one in verify(said(payload, summary=part, key_points=[]), text).unfound] == [part]
    whole = said(payload, summary=" ".join(SIGNS.split()), key_points=["Yes.", "The ferry runs.", *SIGNS.split("\n\n")])
    assert verify(whole, text).unfound == ()


def test_a_word_that_is_too_long_for_a_digest_is_found_in_the_text_that_it_was_cut_from():
    text = read("ticket https://example.com/" + "ticket-" * 90 + "\n")
    payload = digest_text(text, "ticket")
    assert len(payload.summary) == 500
    assert verify(payload, text).unfound == ()


@pytest.mark.parametrize("chars", [60, 120, 300, 500])
def test_a_digest_whose_quotations_are_short_says_sentences_as_any_other_does(chars):
    """The summary and the key points have sentences that are longer than its quotations may be."""
    tide = " ".join(f"in tide {number} of the year, and" for number in range(14))
    text = read(f"The board met in May. The ferry runs {tide} costs four crowns.\n\nThe ferry {tide * 2} is free.\n")
    payload = digest_text(text, "What does the ferry cost?", DigestPolicy(snippet_chars=chars))
    assert "costs four crowns." in payload.summary
    assert verify(payload, text).unfound == ()


NOTICE = (
    "The board met in May.\nIt is not true that the supplier may end the contract without any notice.\n"
    "Nobody ever agreed that the price is nine crowns for a year.\n"
)
OPENING = {"text": "The board met in May.", "locator": "char:0-21", "relevance_score": 1.0}


@pytest.mark.parametrize("quotations", [[], [OPENING]])
def test_how_long_a_sentence_must_be_to_be_cut_is_not_taken_from_the_digest(quotations):
    """Who takes the quotations out, or leaves a short one, may not say a part of a sentence for it."""
    text = read(NOTICE)
    data = digest_text(text, "May the supplier end the contract?").model_dump()
    part = "the supplier may end the contract without any notice."
    false = DigestPayload(**{**data, "evidence_snippets": quotations, "summary": part, "key_points": []})
    assert [one.text for one in verify(said(false), text).unfound] == [part]


SHORT = (
    "# Fares\n\n- dogs: two\n- cats: one\n\n* A bicycle, which goes\n  on the deck.\n\n> Bells ring at noon.\n\n"
    "| who | price |\n|---|---|\n| child | 3 |\n| adult | 30 |\n\nEr sagte: „Das ist falsch.“ Danach ging er fort.\n"
)
"""Items, rows and a heading of a word or two, as tables and lists have them."""


@pytest.mark.parametrize(
    "claim",
    [
        *("Fares", "# Fares", "dogs: two", "- dogs: two", "cats: one", "* A bicycle, which goes on the deck."),
        *("Bells ring at noon.", "| child | 3 |", "Er sagte: „Das ist falsch.“", "dogs: two cats: one"),
    ],
)
def test_a_short_line_is_said_by_itself_with_its_mark_or_without(claim):
    text = read(SHORT, name="a.md")
    assert verify(said(digest_text(text, "dogs"), summary=claim, key_points=[]), text).unfound == ()


@pytest.mark.parametrize("claim", ["dogs: one", "| child | 30 |", "Das ist falsch.", "A bicycle", "child | 3"])
def test_a_part_of_a_short_line_or_parts_of_two_are_not_what_the_text_says(claim):
    text = read(SHORT, name="a.md")
    assert verify(said(digest_text(text, "dogs"), summary=claim, key_points=[]), text).unfound


@pytest.mark.parametrize("locator", ["char:3-3", "char:21-22"])
def test_a_quotation_of_nothing_does_not_hold(locator):
    text = read(NOTICE)
    payload = digest_text(text, "May the supplier end the contract?")
    empty = {"text": "\n" if locator == "char:21-22" else "", "locator": locator, "relevance_score": 1.0}
    false = DigestPayload(**{**payload.model_dump(), "evidence_snippets": [empty]})
    assert verify(said(false), text).mismatch.message == "evidence_snippets[0]: nothing is quoted"


@pytest.mark.parametrize(
    ("name", "false"), [("original_chars", 9_999_999), ("digest_chars", 1), ("compression_ratio", 0.0001)]
)
def test_a_count_that_is_false_is_named(name, false):
    text = read(NOTICE)
    payload = digest_text(text, "May the supplier end the contract?")
    assert verify(payload, text)
    assert verify(payload.model_copy(update={name: false}), text).mismatch.field == name


@pytest.mark.parametrize("short", ["gem.", "insb.", "einschl.", "acc.", "esp."])
def test_no_sentence_begins_behind_a_word_that_is_cut_short(short):
    text = read(f"# Fähre\n\nDer Hafen ist alt. Es ist nicht wahr, dass {short} Paragraph fünf die Fähre sicher ist.\n")
    payload = digest_text(text, f"Ist {short} Paragraph fünf die Fähre sicher?")
    assert "nicht wahr" in payload.summary
    assert verify(said(payload, summary="Paragraph fünf die Fähre sicher ist."), text).unfound
