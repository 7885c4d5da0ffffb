"""Pairs: our reply beside that of a plain tool whose text is cut at the budget, for a blind reading.

The files have the question and the two texts in an order by chance; `key.b64` says which is ours, in a form that
nobody reads by accident: `python -m base64 -d key.b64`.
"""

import base64
import json
import random

from aerogram.content.jsontext import dumps
from channel import COUNT, is_structured, texts_of
from facts_replies import ask, serve
from facts_sets import load

PAIRS, SEED = 30, 14


async def write_pairs(folder, questions, budgets):
    """Write the files and the key."""
    folder.mkdir(parents=True, exist_ok=True)
    chance, key = random.Random(SEED), {}
    every = [question for asked in questions.values() for question in asked]
    for number, question in enumerate(chance.sample(every, PAIRS), 1):
        one = load(question["set"])
        whole = "\n".join(texts_of(await ask(serve(one))))
        budget = chance.choice([one for one in budgets if one < COUNT(whole)])
        ours, plain = _read_by_model(await ask(serve(one, "response-v2", budget))), cut(whole, budget)
        texts = [("ours", ours), ("plain", plain)]
        chance.shuffle(texts)
        parts = [f"## Reply {letter}\n\n{text}\n" for letter, (_, text) in zip("AB", texts, strict=True)]
        (folder / f"{number:02}.md").write_text("\n".join([f"# {question['question']}\n", *parts]), "utf-8")
        key[f"{number:02}"] = {
            "A": texts[0][0],
            "B": texts[1][0],
            "budget": budget,
            "set": question["set"],
            "question": question["question"],
        }
    (folder / "key.b64").write_bytes(base64.encodebytes(json.dumps(key, indent=1).encode()))
    print(f"{PAIRS} pairs in {folder}; when they are judged: python -m base64 -d {folder / 'key.b64'}")


def _read_by_model(result):
    return dumps(result.structured_content).decode() if is_structured(result) else "\n".join(texts_of(result))


def cut(text, budget):
    """The beginning of a text that has so many tokens, as clients cut it."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if COUNT(text[:middle]) <= budget else (low, middle - 1)
    return text[:low]
