"""A corpus of any size: words by Zipf's law from the embedder's own vocabulary, in Markdown with headings.

The words are real and their order is not, so it serves for speed, never for quality. The same numbers give the same
files.
"""

import itertools
import json
import random
from importlib.resources import files
from pathlib import Path

SECTIONS = 25
WORDS = 110
SMALL = "the of and to in a is that for it as was with be by on not he his but at are this have from or had an they"


def vocabulary():
    """Whole words of plain letters, in the order of the tokenizer, which is roughly that of their frequency."""
    stored = (files("aerogram_knowledge") / "model" / "tokenizer.json").read_text("utf-8")
    pieces = json.loads(stored)["model"]["vocab"]
    words = [word for word in pieces if word.isascii() and word.isalpha() and len(word) > 2]
    return SMALL.split() + [word for word in words if word not in set(SMALL.split())]


def weights(count):
    return list(itertools.accumulate(1 / (rank + 2) for rank in range(count)))


def write(folder, chunks, start=0):
    """Write files with about so many chunks; `start` files are there already."""
    words = vocabulary()
    heavy = weights(len(words))
    for number in range(start, start + -(-chunks // SECTIONS)):
        chance = random.Random(number)
        path = Path(folder, f"topic{number % 40:02}", f"note{number:05}.md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_document(chance, words, heavy, number), "utf-8")
    return start + -(-chunks // SECTIONS)


def _document(chance, words, heavy, number):
    day = f"20{20 + number % 6}-{number % 12 + 1:02}-{number % 27 + 1:02}"
    parts = [f"---\ndate: {day}\nlicense: CC-BY-4.0\npublisher: Bench\n---\n\n# Note {number}\n"]
    for _ in range(SECTIONS):
        drawn = chance.choices(words, cum_weights=heavy, k=WORDS + 3)
        sentences = [" ".join(drawn[at : at + 11]).capitalize() + "." for at in range(3, WORDS, 11)]
        parts.append(f"## {' '.join(drawn[:3])}\n\n{' '.join(sentences)}\n")
    return "\n".join(parts)


def queries(count, seed=7):
    """Questions of three to twelve words, small words among them as in real ones."""
    words = vocabulary()
    heavy = weights(len(words))
    chance = random.Random(seed)
    return [" ".join(chance.choices(words, cum_weights=heavy, k=chance.randint(3, 12))) for _ in range(count)]
