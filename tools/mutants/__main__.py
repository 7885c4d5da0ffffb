"""Check that the test of each requirement notices when its feature is changed.

    make mutants                              every requirement
    make mutants ARGS="--only STD-ENV"        those whose id begins so
    make mutants ARGS="--lot 12 --seed 7"     a dozen, drawn by a seed
    make mutants ARGS="--report found.json"   with a record of every mutant that was tried

What is known from an earlier run of the same sources and tests is not run again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from mutants.check import MOST_TRIED, NONE, NOTICED, SURVIVED, Check
from mutants.sources import PACKAGES, ROOT, Requirement, Tree

SURVIVORS = Path("tests/contracts/survivors.toml")
HEAD = """\
# Requirements whose test noticed none of the mutants that were tried: `make mutants ARGS=--write` writes this list.
# A lot of the others is drawn by every `make test`.
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the check, and say what survived; the exit code tells whether anything did that is not on the list."""
    given = parse(arguments)
    tree = Tree(given.root.resolve(), tuple(given.packages))
    chosen = select(tree, given)
    check = Check(tree, chosen, given.seed, given.workers, given.tries, given.state)
    results = list(check.run().values())
    if given.report:
        given.report.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if given.write:
        write_survivors(tree, results)
    print(summary(results))
    listed = survivors(tree)
    return int(any(not one["noticed"] and one["id"] not in listed for one in results))


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only",
        metavar="PREFIX",
        help="only requirements whose id begins so, or with one of several, after commas",
        default="",
    )
    parser.add_argument("--lot", metavar="N", type=int, help="only N requirements that are not known to survive")
    parser.add_argument("--seed", default="0", help="decides the lot, and the choice among equal mutants")
    parser.add_argument("--tries", type=int, default=MOST_TRIED, help="how many mutants may survive a requirement")
    parser.add_argument("--report", metavar="FILE", type=Path, help="write what was tried as JSON")
    parser.add_argument("--write", action="store_true", help=f"write the survivors to {SURVIVORS}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--root", type=Path, default=ROOT, help="the working tree")
    parser.add_argument("--packages", nargs="+", default=PACKAGES, help="patterns of the folders of packages")
    parser.add_argument("--state", type=Path, help="where results are kept; .cache/mutants in the tree unless given")
    return parser.parse_args(arguments)


def select(tree: Tree, given: argparse.Namespace) -> list[Requirement]:
    """Return the requirements that are asked for."""
    found = [one for one in tree.requirements if one.id.startswith(tuple(given.only.split(",")))]
    if given.lot is None:
        return found
    listed = survivors(tree)
    noticed = [one for one in found if one.id not in listed]
    chance = random.Random(f"lot {given.seed}")  # noqa: S311  # a draw that repeats, not a secret
    return chance.sample(noticed, min(given.lot, len(noticed)))


def survivors(tree: Tree) -> set[str]:
    """Return the ids of the requirements that are known to survive."""
    path = tree.root / SURVIVORS
    return set(tomllib.loads(path.read_text(encoding="utf-8"))["survivors"]) if path.exists() else set()


def write_survivors(tree: Tree, results: list[dict[str, Any]]) -> None:
    """Write the list anew: what was checked now as it came out, and the rest as it was."""
    checked = {one["id"]: one["noticed"] for one in results}
    ids = {one.id for one in tree.requirements}
    kept = {name for name in survivors(tree) if name in ids and name not in checked}
    names = sorted(kept | {name for name, noticed in checked.items() if not noticed})
    lines = "".join(f'  "{name}",\n' for name in names)
    (tree.root / SURVIVORS).write_text(f"{HEAD}survivors = [\n{lines}]\n", encoding="utf-8")


def summary(results: list[dict[str, Any]]) -> str:
    """Return the counts, and every requirement that was not noticed with what was tried."""
    counts = Counter(one["verdict"] for one in results)
    lines = [f"{len(results)} requirements: " + ", ".join(f"{counts[one]} {one}" for one in (NOTICED, SURVIVED, NONE))]
    for one in results:
        if not one["noticed"]:
            lines += ["", f"{one['id']} {one['verdict']}: {one['promise']}", f"  {one['test']} ({one['unchanged']})"]
            lines += [line for tried in one["tried"] for line in _lines_of(tried)]
    return "\n".join(lines)


def _lines_of(tried: dict[str, Any]) -> list[str]:
    return [
        f"  {tried['outcome']}: {tried['operator']} in {tried['module']}:{tried['line']} {tried['place']}",
        f"    - {tried['before']}",
        f"    + {tried['after']}",
    ]


if __name__ == "__main__":
    sys.exit(main())
