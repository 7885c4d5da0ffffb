"""The default search against SQLite's FTS5 over the same chunks, by questions in a file.

    python bench fts5 --questions questions.jsonl --documents FOLDER [--index FOLDER] [--workers 2] [--each]

Each line of the file is a question: {"question", "language", "answer", "document"}. `answer` is the answering sentence,
or a part of it, as the document has it; `language` is two letters; `document` says where it is from, and decides
nothing. A question is found when one of the first five passages has the answer in its text: its letters and digits in
their order, whatever the case, the white space and the punctuation.

FTS5 has every chunk with its headings, once in a table with porter stems and once in one of trigrams. A question in
Chinese, Japanese or Korean asks the second for all runs of three signs, any other the first for all words, both joined
by OR and ranked by bm25. `--index` keeps the index, and asks one that is there as it is; `--each` prints every question
that only one side finds, or neither. Without questions nothing is measured.
"""

import argparse
import json
import math
import re
import sqlite3
import tempfile
import unicodedata
from pathlib import Path

import knowledge_quality as quality
from aerogram_knowledge import Knowledge

FIRST = 5
RUN = 3
UNSPACED = ("ja", "ko", "zh")
OURS, THEIRS = "ours", "FTS5"
_WORD = re.compile(r"[^\W_]+")


def main():
    options = parsed()
    if options.questions is None:
        print("left out, because --questions names no file; see `python bench fts5 --help`")
        return
    asked = [json.loads(line) for line in options.questions.read_text("utf-8").splitlines() if line.strip()]
    with tempfile.TemporaryDirectory() as folder, Knowledge(options.index or folder) as index:
        if not index.documents():
            index.ingest(options.documents, workers=options.workers)
        rival = Fts5(every_chunk(index))
        print(f"{len(asked)} questions over {len(index.documents())} documents, {len(rival)} chunks")
        found = {
            OURS: [is_found(one, ask(index, one["question"])) for one in asked],
            THEIRS: [is_found(one, rival.ask(one["question"], one["language"])) for one in asked],
        }
        report(asked, found)
        if options.each:
            report_each(asked, found, rival)


def parsed():
    parser = argparse.ArgumentParser(
        prog="python bench fts5", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=Path, help="a file with a question on each line")
    parser.add_argument("--documents", type=Path, help="the folder that they are about")
    parser.add_argument("--index", type=Path, help="where the index is kept, or is already")
    parser.add_argument("--workers", type=int, default=2, help="processes that read side by side (2)")
    parser.add_argument("--each", action="store_true", help="print the questions that are not found by both")
    known, others = parser.parse_known_args()
    unknown = [one for one in others if one.startswith("-")]  # the rest are the names of benchmarks
    if unknown:
        parser.error(f"unknown: {' '.join(unknown)}")
    if known.questions and not (known.documents or known.index):
        parser.error("--questions need --documents, or the --index of some")
    return known


def every_chunk(index):
    """The id, the headings and the text of each chunk."""
    for path in index.documents():
        for one in index.store.chunks_of(path):
            yield one.id, one.header, one.text


def ask(index, question):
    """The texts of the first passages that the default search finds."""
    found = index.search(question, response_mode="full", page_size=FIRST, about=False)
    return [row["chunk_text"] for row in found.data]


class Fts5:
    """All chunks in two tables of FTS5, by words and by signs."""

    def __init__(self, chunks):
        self._database = sqlite3.connect(":memory:")
        self._texts = {id_: (header, text) for id_, header, text in chunks}
        rows = [(id_, f"{header}\n{text}") for id_, (header, text) in self._texts.items()]
        for table, tokenizer in (("words", "porter unicode61"), ("signs", "trigram")):
            self._database.execute(f"CREATE VIRTUAL TABLE {table} USING fts5(body, tokenize = '{tokenizer}')")
            self._database.executemany(f"INSERT INTO {table}(rowid, body) VALUES (?, ?)", rows)

    def __len__(self):
        return len(self._texts)

    def ask(self, question, language):
        """The texts of its first passages."""
        table, terms = ("signs", runs(question)) if language[:2] in UNSPACED else ("words", _WORD.findall(question))
        if not terms:
            return []
        wanted = " OR ".join(f'"{term}"' for term in dict.fromkeys(terms))
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY bm25({table}) LIMIT ?"
        return [self._texts[id_][1] for (id_,) in self._database.execute(query, (wanted, FIRST))]

    def holds(self, answer):
        """Whether any chunk has an answer, so that it can be found at all."""
        wanted = letters(answer)
        return any(wanted in letters(text) for _, text in self._texts.values())


def runs(question):
    """The runs of three signs within the words of a question."""
    return [word[at : at + RUN] for word in _WORD.findall(question) for at in range(len(word) - RUN + 1)]


def letters(text):
    """The letters and digits of a text in one case."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def is_found(question, texts):
    wanted = letters(question["answer"])
    return any(wanted in letters(text) for text in texts)


def report(asked, found):
    for language in [*sorted({one["language"] for one in asked}), None]:
        of_it = [place for place, one in enumerate(asked) if language in (None, one["language"])]
        ours, theirs = ([found[side][place] for place in of_it] for side in (OURS, THEIRS))
        only_ours, only_theirs = (sum(a and not b for a, b in zip(*pair, strict=True)) for pair in pairs(ours, theirs))
        print(
            f"  {language or 'all':<4}{len(of_it):>4} questions, found in the first {FIRST}: {OURS} {sum(ours):>3}, "
            f"{THEIRS} {sum(theirs):>3}; only {OURS} {only_ours}, only {THEIRS} {only_theirs}"
        )
    low, high = quality.interval([a - b for a, b in zip(ours, theirs, strict=True)])
    print(
        f"  ahead by {(sum(ours) - sum(theirs)) / len(asked):+.3f} ({low:+.3f} to {high:+.3f}); "
        f"exact McNemar p = {mcnemar(only_ours, only_theirs):.4f}"
    )


def pairs(one, other):
    return (one, other), (other, one)


def mcnemar(one, other):
    """How likely two sides that are equally good differ at least so much, by the questions that only one side finds."""
    total, less = one + other, min(one, other)
    return min(1.0, 2 * sum(math.comb(total, count) for count in range(less + 1)) / 2**total)


def report_each(asked, found, rival):
    for place, one in enumerate(asked):
        by = [side for side in (OURS, THEIRS) if found[side][place]]
        if len(by) < 2:
            held = "" if rival.holds(one["answer"]) else " (no chunk has the answer)"
            print(f"  {f'only {by[0]}' if by else 'neither':<10} {one['language']}  {one['question']}{held}")


if __name__ == "__main__":
    main()
