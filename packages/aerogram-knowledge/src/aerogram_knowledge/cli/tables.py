"""Tables: what an index says to a person at a terminal."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from aerogram.codes import ABOUT_SIZE
from aerogram.content.line import one_line
from aerogram.reply import Reply

__all__ = ["emptiness", "fact", "in_options", "kinds", "results", "search_command", "vendor"]

_OPTIONS: Final = {"response_mode": "--mode", "page_size": "--page-size", "max_tokens": "--budget"}
_ARGUMENTS: Final = {"vendor_name": "name"}
_ARGUMENT: Final = re.compile(rf"\b(?:{'|'.join(_OPTIONS)})\b")


def in_options(reply: Reply[Any]) -> Reply[Any]:
    """A reply whose advice names the options of a command, and whose echo its arguments."""
    notices = tuple(replace(one, suggestion=_name_options(one.suggestion)) for one in reply.notices)
    problem = reply.problem and replace(reply.problem, remediation=_name_options(reply.problem.remediation))
    return reply.replace(
        notices=notices, problem=problem, query_echo=reply.query_echo and reply.query_echo.rename(_ARGUMENTS)
    )


def search_command(arguments: Mapping[str, Any]) -> str:
    """The command that asks what a search with these arguments would."""
    words = ["aerogram", "search", str(arguments["query"])]
    for name, given in arguments.get("filters", {}).items():
        for value in given if isinstance(given, list) else [given]:
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def _name_options(advice: str | None) -> str | None:
    return advice and _ARGUMENT.sub(lambda found: _OPTIONS[found[0]], advice)


_TEXT_WIDTH: Final = 100
_MOST_KINDS: Final = 6


def results(reply: Reply[Any], whole: Sequence[dict[str, Any]], nothing: str | None = None) -> str:
    """The results as a table that fits a terminal, or why there are none; `whole` are they before a budget cut them.

    `nothing` are better words than those of a reply for why there are none.
    """
    # with pydantic, which no other verb waits for

    lines = [_result(row) for row in reply.data] if isinstance(reply.data, list) else []
    if not lines:
        lines = [nothing or _NOTHING.get(reply.empty_reason or "", "nothing found")]
        if reply.retry_with:
            lines.append(f"try: {search_command(reply.retry_with)}")
    if reply.query_echo is not None and reply.query_echo.unparsed_terms:
        lines.append(f"in no document: {', '.join(reply.query_echo.unparsed_terms)}")
    lines += _describe_loss(whole, reply.data or ())
    said = [one for one in reply.notices if one.code not in ABOUT_SIZE]
    lines += [": ".join(filter(None, (one.message, one.suggestion))) for one in said]
    page = reply.page
    if page is not None and page.cursor:
        lines.append(f"{page.total} results; go on with --next {page.cursor}")
    return "\n".join(lines)


def _describe_loss(whole: Sequence[dict[str, Any]], shown: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What a budget has taken from the results in the table; nothing if it took nothing that would be there."""
    lost: Counter[str] = Counter()
    for row, rest in zip(whole, shown, strict=False):
        lost.update(what for name, what in _IN_THE_TABLE.items() if name in row and name not in rest)
        words, left = _passage(row), _passage(rest)
        lost.update(["the words"] if words and not left else ["a part of the words"] if words != left else [])
    if lost:
        told = ", ".join(f"{what} of {times}" for what, times in lost.most_common())
        yield f"left out to fit the budget, in {len(shown)} result{'s' * (len(shown) > 1)}: {told}"


_IN_THE_TABLE = {"source_file": "the file", "hybrid_score": "the score", "context_header": "the heading"}


def _passage(row: dict[str, Any]) -> str | None:
    """The words of a result, if its mode shows them."""
    return row.get("chunk_text") or row.get("chunk_snippet")


_NOTHING = {
    "no_match": "nothing found",
    "filters_too_narrow": "nothing found with these filters; there is without them",
    "license_blocked": "nothing found under this licence",
    "source_unavailable": "the index is empty; fill it with `aerogram ingest PATH`",
}


def _result(row: dict[str, Any]) -> str:
    """One result: rank, score, where it stands, and its words if the mode shows them."""
    facts = {name: row[name] for name in row if name not in ("chunk_snippet", "chunk_text")}
    score = facts.get("hybrid_score")
    place = facts.get("source_file") or f"chunk {facts.get('chunk_id', '')}"
    header = facts.get("context_header")
    line = f"{facts.get('rank', ''):>3}  {score if score is not None else '':<7}  {place}"
    line += f"  [{facts['chunk_id']}]" if "source_file" in facts and "chunk_id" in facts else ""
    words = _passage(row)
    return "\n".join([line, *([f"     {one_line(header)}"] if header else []), *_wrap(words)])


def _wrap(words: str | None) -> list[str]:
    if not words:
        return []
    return textwrap.wrap(" ".join(words.split()), _TEXT_WIDTH, initial_indent="     ", subsequent_indent="     ")


def vendor(found: dict[str, Any]) -> str:
    """What is known about a vendor, line by line."""
    entities = found.get("entities") or found.get("top_entities") or ()
    ties = found.get("relationships") or ()
    lists = ("entity_ids", "relationship_ids", "last_updated")
    lines = [
        str(found.get("vendor_name", "")),
        *(f"  {_words(name)}: {fact(value)}" for name, value in (found.get("statistics") or {}).items()),
        *(f"  {one['id']:<10} {one['type']:<12} {one['name']}" for one in entities),
        *(f"  {one['id']:<10} {one['type']:<12} {one['source']} → {one['target']}" for one in ties),
        *(f"  {_words(name)}: {fact(found[name])}" for name in lists if found.get(name)),
    ]
    return "\n".join(lines)


def _words(name: str) -> str:
    return name.replace("_", " ")


def kinds(passed: Counter[str]) -> str:
    """How many files there are of each kind, the commonest first."""
    most = [f"{count} {kind or 'without an ending'}" for kind, count in passed.most_common(_MOST_KINDS)]
    others = sum(count for _, count in passed.most_common()[_MOST_KINDS:])
    return ", ".join([*most, *([f"{others} others"] if others else [])])


def emptiness(roots: Sequence[Path], unreadable: int, passed: Counter[str]) -> str | None:
    """Why nothing was found in these folders; None when nobody has looked."""
    if not roots:
        return None
    from aerogram_knowledge.documents.document import READ_KINDS

    told = [f"{unreadable} unreadable"] if unreadable else []
    told += [f"{passed.total()} not read: {kinds(passed)}"] if passed else []
    where = ", ".join(map(str, roots))
    found = f" ({'; '.join(told)})" if told else ""
    return f"the index is empty: there is nothing to read in {where}{found}; {READ_KINDS} files are read"


def fact(value: Any, *, lines: bool = False) -> str:
    """A fact in words; with `lines` each of several has a line of its own."""
    if lines and value:
        return "".join(f"\n  {one_line(f'{name}: {inner}')}" for name, inner in value.items())
    if isinstance(value, dict):
        return ", ".join(f"{name}: {inner}" for name, inner in value.items()) or "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
