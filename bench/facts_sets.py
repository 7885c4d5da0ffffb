"""Eight sets of data as tools return them, and how the rows in each are read.

Five are real: a log of dpkg, the lists of `dpkg -l` and `pip list`, npm's package.json (Artistic-2.0) and a git log, as
they were on one machine; the articles are sections of Debian's FAQ. Issues and orders are made up by a seed.

`value` is what the tool returns: records, rows of cells, one record, or a text. `read` gives the rows of such a value,
or of a part of it, as records. `facts` are the members that a person would choose for a list.
"""

import gzip
import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import debian

DATA = Path(__file__).parent / "data" / "facts"
CUT = re.compile(r"…\s*(\[[^\]]*\])?\s*$")
"""How a text ends that was cut."""


@dataclass(frozen=True)
class Set:
    """A set of data; `title` is the member that names a row."""

    name: str
    value: Any
    read: Callable[[Any], list[dict]]
    facts: tuple[str, ...]
    title: str | None
    brief: Callable[[dict], str] | None = None
    """The line that shows the facts of a row, where the value is a text."""

    @property
    def rows(self):
        """Every row."""
        return self.read(self.value)


def _text(name):
    return gzip.decompress((DATA / name).read_bytes()).decode()


def _records(value):
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _whole_lines(text):
    """The lines of a text, apart from one that was cut."""
    if not isinstance(text, str):
        return []
    return CUT.sub("", text).split("\n")[: -1 if CUT.search(text) else None]


def _matches(pattern):
    """How to read a text whose rows are lines."""

    def read(value):
        return [found.groupdict() for line in _whole_lines(value) if (found := pattern.fullmatch(line))]

    return read


PARTS = (
    "Login page",
    "Export to CSV",
    "Search index",
    "Webhook",
    "Date picker",
    "Invoice mail",
    "Upload",
    "Cache",
    "API key",
)
TROUBLES = (
    "fails after an update", "is slow with many rows", "shows the wrong time zone", "loses its settings",
    "ignores umlauts", "needs a dark theme", "should say why it stopped", "cannot be used by keyboard",
)  # fmt: skip
PEOPLE = ("amara", "bjorn", "chidi", "dorota", "emre", "farah", "goran", "hana", "ines", "jonas", "kamala")
LABELS = ("bug", "feature", "docs", "good first issue", "regression", "security")
SENTENCES = (
    "It worked until last week.", "The log has nothing about it.", "Two of our customers have asked for this.",
    "Restarting helps for a few minutes.", "I can reproduce it with the sample data.", "A screenshot is attached.",
    "We use the version from the stable channel.", "Perhaps it has to do with the new proxy.",
    "There is a workaround, but nobody remembers it.", "I would be glad to send a patch if someone shows me where.",
)  # fmt: skip


def _issues():
    chance, rows = random.Random(11), []
    moment = datetime(2026, 1, 5, 8, 0)  # noqa: DTZ001 - written with a Z
    for number in range(1, 301):
        moment += timedelta(minutes=chance.randint(20, 2_500))
        changed = moment + timedelta(minutes=chance.randint(5, 60_000))
        rows.append(
            {
                "id": number,
                "title": f"{chance.choice(PARTS)} {chance.choice(TROUBLES)} (case {chance.randint(100, 999)})",
                "state": chance.choices(("open", "closed", "blocked"), (3, 6, 1))[0],
                "author": chance.choice(PEOPLE),
                "labels": sorted(chance.sample(LABELS, chance.randint(0, 2))),
                "created_at": f"{moment.isoformat()}Z",
                "updated_at": f"{changed.isoformat()}Z",
                "comments": chance.randint(0, 40),
                "body": " ".join(chance.choices(SENTENCES, k=chance.randint(3, 14))),
            }
        )
    facts = ("id", "title", "state", "author", "created_at")
    return Set("issues", rows, _records, facts, "title")


HEADER = ("order", "date", "city", "customer", "status", "items", "amount")
CITIES = ("Bergen", "Gdańsk", "Leipzig", "Lyon", "Porto", "Turku")


def _orders():
    chance, rows, day = random.Random(12), [list(HEADER)], datetime(2026, 3, 1)  # noqa: DTZ001 - a day
    for number in range(500):
        day += timedelta(days=chance.random() < 0.4)
        items = chance.randint(1, 12)
        status = chance.choices(("paid", "sent", "returned", "open"), (4, 4, 1, 1))[0]
        customer = f"customer {chance.randint(1, 80):02}"
        cells = (chance.choice(CITIES), customer, status, items, round(items * chance.uniform(4, 90), 2))
        rows.append([f"A-{1001 + number}", f"{day:%Y-%m-%d}", *cells])
    return Set("orders", rows, _read_cells, ("order", "date", "customer", "status"), None)


def _read_cells(value):
    rows = [row for row in value if isinstance(row, list)] if isinstance(value, list) else []
    return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


LOG_LINE = re.compile(
    r"(?P<date>\S{10}) (?P<time>\S{8}) (?P<action>\w+)(?: (?P<state>(?<=status )\S+))? (?P<package>\S+) (?P<version>.+)"
)


def _log():
    return Set(
        "log",
        _text("dpkg.log.gz").rstrip("\n"),
        _matches(LOG_LINE),
        ("date", "action", "package"),
        None,
        lambda row: f"{row['date']} {row['action']} {row['package']}",
    )


HEADING = re.compile(r"^(?P<id>\d+\.\d+)\.\s+(?P<title>\S.*(?:\n\S.*)*)\n\n", re.MULTILINE)
CHAPTER = re.compile(r"^Chapter\s+\d+\.[^\n]*(\n\S[^\n]*)*\n", re.MULTILINE)


def _articles():
    text = debian.read("debian-faq").replace("\xa0", " ")
    text = text[CHAPTER.search(text).start() :]
    heads = [*HEADING.finditer(text)]
    ends = [head.start() for head in heads[1:]] + [len(text)]
    rows = []
    for head, end in zip(heads, ends, strict=True):
        body = CHAPTER.sub("", text[head.end() : end])
        body = "\n\n".join(map(debian.squeeze, re.split(r"\n\s*\n", body.strip())))
        chapter = int(head["id"].partition(".")[0])
        title = debian.squeeze(head["title"])
        rows.append({"id": head["id"], "title": title, "chapter": chapter, "words": len(body.split()), "text": body})
    long = [row for row in rows if row["words"] > 60]
    chosen = random.Random(13).sample(range(len(long)), 60)
    return Set("articles", [long[place] for place in sorted(chosen)], _records, ("id", "title", "chapter"), "title")


def _package():
    facts = ("name", "version", "description", "homepage", "license", "author", "main", "engines", "bin")
    return Set("package", json.loads(_text("package.json.gz")), _read_members, facts, None)


def _read_members(value, parent=""):
    """The members of a record, and of records in it, a row each."""
    rows = []
    for name, held in value.items() if isinstance(value, dict) else ():
        if isinstance(held, dict):
            rows += _read_members(held, f"{parent}{name}/")
        else:
            rows.append({"member": f"{parent}{name}", "parent": parent.rstrip("/"), "name": name, "value": held})
    return rows


PACKAGE_LINE = re.compile(
    r"(?P<status>[a-zA-Z]{2,3})\s+(?P<name>[a-z0-9][^\s:]*)(?::\S+)?\s+(?P<version>\S+)\s+(?P<architecture>\S+)\s+(?P<description>.+)"
)


def _installed():
    return Set(
        "installed",
        _text("dpkg-l.txt.gz").rstrip("\n"),
        _matches(PACKAGE_LINE),
        ("name", "version"),
        "name",
        lambda row: f"{row['name']} {row['version']}",
    )


def _libraries():
    return Set("libraries", json.loads(_text("pip.json.gz")), _records, ("name", "version"), "name")


COMMIT = re.compile(
    r"commit (?P<commit>[0-9a-f]{40})\n(?:Merge: .*\n)?Author: (?P<author>[^<]*) <.*>\nDate:   (?P<date>.*)\n\n"
    r"    (?P<subject>.*)(?P<body>(?:\n(?!commit ).*)*)"
)


def _commits():
    return Set(
        "commits",
        _text("git.log.gz").rstrip("\n"),
        _read_commits,
        ("commit", "date", "subject"),
        "subject",
        lambda row: f"{row['commit']} {row['date'][:16]} {row['subject']}",
    )


def _read_commits(value):
    rows = [found.groupdict() for found in COMMIT.finditer("\n".join(_whole_lines(value)))]
    for row in rows:
        row["body"] = debian.squeeze(row["body"])
    return rows


MAKERS = {
    "issues": _issues,
    "orders": _orders,
    "log": _log,
    "articles": _articles,
    "package": _package,
    "installed": _installed,
    "libraries": _libraries,
    "commits": _commits,
}


@cache
def load(name):
    """The set of that name."""
    return MAKERS[name]()
