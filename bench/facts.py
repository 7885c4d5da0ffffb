"""Facts: how many questions a reply within a budget answers, on eight sets of data, without asking again.

The 240 questions in `data/facts/questions.jsonl` were written before anything was measured, thirty for each set, as
users ask about a list: who, when, which, how many, what was the last. A program answers them from the reply alone (see
`facts_reader`) and is judged by what it would answer from the whole. It may be right, silent or wrong; a reply that is
not the whole and does not say so where a model reads makes it wrong.

The others show the first rows that fit, whole or by facts that a person chose for each set, and how many are missing.
They get as much room for that as our reply has for its data. *before* are the figures of the code that fitted replies
at the commit in `data/facts/before.json`.

`python bench facts --pairs DIR` writes thirty pairs of replies for a blind reading, `--store FILE` our figures as JSON.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

import debian
from facts_pairs import write_pairs
from facts_reader import Seen, answer, is_cut
from facts_replies import ask, envelope, first_rows, see_bare, see_envelope, see_rows, serve
from facts_sets import DATA, MAKERS, load

BUDGETS = (500, 1_000, 2_000, 4_000)
BARE, BODY = "ours, bare", "ours, response-v2"
WHOLE, FACTS = "first whole rows", "first rows of facts"
BEFORE = DATA / "before.json"


def questions():
    """The questions of each set."""
    found = {name: [] for name in MAKERS}
    for line in (DATA / "questions.jsonl").read_text("utf-8").splitlines():
        question = json.loads(line)
        found[question["set"]].append(question)
    return found


def judge(asked, seen, one):
    """How many answers are right, and how many wrong."""
    whole, verdicts = Seen(one.rows), Counter()
    for question in asked:
        said = answer(question, seen)
        verdicts["silent" if said is None else "right" if said == answer(question, whole) else "wrong"] += 1
    return [verdicts["right"], verdicts["wrong"]]


async def measure():
    """For each contender, set and budget the right and wrong answers; and for ours the rows without a name."""
    found, nameless = {}, {}
    for name, asked in questions().items():
        one = load(name)
        for budget in BUDGETS:
            bare = await ask(serve(one, "bare", budget))
            room = budget - envelope(bare, one)
            seen = {
                BARE: see_bare(bare, one),
                BODY: see_envelope(await ask(serve(one, "response-v2", budget)), one),
                WHOLE: see_rows(first_rows(one, room, facts=False), one, facts=False),
                FACTS: see_rows(first_rows(one, room, facts=True), one, facts=True),
            }
            for contender, held in seen.items():
                found.setdefault(contender, {}).setdefault(name, {})[str(budget)] = judge(asked, held, one)
            if one.title is not None:
                titles = [row.get(one.title) for row in seen[BARE].rows]
                nameless[name, budget] = (titles.count(None), sum(map(is_cut, titles)), len(titles))
    return found, nameless


def report(found, nameless):
    before = json.loads(BEFORE.read_text()) if BEFORE.is_file() else {"commit": "", "found": {}}
    table = {**found, **{f"before {name.removeprefix('ours, ')}": row for name, row in before["found"].items()}}
    print(f"of {sum(map(len, questions().values()))} questions: answered right (wrong), by budget")
    print(f"  {'':<26}" + "".join(f"{budget:>13,}" for budget in BUDGETS))
    for name, row in table.items():
        totals = [[sum(one[str(budget)][place] for one in row.values()) for place in (0, 1)] for budget in BUDGETS]
        print(f"  {name:<26}" + "".join(f"{right:>7} {f'({wrong})':<5}" for right, wrong in totals))
    if before["commit"]:
        print(f"  before: commit {before['commit']}")
    for budget in BUDGETS:
        print(f"each set at {budget:,}, of 30")
        for name, row in table.items():
            cells = (f"{one} {held[str(budget)][0]:>2} ({held[str(budget)][1]})" for one, held in row.items())
            print(f"  {name:<26}" + "  ".join(cells))
    lacks = any(without for without, _, _ in nameless.values())
    print(f"every item that ours shows has its title or name: {'no' if lacks else 'yes'}")
    for (name, budget), (without, cut, shown) in nameless.items():
        if without or cut:
            print(f"  {name} at {budget:,}: {without} of {shown} lack it, {cut} have a part of it")


def option(name):
    """The value of an option of the command line."""
    return Path(sys.argv[sys.argv.index(name) + 1]) if name in sys.argv else None


def main():
    try:
        load("articles")
    except debian.NotThere as error:
        print(error)
        return
    if (folder := option("--pairs")) is not None:
        asyncio.run(write_pairs(folder, questions(), BUDGETS))
        return
    found, nameless = asyncio.run(measure())
    if (path := option("--store")) is not None:
        path.write_text(json.dumps({name: found[name] for name in (BARE, BODY)}, indent=1) + "\n")
    report(found, nameless)


if __name__ == "__main__":
    main()
