"""Texts: how long it takes to find out whether a text is data, as a multiple of reading it once.

Once is what the standard library takes to read JSON, or a table, of the same length. Broken ones are read for nothing,
which must not cost more than twice as much either. `python bench texts --megabytes 50` takes longer texts than 5 MB,
and `--only CSV` those kinds whose names begin so.
"""

import csv
import io
import json
import sys
import time

from aerogram.content.datatext import read_data

MOST = 2.0
ROWS = [{"id": n, "name": f"name {n}", "price": n * 1.25, "note": "some words " * 8} for n in range(1000)]


def repeat(piece, size):
    return piece * (size // len(piece) + 1)


def rows_text(size):
    inner = json.dumps(ROWS)[1:-1]
    return "[" + ", ".join([inner] * (size // len(inner) + 1)) + "]"


def lines_text(size):
    return repeat("".join(json.dumps(row) + "\n" for row in ROWS), size)


def csv_text(size):
    return "id,name,note\n" + repeat("".join(f"{row['id']},{row['name']},{row['note']}\n" for row in ROWS), size)


def markdown_text(size):
    rows = "".join(f"| {row['id']} | {row['name']} | {row['note']} |\n" for row in ROWS)
    return "| id | name | note |\n| --- | --- | --- |\n" + repeat(rows, size)


def read_json(size):
    text = rows_text(size)
    return lambda: json.loads(text)


def long_numbers(size):
    return "[" + repeat("1234567890123456789012345, ", size) + "1]"


def read_numbers(size):
    text = long_numbers(size)
    return lambda: json.loads(text)


def read_lines(size):
    lines = lines_text(size).splitlines()
    return lambda: [json.loads(line) for line in lines]


def read_csv(size):
    text = csv_text(size)
    return lambda: list(csv.DictReader(io.StringIO(text)))


CASES = {
    "JSON": (rows_text, read_json),
    "JSON without its end": (lambda size: rows_text(size)[:-1], read_json),
    "JSON and then words": (lambda size: rows_text(size) + " and so on", read_json),
    "JSON with a name twice": (lambda size: rows_text(size)[:-1] + ', {"a": 1, "a": 2}]', read_json),
    "JSON of long numbers": (long_numbers, read_numbers),
    "JSON with a half of a pair": (lambda size: rows_text(size)[:-1] + ', "\ud800"]', read_json),
    "brackets": (lambda size: "[" * size, read_json),
    "digits": (lambda size: '{"a": ' + "9" * size + "}", read_json),
    "escapes": (lambda size: '{"a": "' + "\\u00e9\\\\" * (size // 8) + '"}', read_json),
    "letters of everywhere": (lambda size: '["' + "Zoë 王 🎈 \ufffd " * (size // 10), read_json),
    "lines of JSON": (lines_text, read_lines),
    "lines, the last of them broken": (lambda size: lines_text(size) + '{"id": ', read_lines),
    "CSV": (csv_text, read_csv),
    "CSV with a short row": (lambda size: csv_text(size) + "1,2", read_csv),
    "CSV with a quote that is left open": (lambda size: csv_text(size) + '1,"2,3', read_csv),
    "Markdown": (markdown_text, read_csv),
    "Markdown and then words": (lambda size: markdown_text(size) + "\nand so on", read_csv),
    "prose": (lambda size: repeat("We measured this, and that, and more. It was | fine.\n", size), read_csv),
    "one line of prose": (lambda size: repeat("We measured this, and that; ", size), read_csv),
}


def seconds(*works):
    """The shortest of three times of each, by turns, in seconds of this process."""
    found = [[] for _ in works]
    for _ in range(3):
        for work, times in zip(works, found, strict=True):
            began = time.process_time()
            work()
            times.append(time.process_time() - began)
    return [min(times) for times in found]


def option(name, otherwise):
    return sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise


def main():
    size, only = int(option("--megabytes", "5")) * 1_000_000, option("--only", "")
    print(f"{size // 1_000_000} MB{'':32} read once    told   ratio  is data")
    for name, (make, reader) in CASES.items():
        if not name.startswith(only):
            continue
        text, read = make(size), reader(size)
        once, taken = seconds(read, lambda text=text: read_data([text]))
        mark = "" if taken / once <= MOST else "  too long"
        is_data = "yes" if read_data([text]) else "no"
        figures = f"{once * 1e3:>8.0f} ms {taken * 1e3:>5.0f} ms {taken / once:>6.2f}"
        print(f"{name:<36} {figures}  {is_data}{mark}", flush=True)


if __name__ == "__main__":
    main()
