"""Evidence: passages that bear on the question, whole, apart, and honestly scored."""

import re
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aerogram.digest import DigestPolicy, Locator, digest_text, read, verify
from aerogram.digest.terms import fold
from digest_quality import document, questions


def snippets(text, query, **options):
    return digest_text(read(text), query, **options).evidence_snippets


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("What does a ticket cost?", "A ticket costs four crowns"),
        ("ferries leaving", "The ferry leaves Holm"),
        ("How thick may the ice be?", "Ice thicker than twenty centimetres"),
        ("WHO SELLS COFFEE", "Coffee is sold by the harbour master"),
    ],
)
def test_the_query_decides_what_comes_first(ferry, query, expected):
    assert expected in snippets(ferry, query)[0].text.replace("\n", " ")


LANGUAGES = {
    "ja": ("犬は庭にいる。猫は屋根で眠る。鳥は木で歌う。魚は池で泳ぐ。", "猫はどこで眠りますか"),
    "zh": ("狗在院子里。猫在屋顶上睡觉。鸟在树上唱歌。鱼在池塘里游。", "猫在哪里睡觉？"),
    "ko": ("개는 마당에 있습니다. 고양이는 지붕에서 잡니다. 새는 노래합니다.", "고양이가 어디에서 자나요?"),
    "de": ("Der Hund liegt im Hof. Die Häuser haben rote Dächer. Der Vogel singt.", "Welches Haus hat ein Dach?"),
    "ru": ("Собака лежит во дворе. Кошки спят на крыше. Птица поёт на дереве.", "Где спит кошка?"),
}
ANSWERS = {
    "ja": "猫は屋根で眠る。",
    "zh": "猫在屋顶上睡觉。",
    "ko": "고양이는 지붕에서 잡니다.",
    "de": "Die Häuser haben rote Dächer.",
    "ru": "Кошки спят на крыше.",
}


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_inflected_and_unspaced_languages_are_understood(language):
    text, query = LANGUAGES[language]
    assert ANSWERS[language] in snippets(text, query, policy=DigestPolicy(snippet_chars=40))[0].text


def test_what_has_nothing_to_do_with_the_question_is_not_offered(ferry):
    assert snippets(ferry, "quantum chromodynamics") == []
    assert snippets(ferry, "") == []


def test_scores_tell_a_full_match_from_a_faint_one(ferry):
    full = snippets(ferry, "the waiting room is heated with driftwood")[0].relevance_score
    faint = snippets(ferry, "heated debates about parliament, budgets and taxes")[0].relevance_score
    assert full > 0.9
    assert 0 < faint < 0.3


@settings(deadline=None)  # a document is read when it is first asked about
@given(st.sampled_from(questions("tuning")), st.integers(80, 500))
def test_snippets_are_exact_whole_apart_and_within_the_limit(question, limit):
    text = document(question["document"])
    payload = digest_text(text, question["question"], DigestPolicy(snippet_chars=limit))
    assert verify(payload, text)
    spans = []
    for snippet in payload.evidence_snippets:
        place = Locator.parse(snippet.locator)
        assert text.paged == (place.page is not None)
        assert 0 < len(snippet.text) <= limit
        assert snippet.text == snippet.text.strip()
        assert 0 < snippet.relevance_score <= 1
        spans.append((place.page or 0, place.start, place.end))
    for one, other in zip(sorted(spans), sorted(spans)[1:], strict=False):
        assert one[0] != other[0] or one[2] <= other[1]
    scores = [snippet.relevance_score for snippet in payload.evidence_snippets]
    assert scores == sorted(scores, reverse=True)


def test_sentences_are_whole_across_abbreviations_ordinals_and_wrapped_lines():
    text = "Am 3. Mai kam Dr. Wiese, z. B. mit\ndem Rad. Danach regnete es. Er kaufte ca. 5 Kilo Brot."
    found = snippets(text, "Wann kam Wiese mit dem Rad?", policy=DigestPolicy(snippet_chars=60))
    assert found[0].text == "Am 3. Mai kam Dr. Wiese, z. B. mit\ndem Rad."


@pytest.mark.parametrize("gap", ["", " "], ids=["close", "apart"])
def test_sentences_of_khmer_end_at_their_own_mark_and_so_on_is_in_one_piece(gap):
    dogs, cats = "ឆ្កែដេកនៅក្នុងសួនច្បារធំ", "ឆ្មាដេកនៅលើដំបូល ឬដើមឈើ ។ល។"
    best, *_ = snippets(f"{dogs}{gap}។{gap}{cats}{gap}{dogs}{gap}។", "ដំបូល", policy=DigestPolicy(snippet_chars=40))
    assert best.text == cats


def test_a_table_row_comes_with_its_columns_and_a_heading_lends_its_words():
    rows = "\n".join(f"| part {n} | {n * 7} kg | shelf {n % 5} |" for n in range(60))
    text = f"# Store\n\nWords about the store.\n\n| name | weight | place |\n|---|---|---|\n{rows}\n"
    assert "| part 41 | 287 kg | shelf 1 |" in snippets(text, "weight of part 41")[0].text
    sections = "\n\n".join(
        f"## {name}\n\nIt is open from {n} o'clock on." for n, name in enumerate(["Bath", "Library", "Mill"])
    )
    assert "2 o'clock" in snippets(sections, "When does the mill open?")[0].text


def test_folding_keeps_every_place():
    for code in range(0x110000):
        if not 0xD800 <= code <= 0xDFFF:
            assert len(fold(chr(code))) == 1


def _train(corpus, size=8):
    """A real, if small, model of meaning: words by the words they share sentences with, reduced to `size` numbers."""
    words = sorted({word for line in corpus for word in line.lower().split()})
    place = {word: number for number, word in enumerate(words)}
    counts = np.zeros((len(words), len(words)))
    for line in corpus:
        for one in line.lower().split():
            for other in line.lower().split():
                counts[place[one], place[other]] += 1
    left, strength, _ = np.linalg.svd(np.log1p(counts))
    vectors = left[:, :size] * strength[:size]

    def embed(texts):
        found = [
            [vectors[place[w]] for w in t.lower().replace(".", "").replace("?", "").split() if w in place]
            for t in texts
        ]
        return np.array([np.mean(rows, axis=0) if rows else np.zeros(size) for rows in found])

    return embed


def test_an_embedding_finds_what_shares_no_word_with_the_question():
    corpus = [
        "physician doctor hospital illness", "doctor hospital nurse illness", "physician nurse hospital",
        "boat ship harbour sail", "ship captain harbour", "boat captain sail",
        "bread oven flour", "oven dough bread", "flour dough baker",
    ]  # fmt: skip
    text = "The captain left the harbour.\n\nThe doctor was in the hospital.\n\nThe baker made dough."
    assert snippets(text, "physician?") == []
    found = snippets(text, "physician?", embed=_train(corpus))
    assert "doctor" in found[0].text
    assert verify(digest_text(read(text), "physician?", embed=_train(corpus)), read(text))


def test_an_embedding_that_finds_everything_a_little_alike_brings_no_filler(ferry):
    def faint(texts):
        return [[1.0, 0.0], *([0.2, 1.0] for _ in texts[1:])]

    assert snippets(ferry, "quantum chromodynamics", embed=faint) == []
    assert snippets(ferry, "quantum chromodynamics", embed=lambda texts: [[float("nan")] * 2 for _ in texts]) == []


CODE = (
    '# Exports\n\n## Starting\n\n```http\nPOST /v1/exports\n{"resource": "orders"}\n```\n\nThe answer has a job id.\n'
)


@pytest.mark.parametrize("question", ["POST", "exports orders", "POST id"])
def test_a_passage_that_begins_or_ends_with_code_has_the_fence_beside_it(question):
    texts = [one.text for one in snippets(CODE, question)]
    assert any("```http" in text for text in texts)
    assert all(text in CODE and text.count("```") % 2 == 0 for text in texts)


LINE = "    total += price_of(order, {n})  # step {n} of the ledger\n"
SHORT = "```python\ndef ledger(order):\n    total = 0\n    return total  # zebra\n```\n"
LONG = "```python\ndef ledger(order):\n" + "".join(LINE.format(n=n) for n in range(40)) + "    return zebra\n```\n"
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)


def open_at_end(markdown):
    """Whether a text of Markdown leaves a block of code open, by the rules of CommonMark."""
    fence = ""
    for mark, said in FENCE.findall(markdown):
        if not fence:
            fence = mark
        elif mark[0] == fence[0] and len(mark) >= len(fence) and not said.strip():
            fence = ""
    return bool(fence)


def test_a_passage_from_inside_a_short_block_of_code_reaches_back_to_its_fence():
    (found,) = snippets(f"# Ledger\n\nHow it is done.\n\n{SHORT}\nIt is kept for a year.\n", "zebra")
    assert found.text.startswith("```python\ndef ledger(order):\n    total = 0\n    return total # zebra\n```\n")


def test_a_passage_from_inside_a_long_block_of_code_has_neither_of_its_fences():
    for question in ("zebra", "ledger order", "step 3"):
        for found in snippets(f"# Ledger\n\n{LONG}\nIt is kept for a year.\n", question):
            assert "```" not in found.text
            assert found.text in read(LONG).text


def test_what_a_fence_cuts_off_is_a_passage_of_its_own():
    found = snippets(f"{LONG}\nAfterwards the zebra sleeps.\n", "zebra")
    assert {one.text for one in found} == {"return zebra", "Afterwards the zebra sleeps."}
    (best,) = snippets(f"{LONG}\nAfterwards the zebra sleeps.\n", "zebra", policy=DigestPolicy(snippets=1))
    assert "zebra" in best.text


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (f"The zebra is here.\n\n{LONG}", "zebra ledger"),
        (f"{LONG}\nThe zebra is here.\n", "return zebra"),
        (f"{LONG}\n{LONG.replace('python', 'text')}", "return zebra ledger order"),
        (f"The zebra.\n\n````md\n{SHORT}````\n\nThe zebra again.\n", "zebra total"),
        (f"The zebra.\n\n~~~\n{SHORT}~~~\n\nThe zebra again.\n", "zebra total"),
        ("The zebra.\n\n```\nzebra = 1\n\nand the fence is never closed, zebra\n", "zebra"),
    ],
)
def test_a_passage_never_has_one_fence_without_the_other(text, question):
    found = snippets(text, question)
    assert found
    assert not any(open_at_end(one.text) for one in found)
    assert verify(digest_text(read(text), question), read(text))


BLOCK = st.sampled_from(["```", "```sh", "````", "~~~", "   ```"])
WORDS = st.sampled_from(
    ["zebra", "zebra crossing.", "The ledger is here. A zebra too.", "x = 1", "", "# Zebra", "- zebra"]
)
MARKDOWN = st.lists(st.one_of(WORDS, WORDS, BLOCK), max_size=40).map("\n".join)


@settings(deadline=None)
@given(MARKDOWN, st.integers(40, 160))
def test_whatever_the_document_a_passage_leaves_no_block_of_code_open(markdown, limit):
    text = read(markdown, kind="markdown")
    payload = digest_text(text, "zebra ledger", DigestPolicy(snippet_chars=limit))
    assert verify(payload, text)
    spans = sorted((place.start, place.end) for place in (Locator.parse(s.locator) for s in payload.evidence_snippets))
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(len(one.text) <= limit and not open_at_end(one.text) for one in payload.evidence_snippets)


CITIES = {
    "hi": [
        "दिल्ली भारत की राजधानी है।",
        "मुंबई में फिल्में बनती हैं।",
        "कोलकाता हुगली नदी के किनारे बसा है।",
        "चेन्नई का समुद्र तट बहुत लंबा है।",
    ],
    "ar": [
        "الرباط عاصمة المغرب.",
        "تشتهر فاس بمدابغها القديمة.",
        "تقع طنجة على مضيق جبل طارق.",
        "يزور السياح مراكش في الشتاء.",
    ],
}


@pytest.mark.parametrize(
    ("language", "question", "place"),
    [
        ("hi", "हुगली नदी पर कौन सा शहर है?", 2),
        ("hi", "फिल्म कहाँ बनती है?", 1),
        ("hi", "समुद्री तटों की लंबाई कितनी है?", 3),
        ("ar", "أين تقع طنجه؟", 2),
        ("ar", "ما هي العاصمة المغربية؟", 0),
        ("ar", "بماذا اشتهرت المدابغ القديمه؟", 1),
    ],
)
def test_signs_on_letters_belong_to_them_and_words_are_found_inside_others(language, question, place):
    text = "\n\n".join(CITIES[language])
    best, *_ = snippets(text, question, policy=DigestPolicy(snippet_chars=50))
    assert CITIES[language][place] in best.text


def test_a_word_does_not_end_before_a_sign_that_stands_on_its_last_letter():
    text = "दिनांक एक लिखा है और दिनांक दो भी लिखा है।\n\nयह दिन अच्छा है।"
    assert snippets(text, "दिन", policy=DigestPolicy(snippet_chars=50))[0].text.startswith("यह")


@pytest.mark.parametrize("first", [0x0E01, 0x1000, 0x1780], ids=["Thai", "Burmese", "Khmer"])
def test_letters_of_scripts_without_blanks_are_looked_for_by_syllables(first):
    """Two letters are half a syllable, and stand in most sentences."""
    one, two, three, other = (chr(first + place) for place in range(4))
    halves = f"{one}{two}{other}{two}{three}." * 4
    text = "\n\n".join([halves, f"{other}{one}{two}{three}{other}.", halves])
    best, *_ = snippets(text, one + two + three, policy=DigestPolicy(snippet_chars=50))
    assert one + two + three in best.text


def test_a_sentence_that_runs_on_and_on_is_refused_in_no_time():
    """Each of its clauses stands in the text, so that another one may begin after any of them."""
    text = read("a, " * 1_000 + "and so on. The end is near, as they say.")
    payload = digest_text(text, "what?")
    for clauses in (20, 40, 600):
        assert verify(payload.model_copy(update={"summary": "a, " * clauses + "zzz"}), text).unfound


def test_many_lines_that_look_like_fences_are_quoted_in_no_time():
    """No quotation may have one of them alone, so the best run of lines without is looked for between them."""
    text = read("``` a b\n" * 600, kind="markdown")
    started = time.process_time()
    payload = digest_text(text, "What does a b cost?")
    assert time.process_time() - started < 1.5
    assert payload.evidence_snippets
    assert verify(payload, text)


@pytest.mark.parametrize(
    "text",
    [
        "~~~ ~~~ ferry",
        "one\n```~~~ ticket",
        "One;\f~~~ ~~~ ~~~ ticket\n",
        "~~~\n" + "a ticket of wood " * 29 + "~~~ a ticket of ice\n~~~\n",
        "A ticket costs four crowns. ~~~ The ticket of a dog costs nothing at all.",
    ],
    ids=lambda text: text[:20],
)
@pytest.mark.parametrize("policy", [DigestPolicy(), DigestPolicy(quote_whole=True)], ids=["parts", "whole"])
def test_no_passage_begins_with_a_fence_from_the_middle_of_a_line(text, policy):
    """By itself it would open a block of code, and every text has a passage that opens none."""
    source = read(text, kind="markdown")
    payload = digest_text(source, "How much is a ticket for the ferry?", policy)
    assert payload.evidence_snippets
    assert not any(one.text.startswith("~~~ ") for one in payload.evidence_snippets)
    assert verify(payload, source).unfound == ()
