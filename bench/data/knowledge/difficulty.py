"""How hard the questions are: plain BM25, static vectors and their naive fusion over chunks of about 200 tokens.

Run it as `python bench/data/knowledge/difficulty.py`. It shares nothing with the index but the embedder, so that it
says something about the questions and not about the index.
"""

import json
import math
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
import Stemmer

from aerogram_knowledge.embedders import default_embedder

HERE = Path(__file__).parent
STEMMERS = {"en": Stemmer.Stemmer("english"), "de": Stemmer.Stemmer("german")}
LONGEST = {"en": 146, "de": 146, "ja": 260}
"""Words of a chunk, or characters where words are not divided: about 200 tokens."""
SATURATION, BY_LENGTH, RANKS = 1.2, 0.75, 60


class Chunk(NamedTuple):
    """A piece of a document with its title and heading before it."""

    path: str
    language: str
    text: str


def chunks_of(path):
    name = path.relative_to(HERE / "documents").as_posix()
    language = name[:2] if name[:3] in {"de/", "ja/"} else "en"
    title = ""
    for section in re.split(r"(?m)^(?=#+ )", marked(path.read_text("utf-8"))):
        heading = re.match(r"#+ (.*)\n", section)
        body = section[heading.end() :] if heading else section
        title = title or (heading[1] if heading else "")
        above = " ".join(dict.fromkeys([title, heading[1] if heading else ""]))
        for piece in pieces(body, language):
            yield Chunk(name, language, " ".join(f"{above} {piece}".split()))


def marked(text):
    """Any kind of document as text with headings marked by `#`."""
    text = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL)
    if text.startswith("<!doctype"):
        text = re.sub(r"<head>.*?</head>", "", text, flags=re.DOTALL)
        text = re.sub(r"</(p|h\d|tr|li)>", "\n\n", re.sub(r"<h\d>", "\n## ", text))
        text = re.sub(r"<[^>]+>", " ", text)
    return re.sub(r"(?m)^(.+)\n[=-]{4,}$", r"## \1", text)


def pieces(body, language):
    """Whole sentences, as many as fit."""
    piece = ""
    for sentence in re.split(r"(?<=。)|\n\n" if language == "ja" else r"(?<=[.!?])\s+|\n\n", body):
        joined = f"{piece}\n{sentence}"
        if piece.strip() and len(joined if language == "ja" else joined.split()) > LONGEST[language]:
            yield piece
            joined = sentence
        piece = joined
    if piece.strip():
        yield piece


def terms(text, language):
    """Stems, or pairs of characters where words are not divided."""
    if language == "ja":
        runs = re.findall(r"[\u3040-\u30ff\u3400-\u9fff]+|[a-z0-9]+", text.lower())
        return [run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))]
    return STEMMERS[language].stemWords(re.findall(r"\w+", text.lower()))


class Keywords:
    """BM25 as the textbooks have it."""

    def __init__(self, chunks):
        bags = [Counter(terms(chunk.text, chunk.language)) for chunk in chunks]
        lengths = np.array([bag.total() for bag in bags])
        self.norms = SATURATION * (1 - BY_LENGTH + BY_LENGTH * lengths / lengths.mean())
        self.postings = defaultdict(list)
        for place, bag in enumerate(bags):
            for term, times in bag.items():
                self.postings[term].append((place, times))

    def scores(self, question, language):
        found = np.zeros(len(self.norms))
        for term in terms(question, language):
            posting = self.postings.get(term, [])
            rarity = math.log(1 + (len(found) - len(posting) + 0.5) / (len(posting) + 0.5))
            for place, times in posting:
                found[place] += rarity * times * (1 + SATURATION) / (times + self.norms[place])
        return found


def fused(*orders):
    """Reciprocal rank fusion with equal weights."""
    scores = np.zeros(len(orders[0]))
    for order in orders:
        scores[order[:100]] += 1 / (RANKS + np.arange(len(order[:100])))
    return ranked(scores)


def ranked(scores):
    return np.argsort(-scores, kind="stable")


def judged(order, wanted):
    """Recall@5 and nDCG@10 of an order, given for each passage the chunks that hold it."""
    places = [min((int(np.flatnonzero(order == one)[0]) for one in chunks), default=len(order)) for chunks in wanted]
    recall = sum(place < 5 for place in places) / len(places)
    gain = sum(1 / math.log2(place + 2) for place in places if place < 10)
    return recall, gain / sum(1 / math.log2(place + 2) for place in range(len(places)))


def measured(chunks, questions):
    """For each system the figures of each question."""
    embedder, keywords = default_embedder(), Keywords(chunks)
    vectors = embedder.embed([chunk.text for chunk in chunks])
    figures = defaultdict(list)
    for question in questions:
        wanted = [
            [place for place, chunk in enumerate(chunks) if chunk.path == one["path"] and one["contains"] in chunk.text]
            for one in question["relevant"]
        ]
        by_words = ranked(keywords.scores(question["question"], question["language"]))
        by_meaning = ranked(vectors @ embedder.embed([question["question"]])[0])
        figures["keywords"].append(judged(by_words, wanted))
        figures["vectors"].append(judged(by_meaning, wanted))
        figures["naive fusion"].append(judged(fused(by_words, by_meaning), wanted))
    return {system: np.array(rows) for system, rows in figures.items()}


def main():
    chunks = [one for path in sorted((HERE / "documents").rglob("*.*")) for one in chunks_of(path)]
    questions = [json.loads(line) for line in (HERE / "questions.jsonl").read_text("utf-8").splitlines()]
    figures = measured(chunks, questions)
    either = np.maximum(figures["keywords"], figures["vectors"])[:, 0].mean()
    print(f"{len(chunks)} chunks, {len(questions)} questions, recall@5 / nDCG@10; found by either: {either:.3f}\n")
    print("| half | language | questions | " + " | ".join(figures) + " |")
    print("| --- | --- | ---: |" + " ---: |" * len(figures))
    for half in ("tune", "report", None):
        for language in ("en", "de", "ja", None):
            kept = [half in {one["half"], None} and language in {one["language"], None} for one in questions]
            cells = ["{:.3f} / {:.3f}".format(*rows[kept].mean(axis=0)) for rows in figures.values()]
            print(f"| {half or 'both'} | {language or 'all'} | {sum(kept)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
