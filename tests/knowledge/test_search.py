"""Search: what is found, in which order, with which scores, and what is said when nothing is."""

from __future__ import annotations

import time
import unicodedata
from dataclasses import replace

import numpy as np
import pytest

from aerogram.dialects import dialect
from aerogram.dialects.knowledge_v1 import (
    SearchResultFull,
    SearchResultIDs,
    SearchResultMetadata,
    SearchResultPreview,
)
from aerogram.errors import InvalidFields, NotFound
from aerogram_knowledge import Knowledge, NoEmbedder
from aerogram_knowledge.filters import Filters
from aerogram_knowledge.lexicon import index_terms
from aerogram_knowledge.search.copies import repetitions
from aerogram_knowledge.search.fusion import trust_in_meaning
from aerogram_knowledge.search.suggestions import suggest
from aerogram_knowledge.store import Candidates


def files(reply):
    return [row["source_file"] for row in reply.data]


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("How long is an access token valid?", "guides/token.md"),
        ("what to do with a stolen credential", "guides/token.md"),
        ("storing apples", "farm/harvest.md"),
        ("有効期限", "ja/token.md"),
        ("トークンの更新", "ja/token.md"),
        ("Frist für den Vertrag", "de/vertrag.md"),
        ("vertrage kundigen", "de/vertrag.md"),
    ],
)
def test_a_question_finds_its_document(shared_small, query, path):
    assert files(shared_small.search(query))[0] == path


def test_words_in_other_forms_are_found(shared_small):
    """Stems per language: neither `picking apple` nor `Vertrag` stands in a document as it is."""
    assert files(shared_small.search("picking apple", method="bm25"))[0] == "farm/harvest.md"
    assert files(shared_small.search("Vertrag", method="bm25"))[0] == "de/vertrag.md"


def test_a_word_that_a_question_comes_back_to_counts_each_time(write, index):
    index.ingest(write({"a.md": "# Pears\n\nGreen pears.\n", "b.md": "# Cellars\n\nCold cellars.\n"}))
    for wanted, other, path in (("pear", "cellar", "a.md"), ("cellar", "pear", "b.md")):
        question = f"a {other}, a {wanted}, and that {wanted} again"
        assert files(index.search(question, method="bm25"))[0] == path


def test_a_rare_word_decides_over_what_the_rest_of_the_question_means(write, index):
    notes = {
        f"{n}.md": f"# Printing {n}\n\nTo print a number, write it with a format; numbers are printed as text {n}.\n"
        for n in range(60)
    }
    index.ingest(write({**notes, "zod.md": "# Schemas\n\nWith zod a form is checked before it is sent.\n"}))
    assert files(index.search("zod: how is a number printed?"))[0] == "zod.md"


@pytest.mark.parametrize("query", ['"cold cellar" apples', "apples in a «cold  Cellar»"])
def test_a_phrase_between_quotation_marks_stands_first(write, index, query):
    scattered = "# Apples\n\nApples: a cellar for apples, apples in the cellar; cold apples, cold cellars.\n"
    index.ingest(write({"a.md": scattered, "b.md": "# Storage\n\nEverything goes into the cold\ncellar.\n"}))
    assert files(index.search(query))[0] == "b.md"
    assert files(index.search(query.translate(str.maketrans("", "", '"«»'))))[0] == "a.md"


def test_a_name_in_latin_letters_finds_what_is_written_in_them_first(write, index):
    """In the shorter text the name counts for more, but whoever asks may not be able to read that one."""
    english = "Every night cron-apt fetches the lists of packages and tells you by mail what is new in them since then."
    russian, japanese = "Пакет cron-apt загружает обновления каждую ночь.", "cron-apt は更新を取得します。"
    documents = {"en.md": f"# Updates\n\n{english}\n", "ru.md": f"# Обновления\n\n{russian}\n"}
    index.ingest(write({**documents, "ja.md": f"# 更新\n\n{japanese}\n"}))
    assert files(index.search("cron-apt", method="bm25"))[0] != "en.md"
    found = index.search("cron-apt")
    assert files(found)[0] == "en.md"
    assert len(found.data) == 3
    assert files(index.search("обновления cron-apt"))[0] == "ru.md"
    assert files(index.search("cron-apt 更新"))[0] == "ja.md"
    walked, cursor = [], None
    for _ in found.data:
        page = index.search("cron-apt", page_size=1, cursor=cursor)
        walked, cursor = [*walked, *page.data], page.page.cursor
    assert [(row["chunk_id"], row["hybrid_score"]) for row in walked] == [
        (row["chunk_id"], row["hybrid_score"]) for row in found.data
    ]


def test_a_name_in_latin_letters_counts_in_full_where_nothing_else_is_found(write, index):
    index.ingest(write({"ru.md": "# Обновления\n\nПакет cron-apt.\n"}))
    (latin,), (both,) = (index.search(query).data for query in ("cron-apt", "пакет cron-apt"))
    assert latin["hybrid_score"] >= 0.8 * both["hybrid_score"] > 0


def test_what_says_again_what_stands_above_it_comes_behind_what_is_new(write, index):
    """The same text as a page and as plain text is cut at other places, so no chunk is a copy of another."""
    told = "The keeper of the lighthouse trims the lamp at dusk, and in a storm he rings the bell of the lighthouse."
    rest = "Nobody has seen the boat of the lighthouse since."
    page = f"<h1>Keeper</h1><p>{told}</p><p>{rest}</p>"
    other = "# Paint\n\nWhite paint for a lighthouse is sold by the bucket.\n"
    folder = write({"keeper.html": page, "keeper.txt": f"Keeper of the lighthouse\n\n{told}\n", "paint.md": other})
    index.ingest(folder)
    reply = index.search("the keeper of the lighthouse")
    assert files(reply)[1:] == ["paint.md", {"keeper.html": "keeper.txt"}.get(files(reply)[0], "keeper.html")]
    scores = [row["hybrid_score"] for row in reply.data]
    assert scores == sorted(scores, reverse=True)
    walk = [index.search("the keeper of the lighthouse", page_size=1)]
    while walk[-1].page.has_more:
        walk.append(index.search("the keeper of the lighthouse", page_size=1, cursor=walk[-1].page.cursor))
    assert [files(one)[0] for one in walk] == files(reply)


def test_what_the_best_results_have_in_common_is_looked_for_as_well(write, tmp_path):
    """Ten notes on a subject say lamp and keeper; of two others with one word of the question, one does too."""
    subject = {
        f"{n}.md": f"# Note {n}\n\nThe lighthouse at pier {n} has a lamp and a keeper, and a storm came.\n"
        for n in range(12)
    }
    others = {
        "x.md": "# X\n\nIn a storm somebody walked the dog early.\n",
        "y.md": "# Y\n\nIn a storm a keeper lit the lamp.\n",
    }
    fillers = {f"f{n}.md": f"# Filler {n}\n\nBread number {n} is baked at dawn with rye.\n" for n in range(40)}
    with Knowledge(tmp_path / "words", embedder=NoEmbedder()) as index:
        index.ingest(write({**subject, **others, **fillers}))
        question = "Which lighthouse stood in a storm on rocks that ships wrecked upon?"
        by_words = files(index.search(question, method="bm25", page_size=50))
        both = files(index.search(question, page_size=50))
        assert by_words.index("x.md") < by_words.index("y.md")
        assert both.index("y.md") < both.index("x.md")


def test_meaning_finds_what_shares_no_word(shared_small):
    reply = shared_small.search("password theft", method="vector")
    assert files(reply)[0] == "guides/token.md"
    assert shared_small.search("password theft", method="bm25").status == "empty"


@pytest.mark.parametrize(
    ("mode", "model"),
    [
        ("ids_only", SearchResultIDs),
        ("metadata", SearchResultMetadata),
        ("preview", SearchResultPreview),
        ("full", SearchResultFull),
    ],
)
def test_each_mode_is_a_record_of_the_contract(shared_small, mode, model):
    reply = shared_small.search("token", response_mode=mode)
    assert reply.data
    for row in reply.data:
        model.model_validate(row, strict=True)
        assert set(row) <= set(model.model_fields)
    dialect("knowledge-1.0").validate(dialect("knowledge-1.0").encode(reply.complete()))


def test_only_the_fields_that_were_asked_for_are_shown(shared_small):
    wanted = ["chunk_id", "source_file", "confidence"]
    for how in ({"about": True}, {"response_mode": "full"}):
        assert list(shared_small.search("token", fields=wanted, **how).data[0]) == wanted
    for wrong in ("chunk_text", "confidence", "also_in"):
        with pytest.raises(InvalidFields) as refused:
            shared_small.search("token", fields=[wrong])
        assert "source_file" in refused.value.details["allowed_fields"]


def test_scores_are_shares_that_order_the_results(shared_small):
    rows = shared_small.search("How long is an access token valid?", response_mode="full").data
    scores = [row["hybrid_score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= row[name] <= 1 for row in rows for name in ("hybrid_score", "bm25_score", "similarity_score"))
    assert rows[0]["bm25_score"] > rows[-1]["bm25_score"]
    assert all(len(str(score)) <= len("0.123") for score in scores)
    assert {row["score_type"] for row in rows} == {"hybrid"}


def test_a_score_does_not_depend_on_the_page(shared_small):
    whole = shared_small.search("token apples", page_size=50).data
    single = []
    cursor = None
    while True:
        reply = shared_small.search("token apples", page_size=1, cursor=cursor)
        single += reply.data
        cursor = reply.page.cursor
        if cursor is None:
            break
    assert single == whole


def test_a_better_match_has_a_higher_word_score(shared_small):
    """The whole question in one sentence says more than one word of it."""
    one = shared_small.search("fifteen zebras gallop", response_mode="full").data[0]
    all_ = shared_small.search("access token valid fifteen minutes", response_mode="full").data[0]
    assert all_["bm25_score"] > one["bm25_score"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"category": "security"}, ["guides/token.md"]),
        ({"category": ["Security", "farm"]}, ["guides/token.md", "farm/harvest.md"]),
        ({"path": "farm"}, ["farm/harvest.md"]),
        ({"path": "farm/harvest.md"}, ["farm/harvest.md"]),
        ({"license": "cc-by-4.0"}, ["guides/token.md"]),
        ({"after": "2026-05-01", "before": "2026-05-01"}, ["guides/token.md"]),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["hybrid", "vector", "bm25"])
def test_filters_hold_for_words_and_for_meaning(shared_small, filters, expected, method):
    found = set(
        files(shared_small.search("token apples credential cellar", filters=filters, method=method, page_size=50))
    )
    assert found
    assert found <= set(expected)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_filters_take_a_letter_and_its_accent_as_one_or_as_two(write, index, form):
    """Some systems take the letters of file names apart, and whoever asks writes them as one."""
    name, asked = unicodedata.normalize("NFD", "Verträge/Kündigung.md"), unicodedata.normalize(form, "verträge")
    index.ingest(
        write({name: "# Lease\n\nA lease ends in May.\n", "other/a.md": "# Lease\n\nA lease begins in May.\n"})
    )
    for filters in ({"path": asked}, {"category": asked}):
        for method in ("bm25", "vector", "hybrid"):
            found = index.search("lease", filters=filters, method=method).data
            assert [row["source_file"] for row in found] == [name]


def test_an_answer_without_results_says_why(small, tmp_path):
    assert small.search("xylophone", method="bm25").empty_reason == "no_match"
    narrow = small.search("apples", filters={"category": "security", "after": "2027-01-01"})
    assert (narrow.empty_reason, narrow.retry_with) == ("filters_too_narrow", {"query": "apples"})
    blocked = small.search("token", filters={"license": "MIT", "category": "security"})
    assert blocked.empty_reason == "license_blocked"
    assert blocked.retry_with == {"query": "token", "filters": {"category": ["security"]}}
    assert blocked.actions[0].args == blocked.retry_with
    with Knowledge(tmp_path / "nothing") as empty:
        assert empty.search("token").empty_reason == "source_unavailable"


def test_terms_that_nobody_has_are_echoed_and_left_out_of_the_retry(shared_small):
    reply = shared_small.search("token xylophone")
    assert reply.query_echo.unparsed_terms == ("xylophone",)
    assert reply.query_echo.normalized_input == {"query": "token xylophone"}
    nothing = shared_small.search("xylophone zither", method="bm25")
    assert nothing.query_echo.unparsed_terms == ("xylophone", "zither")


def test_what_is_gone_from_the_index_weighs_nothing(write, index, tmp_path):
    """Neither as a term that some document has, nor in what finding a term is worth."""
    days = {f"{day}.md": f"# Day {day}\n\nA token is valid for {day} days of harvest.\n" for day in range(20)}
    folder = write({**days, "zebra.md": "# Zebra\n\nA zebra has stripes and no token.\n"})
    index.ingest(folder)
    assert index.search("zebra").data
    for name in ("zebra.md", *list(days)[3:]):
        (folder / name).unlink()
    index.ingest(folder)
    gone = index.search("zebra stripes", method="bm25")
    assert (gone.empty_reason, gone.query_echo.unparsed_terms) == ("no_match", ("zebra", "stripes"))
    with Knowledge(tmp_path / "fresh") as fresh:
        fresh.ingest(folder)
        scores = [
            {one["source_file"]: one["bm25_score"] for one in held.search("token valid", response_mode="full").data}
            for held in (index, fresh)
        ]
    assert scores[0] == pytest.approx(scores[1], abs=0.02)


def test_a_misspelt_name_of_a_document_is_spelt_right_in_the_retry(shared_small):
    for asked, filters, retry in (
        ("harvst", {}, {"query": "harvest"}),
        ("Harvst xyzzy", {}, {"query": "harvest"}),
        ("harvst", {"category": "farm"}, {"query": "harvest", "filters": {"category": ["farm"]}}),
        ("harvst", {"category": "security"}, {"query": "harvest"}),
        ("xylophone", {}, None),
    ):
        reply = shared_small.search(asked, filters=filters, method="bm25")
        assert (reply.empty_reason, reply.retry_with) == ("no_match", retry), asked
        if retry:
            assert shared_small.search(**retry, method="bm25").data


def test_what_a_gate_withholds_is_not_named_in_a_retry(small, where):
    with Knowledge(where, withheld_licenses=["CC-BY-4.0"]) as gated:
        assert small.search("gides", method="bm25").retry_with == {"query": "guides"}
        assert gated.search("gides", method="bm25").retry_with is None


def test_a_query_of_strange_words_does_not_hold_each_of_them_against_every_name():
    strange = [f"{number:04}zyxwvu" for number in range(48)]
    names = [f"name{number}" for number in range(10_000)]

    def work(count):
        started = time.process_time()
        query = " ".join(strange[:count])
        assert suggest(query, Filters(), strange[:count], lambda *_: False, lambda: names) == {}
        return time.process_time() - started

    assert work(48) < 12 * work(1)


def test_a_query_of_strange_words_finds_nothing_rather_than_anything(shared_small):
    assert shared_small.search("zzyzx qwrtp").status == "empty"


def test_weak_results_carry_a_warning(shared_small):
    reply = shared_small.search("cellar xylophone zither trombone quintet", method="bm25")
    assert [notice.code for notice in reply.notices] == ["LOW_QUALITY_RESULTS"]
    half_meant = shared_small.search("token zebras xylophones")  # one of its words is found, and all by itself
    assert [notice.code for notice in half_meant.notices] == ["LOW_QUALITY_RESULTS"]
    assert shared_small.search("access token lifetime").notices == ()


def test_the_next_calls_come_filled_in(shared_small):
    reply = shared_small.search("access token lifetime")
    fetch, condense = reply.actions
    assert fetch.tool == "get_chunks"
    got = shared_small.chunks(fetch.args["chunk_ids"])
    assert [row["chunk_id"] for row in got.data] == [row["chunk_id"] for row in reply.data[:3]]
    assert condense.args == {"source_file": reply.data[0]["source_file"], "query": "access token lifetime"}


def test_the_same_query_has_the_same_answer_until_the_index_changes(small, write):
    first, again = small.search("token", page_size=50), small.search("token", page_size=50)
    assert first == again
    write({"new.md": "# New\n\nA token of esteem.\n"})
    small.ingest()
    assert "new.md" in files(small.search("token", page_size=50))


def test_a_language_that_is_new_to_the_index_is_searched_at_once(write, index):
    index.ingest(write({"a.md": "# Pears\n\nPears are green and they are ripe in the autumn of the year.\n"}))
    assert index.search("Vertrag", method="bm25").status == "empty"
    write({"b.md": "# Kündigung\n\nDie Verträge werden von uns mit einer Frist von drei Monaten gekündigt.\n"})
    index.ingest()
    assert files(index.search("Vertrag", method="bm25")) == ["b.md"]


def test_an_index_of_words_alone_needs_no_embedder(write, tmp_path):
    with Knowledge(tmp_path / "words", embedder=NoEmbedder()) as index:
        index.ingest(write({"a.md": "# Pears\n\nPears are green.\n"}))
        assert files(index.search("green pear")) == ["a.md"]


def test_chunks_are_given_by_id_and_missing_ones_are_told(shared_small):
    one = shared_small.search("apples").data[0]["chunk_id"]
    reply = shared_small.chunks([one, 999_999])
    assert reply.status == "partial"
    assert reply.notices[0].context == {"missing_ids": [999_999]}
    assert reply.data[0]["chunk_text"].startswith("Apples are picked")
    with pytest.raises(NotFound):
        shared_small.chunks([999_999])


async def test_a_document_is_digested_for_a_question(small):
    reply = await small.digest("guides/token.md", "How long is an access token valid?")
    assert reply.operation == "digest_document"
    assert "fifteen minutes" in str(reply.data["sources"][0])
    assert reply.citations[0].title == "Token Guide"
    with pytest.raises(NotFound):
        await small.digest("../secret.md", "anything")


HINDI = "# दिल्ली\n\nदिल्ली भारत की राजधानी है। यमुना नदी के किनारे बसे इस शहर में बहुत सी पुरानी इमारतें हैं।\n"
ARABIC = "# الرباط\n\nالرِّباط عاصمة المغرب، وهي مدينة على ساحل المحيط الأطلسي. تأسست المدينة في القرن الثاني عشر.\n"
RUSSIAN = "# Нева\n\nНева течёт через Санкт-Петербург. На её берегах стоят дворцы и старые мосты.\n"


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("पुरानी इमारत", "hi.md"),
        ("राजधानी", "hi.md"),
        ("عاصمة", "ar.md"),
        ("المدينة", "ar.md"),
        ("старый мост", "ru.md"),
    ],
)
def test_words_of_other_scripts_are_found_in_other_forms(write, index, query, path):
    index.ingest(write({"hi.md": HINDI, "ar.md": ARABIC, "ru.md": RUSSIAN}))
    assert files(index.search(query, method="bm25"))[0] == path
    assert index.store.moment().languages == {"hi", "ar", "ru"}


CODE = "Sub ExampleError\nDim lineNumber As Integer\nPrint Erl\nMsgBox lineNumber\nEnd Sub\n" * 8
KOREAN = f"# Erl\n\n프로그램 실행 도중에 오류가 발생한 줄 번호를 표시합니다. 줄 번호만 표시합니다.\n\n{CODE}"
ENGLISH = "# Greetings\n\nIn Seoul the word for it is 안녕하세요, and in the north of the land they say it as well.\n"


def test_a_page_is_in_the_language_of_its_prose_not_of_its_code_or_of_a_word_that_it_cites(write, index):
    index.ingest(write({"erl.md": KOREAN, "greetings.md": ENGLISH}))
    assert [index.store.chunks_of(path)[0].language for path in ("erl.md", "greetings.md")] == ["ko", "en"]


def test_meaning_is_trusted_as_much_in_a_large_index_as_in_a_part_of_it():
    """Twelve times as many chunks stand twelve times as densely, so the fiftieth of them says less."""
    closeness = np.float32(0.6) - 0.5 * np.sqrt(np.arange(30_000, dtype=np.float32) / 30_000)
    large = Candidates(np.arange(30_000), np.zeros(30_000, np.float32), closeness)
    part = Candidates(np.arange(2_500), np.zeros(2_500, np.float32), closeness[::12])
    assert trust_in_meaning(large, 1.0, 30_000) == pytest.approx(trust_in_meaning(part, 1.0, 2_500), rel=0.05)
    close = replace(large, meaning=0.6 - 0.5 * (0.6 - closeness))
    assert trust_in_meaning(close, 1.0, 30_000) < trust_in_meaning(large, 1.0, 30_000)


def test_a_word_is_worth_the_same_in_every_language_that_has_a_form_of_it(write, index):
    """A German page cites one word, whose stem there is another one; that it is the only one makes it no rarer."""
    pages = {
        f"en{n}.md": f"# Chapter {n}\n\nRemoving the packages of set {n} is what this is for.\n" for n in range(30)
    }
    pages |= {f"in{n}.md": f"# Store {n}\n\nThe archive {n} of it is on this and that disk.\n" for n in range(5)}
    both = "# Both\n\nRemoving the packages and the archive is what they do.\n"
    german = "# Wort\n\nDas Wort Removing steht auch auf dieser Seite, und nicht mehr als das ist mit ihm.\n"
    index.ingest(write({**pages, "both.md": both, "wort.md": german}))
    assert files(index.search("archive removing", method="bm25"))[0] == "both.md"


STALE = "Stale archives were removed by the keepers"
MIXED = {
    "ja": f"# パッケージ\n\nこの文書ではシステムの管理について説明します。\n\n{STALE}.\n",
    "ru": f"# Пакеты\n\nВ этом документе описано управление системой.\n\n{STALE}.\n",
    "de": (
        "# Pakete\n\nHier ist die Verwaltung mit allem beschrieben, was es gibt, und auch das, was nicht mit ihr geht, "
        "wie es die Leser von dem Handbuch wollen und wie es auf der Seite ist.\n\n## Archive\n\n"
        f"{STALE}, and they were not seen.\n"
    ),
}


@pytest.mark.parametrize("language", MIXED)
def test_what_is_in_english_in_a_document_of_another_language_is_found_in_other_forms(write, index, language):
    index.ingest(write({"manual.md": MIXED[language], "other.md": "# Pears\n\nPears are green and they are ripe.\n"}))
    assert index.store.moment().languages == {language, "en"}
    for query in ("removing", "keeper"):
        assert files(index.search(query, method="bm25"))[0] == "manual.md"


ASKED = {
    "ko": (
        "LVM은 무엇을 할 수 있나요?",
        "LVM은 여러 파티션을 하나로 합칩니다.",
        "이 책은 무엇을 할 수 있나요? 읽을 수 있나요?",
    ),
    "ja": ("preseed とは何ですか", "preseed は質問に答えておく方法。", "この本とは何ですか。誰の本とは何ですか。"),
    "zh": ("如何安装内核", "安装内核需要时间。", "如何读书？如何写字？如何如何。"),
    "ru": ("для чего нужен quilt", "Программа quilt хранит правки.", "Для чего нужен этот дом? Для чего нужен сад?"),
    "de": (
        "wie finde ich meine Schlüssel",
        "Die Schlüssel hängen an der Wand.",
        "Ich finde meine Ruhe und finde meinen Weg.",
    ),
}


@pytest.mark.parametrize("language", ASKED)
def test_the_words_with_which_people_ask_find_nothing(write, index, language):
    question, answer, asking = ASKED[language]
    index.ingest(write({"answer.md": f"# A\n\n{answer}\n", "asking.md": f"# B\n\n{asking}\n"}))
    assert files(index.search(question, method="bm25")) == ["answer.md"]


def test_a_question_finds_documents_in_its_own_language_first(write, index):
    """The name stands more often in the others."""
    english = "# Setup\n\nThe configuration of quilt is in this file, and it is read at the start of the program.\n"
    german = "# Quilt\n\nDie Datei von quilt ist für quilt da, und quilt liest sie mit dem Start von quilt ein.\n"
    french = (
        "# Quilt\n\nLe fichier de quilt est pour quilt, et quilt le lit dans le dossier de quilt avec les autres.\n"
    )
    index.ingest(write({"en.md": english, "de.md": german, "fr.md": french}))
    for question, path in (
        ("where is the quilt stuff that it has", "en.md"),
        ("wo ist das quilt und was ist es", "de.md"),
        ("où sont les quilt dans ce et avec", "fr.md"),
    ):
        assert files(index.search(question))[0] == path


@pytest.mark.parametrize("query", ["apples", "xyzzy"])
def test_a_wrong_field_is_refused_whether_anything_is_found_or_not(shared_small, query):
    with pytest.raises(InvalidFields):
        shared_small.search(query, method="bm25", fields=["false"])


def test_plain_texts_have_the_same_words_as_those_with_other_signs():
    """A text in ASCII is cut between its words, any other is looked through for them."""
    plain = f"snake_case x-ray 3.5% {'z' * 130}\tend.\x1fstop"
    assert index_terms(plain, "en") == index_terms(f"{plain} „“", "en")
    assert ["z" * length for length in (64, 64, 2)] == [one for one in index_terms(plain, "en") if "zz" in one]
    said = "Every some_thing keeper writes down weather, harbour and passing vessels."
    assert repetitions([said, f"„{said}“"]) == [1]
    assert repetitions([f"„{said}“", said.upper()]) == [1]
