# ruff: noqa: RUF001  it knows the signs of many scripts
"""Digests in eight languages and five scripts: how often the first snippets hold the sentence that was asked for.

The texts are Debian's FAQ and LibreOffice's help, fetched once from Debian's archive. Nobody wrote questions about
them: a question is half of the words of a sentence in another order, every second one without its last letter, as if it
were inflected; of a script without blanks it is two pieces of the sentence. So the shares compare languages and ways of
looking, and are no forecast of how people fare.
"""

import gzip
import math
import random
import re
from collections import Counter

import debian
from aerogram.digest import digest_text, read
from digest_quality import FIRST, WINDOW, squeezed

QUESTIONS, DOCUMENTS = 120, 12
SHORTEST, LONGEST = 60, 400
LEAST, MOST = 30, 200
_END = re.compile(r"(?<=[.!?;:。！？।។])\s+|(?<=[。！？])|\n\n")
RUN = 3
FAQ = "doc/debian/FAQ/debian-faq.{0}.txt.gz"
HELP = "libreoffice/help/{0}/text"
TEXTS = {
    "German": ("debian-faq-de", FAQ.format("de"), "a-zäöüß"),
    "French": ("debian-faq-fr", FAQ.format("fr"), "a-zà-ÿ"),
    "Russian": ("debian-faq-ru", FAQ.format("ru"), "а-яё"),
    "Chinese": ("debian-faq-zh-cn", FAQ.format("zh-cn"), "\u3400-\u9fff"),
    "Japanese": ("debian-faq-ja", FAQ.format("ja"), "\u3040-\u30ff\u3400-\u9fff"),
    "Korean": ("libreoffice-help-ko", HELP.format("ko"), "\uac00-\ud7a3"),
    "Khmer": ("libreoffice-help-km", HELP.format("km"), "\u1780-\u17ff"),
    "Hindi": ("libreoffice-help-hi", HELP.format("hi"), "\u0900-\u097f"),
}
"""For each language a package, what to read of it under /usr/share, and its letters."""


def sentences(language):
    """The lines of a language's texts that are mostly in its letters, each once."""
    package, path, letters = TEXTS[language]
    place = debian.fetched(package) / path
    if place.is_dir():
        texts = [read(one).text for one in sorted(place.rglob("*.html"))]
    else:
        texts = [re.sub(r"\n(?!\s*\n)\s*", " ", gzip.decompress(place.read_bytes()).decode("utf-8"))]
    own = re.compile(f"[{letters}]", re.IGNORECASE)
    lines = (debian.squeeze(line) for text in texts for line in text.split("\n"))
    kept = (line for line in lines if SHORTEST <= len(line) <= LONGEST)
    return list(dict.fromkeys(line for line in kept if len(own.findall(line)) > 0.6 * len(line.replace(" ", ""))))


def question_of(sentence, chance):
    """Words of a sentence in another order, some of them cut; pieces of it where there are no words."""
    words = [word for word in re.split(r"[\s.,;:!?()«»\"“”।]+", sentence) if len(word) > 2]
    if len(words) >= 6:
        drawn = chance.sample(words, max(4, len(words) // 2))
        return " ".join(word[:-1] if place % 2 and len(word) > 4 else word for place, word in enumerate(drawn))
    size = len(sentence) // 5
    middle = len(sentence) // 2
    first, second = chance.randrange(middle - size), chance.randrange(middle, len(sentence) - size)
    return " ".join(sentence[start : start + size] for start in (second, first))


def by_runs(text, question):
    """The plain way: BM25 over windows of 500 characters and runs of three letters."""

    def runs(said):
        folded = " ".join(said.lower().split())
        return Counter(folded[place : place + RUN] for place in range(len(folded) - RUN + 1))

    spans = [text[start : start + WINDOW] for start in range(0, len(text), WINDOW // 2)]
    counts = [runs(one) for one in spans]
    seen = Counter(run for one in counts for run in one)
    rare = {run: math.log(1 + (len(spans) - seen[run] + 0.5) / (seen[run] + 0.5)) for run in runs(question)}
    scores = [sum(rare[run] * 2.2 * one[run] / (one[run] + 1.2) for run in rare if run in one) for one in counts]
    chosen = []
    for place in sorted(range(len(spans)), key=lambda place: -scores[place]):
        if len(chosen) < FIRST and all(abs(place - other) > 1 for other in chosen):
            chosen.append(place)
    return [spans[place] for place in chosen]


def measured(language):
    lines = sentences(language)
    chance = random.Random(language)
    chance.shuffle(lines)
    lines = lines[: DOCUMENTS * 150]
    size = len(lines) // DOCUMENTS
    documents = ["\n\n".join(lines[place * size : (place + 1) * size]) for place in range(DOCUMENTS)]
    parts = [(place, one.strip()) for place, text in enumerate(documents) for one in _END.split(text)]
    asked = [(place, one) for place, one in parts if LEAST <= len(one) <= MOST]
    hits, chars, plain = 0, 0, 0
    texts = [read(text, kind="plain") for text in documents]
    drawn = chance.sample(asked, min(QUESTIONS, len(asked)))
    for place, sentence in drawn:
        question = question_of(sentence, chance)
        snippets = [one.text for one in digest_text(texts[place], question).evidence_snippets[:FIRST]]
        wanted = squeezed(sentence)
        hits += any(wanted in squeezed(one) for one in snippets)
        plain += any(wanted in squeezed(one) for one in by_runs(texts[place].text, question))
        chars += sum(map(len, snippets))
    return hits / len(drawn), plain / len(drawn), chars / len(drawn), sum(map(len, documents)) // DOCUMENTS, len(drawn)


def main():
    for language in TEXTS:
        try:
            found, plain, chars, size, count = measured(language)
        except debian.NotThere as missing:
            print(f"{language:10} {missing}")
            continue
        print(
            f"{language:10} in the first {FIRST}: {found:6.1%} of {count}, in {chars:4.0f} characters of {size:6,};"
            f" runs of letters alone {plain:6.1%}",
            flush=True,
        )
