"""Cursors: the time to sign one and to check it."""

import tempfile
from pathlib import Path

from aerogram.cursor import CursorKeys, Cursors, Position, query_hash
from aerogram.tokens import Vocabulary
from timing import best


def main():
    with tempfile.TemporaryDirectory() as directory:
        cursors = Cursors(CursorKeys.at(Path(directory) / "keys.json"))
        query = query_hash("search", {"query": "JWT"})
        position = Position(query, 10, "metadata")
        cursor = cursors.seal(position, principal="ada")
        sign, check = best(
            lambda: cursors.seal(position, principal="ada"),
            lambda: cursors.open(cursor, query_hash=query, response_mode="metadata", principal="ada"),
        )
    print(f"sign {sign * 1e6:.0f} us, check {check * 1e6:.0f} us, together {(sign + check) * 1e6:.0f} us (limit 100)")
    print(f"a cursor has {len(cursor)} characters, {Vocabulary().count(cursor)} tokens")


if __name__ == "__main__":
    main()
