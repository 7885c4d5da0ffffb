"""Where the tokens of a search reply go, and how many answers its documented members leave room for at best."""

from statistics import mean

from aerogram.content.jsontext import dumps
from channel import COUNT

SHORTEST = {"similarity_score": 0.85, "bm25_score": 0.85, "hybrid_score": 0.85, "source_category": None}
"""Values as short as the document has them in its examples, or as its types allow."""
SIDE_BY_SIDE = 4


def print_tokens(rankings, fields, body, answered, bars):
    """The table of a row and of the envelope, and what would be answered with less of either.

    `rankings` are the rows of each question in full, `body` is a reply with a cursor, `answered(shown)` says how many
    questions are answered if so many rows of each are shown, and `bars` are the names, budgets and numbers to reach.
    """
    rows = [row for found in rankings.values() for row in found]
    print("tokens of a row of `full`, on average, and of the envelope of a page that goes on")
    for name, cost in _member_costs(rows).items():
        print(f"  {name:<20}{cost:>6.1f}")
    for name, cost in _envelope_costs(body).items():
        print(f"  {name:<36}{cost:>6}")
    print("questions answered, and rows shown on average, if no token were kept free")
    whole = {**body, "results": []}
    for name, budget, least in bars:
        chosen = fields if name == "fields" else tuple(rows[0])
        shorter = SHORTEST if name == "full" else {}
        ways = {
            "as written": (whole, {}),
            "shortest values": (whole, shorter),
            "and an empty cursor": (_with_page(whole, {**whole["pagination"], "cursor": ""}), shorter),
            "and no pagination": (_with_page(whole, None), shorter),
        }
        cells = [
            f"{said} {_reach(rankings, chosen, less, frame, budget, answered)}" for said, (frame, less) in ways.items()
        ]
        print(f"  {name} at {budget:,}, {least} wanted: {'; '.join(cells)}")


def _size(value):
    return COUNT(dumps(value).decode())


def _member_costs(rows):
    """What each member of a row adds where rows stand side by side; of the text only its name and quotation marks."""
    whole = [_size([row] * SIDE_BY_SIDE) for row in rows]
    costs = {}
    for name in rows[0]:
        less = (_size([{other: row[other] for other in row if other != name}] * SIDE_BY_SIDE) for row in rows)
        costs[name] = mean((one - other) / SIDE_BY_SIDE for one, other in zip(whole, less, strict=True))
    text = mean(COUNT(row["chunk_text"]) for row in rows)
    costs["chunk_text"] -= text
    besides = mean(one / SIDE_BY_SIDE for one in whole) - text
    return {**costs, "besides its text": besides, "its text": text}


def _envelope_costs(body):
    whole, costs = _size({**body, "results": []}), {}
    for name in body:
        if name != "results":
            costs[name] = whole - _size({other: body[other] for other in body if other != name} | {"results": []})
    costs["pagination.cursor"] = COUNT(body["pagination"]["cursor"])
    return {**costs, "all but the rows": whole}


def _with_page(body, page):
    return {**body, "pagination": page}


def _reach(rankings, fields, shorter, frame, budget, answered):
    shown = {}
    for question, rows in rankings.items():
        written = [{name: shorter.get(name, row[name]) for name in row if name in fields} for row in rows]
        shown[question] = max(
            (count for count in range(len(rows) + 1) if _size({**frame, "results": written[:count]}) <= budget),
            default=0,
        )
    return f"{answered(shown)} ({mean(shown.values()):.1f})"
