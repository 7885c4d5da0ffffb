"""Digests: their verbs on the command line; each verb calls the library function of its name.

What a verb needs is loaded when it is called.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from aerogram.cli.terminal import note, read_input, write_json, write_text
from aerogram.content import jsontext
from aerogram.content.line import one_line
from aerogram.errors import ContractError, ValidationFailed

if TYPE_CHECKING:
    from aerogram.digest.batch import Batch, Outcome, Progress
    from aerogram.digest.payload import DigestPayload
    from aerogram.digest.text import CanonicalText
    from aerogram.digest.verification import Verification

_DIGEST_EXAMPLES = """\b
Examples:
  aerogram digest report.pdf --query "What did it cost?"
  aerogram digest *.html --query "Who decided?" --json > digests.json
"""
_VERIFY_EXAMPLES = """\b
Examples:
  aerogram verify digests.json --source report.pdf
  aerogram verify reply.json --source docs/guide.md
"""
_PIPE_WIDTH = 160
_MOST_VALUES = 10_000


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("digest", epilog=_DIGEST_EXAMPLES)(digest)
    app.command("verify", epilog=_VERIFY_EXAMPLES)(verify)


def digest(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Text, Markdown, HTML or PDF.")],
    query: Annotated[str, typer.Option("--query", "-q", help="The question that the digest is for.")],
    as_json: Annotated[bool, typer.Option("--json", help="Sources with their digests, for `verify`.")] = False,
    policy: Annotated[
        Literal["auto", "always", "off"], typer.Option(help="auto: leave short and unrelated files as they are.")
    ] = "always",
    seconds: Annotated[float, typer.Option(min=0.1, help="Time for each file.")] = 120.0,
    keep: Annotated[bool, typer.Option("--keep", help="Put the text into the archive under its hash.")] = False,
) -> None:
    """Condense files for a question, with evidence that can be checked."""
    if not query.strip():
        raise ValidationFailed("query must not be empty", remediation="Ask a question with --query")
    batch = _batch(files, query, policy, seconds, keep)
    if as_json:
        write_json(_sources(batch))
    else:
        write_text(_table(batch), is_styled=True)
    for notice in batch.made_notices:
        note(f"{notice.message}; {notice.suggestion}" if notice.suggestion else notice.message)
    for outcome in batch.failed_outcomes:
        note(f"{outcome.name}: {_reason(outcome)}")
    if batch.failed_outcomes:
        raise typer.Exit(1)


def verify(
    file: Annotated[
        str, typer.Argument(metavar="DIGEST", help="A digest, or a reply that has one, as JSON; '-': standard input.")
    ],
    source: Annotated[
        Path | None, typer.Option("--source", "-s", help="The file it was made of; without it, the archive is asked.")
    ] = None,
    own_words: Annotated[
        bool, typer.Option("--own-words", help="It was summed up by a model, in words that cannot be checked.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Answer in JSON.")] = False,
) -> None:
    """Check a digest against its source: its hash, its quotations, and each sentence of its summary and key points."""
    entry = _entry(jsontext.loads(read_input(file)), source)
    outcome, hint = _verify(entry, source)
    wrong = outcome.mismatch.message + hint if outcome.mismatch else "" if own_words else _first_unfound(outcome)
    if as_json:
        write_json({**_report(outcome, hint), "verified": not wrong})
    elif not wrong:
        write_text("\n".join(_verdict(outcome, hint)))
    if wrong:
        note(wrong)
        raise typer.Exit(1)


def _batch(files: list[Path], query: str, mode: Literal["auto", "always", "off"], seconds: float, keep: bool) -> Batch:
    import asyncio

    from aerogram.archive import Archive
    from aerogram.digest import Digester, DigestPolicy, digest_many

    digester = Digester(DigestPolicy(mode=mode, quote_whole=True), archive=Archive.at() if keep else None)
    sources: dict[str, Any] = {str(file): file for file in files}
    with _progress(len(sources)) as progress:
        return asyncio.run(digest_many(digester, sources, query, seconds=seconds, on_progress=progress))


def _sources(batch: Batch) -> Any:
    from aerogram.digest import reply_of

    reply = reply_of(batch)
    return {"sources": []} if reply.problem else reply.data


def _first_unfound(outcome: Verification) -> str:
    """The first sentence that is not from the text, and what to do if it need not be."""
    if not outcome.unfound:
        return ""
    one = outcome.unfound[0]
    more = f" and {len(outcome.unfound) - 1} more" if outcome.unfound[1:] else ""
    return f"{one.field}: not from the text: {one_line(one.text)}{more}; --own-words if a model has summed it up"


def _entry(said: Any, source: Path | None) -> Any:
    """The digest that is meant: the body itself, or the one among several sources that has the file's name."""
    listed = _find_sources(said)
    if listed is None:
        return said
    digests = [entry for entry in listed if isinstance(entry, dict)]
    named = [entry for entry in digests if source is not None and entry.get("id") in (str(source), source.name)]
    found = named or digests
    if len(found) != 1:
        raise ContractError(f"the file has {len(digests)} digests and none is named after the source", "/sources")
    return found[0]


def _find_sources(said: Any) -> list[Any] | None:
    """The sources that a body lists, wherever its envelope has them: in any dialect, or in the result of a tool."""
    if isinstance(said, dict) and "evidence_snippets" in said:
        return None
    waiting = [said]
    for place in range(_MOST_VALUES):
        if place == len(waiting):
            return None
        one = waiting[place]
        if isinstance(one, str) and one.startswith("{"):
            with contextlib.suppress(ContractError):
                waiting.append(jsontext.loads(one))
        elif isinstance(one, dict):
            listed = one.get("sources")
            if isinstance(listed, list):
                return listed
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
    return None


def _verify(entry: Any, source: Path | None) -> tuple[Verification, str]:
    """How the check went, and a word on how the file was read, or why an unchanged one may fail."""
    import asyncio

    from aerogram.digest import reread
    from aerogram.digest import verify as check

    payload = _payload(entry)
    if source is None:
        return asyncio.run(_verify_in_archive(payload)), ""
    text = reread(source, payload.source_text_hash)
    outcome = check(payload, text)
    return outcome, "".join(f"; {note}" for note in text.notes) if outcome else _other_extractor(entry, text)


async def _verify_in_archive(payload: DigestPayload) -> Verification:
    from aerogram.archive import Archive
    from aerogram.digest import verify as check

    async with Archive.at() as archive:
        return await check(payload, archive)


def _payload(entry: Any) -> DigestPayload:
    from pydantic import ValidationError

    from aerogram.digest import payload_of

    try:
        return payload_of(entry)
    except ValidationError as error:
        raise ContractError("; ".join(detail["msg"] for detail in error.errors())) from None


def _other_extractor(entry: Any, text: CanonicalText) -> str:
    made = entry.get("provenance") if isinstance(entry, dict) else None
    if not isinstance(made, dict):
        return ""
    then = f"{made.get('extractor')} {made.get('extractor_version')}"
    now = f"{text.extractor} {text.version}"
    return f"; it was made with {then}, this is {now}" if then != now else ""


def _verdict(outcome: Verification, hint: str) -> Iterator[str]:
    """What was checked and holds, and what was not checked."""
    own = "" if outcome.unfound else "; summary and key points are from the text"
    yield f"verified: {_held(outcome.snippets)}{own}{hint}"
    for one in outcome.unfound:
        yield f"{one.field}: not from the text (not checked): {one_line(one.text)}"


def _held(quotations: int) -> str:
    if not quotations:
        return "the hash holds; nothing is quoted"
    return "the hash and 1 quotation hold" if quotations == 1 else f"the hash and {quotations} quotations hold"


def _report(outcome: Verification, hint: str) -> dict[str, Any]:
    first = outcome.mismatch
    report: dict[str, Any] = {"verified": bool(outcome), "snippets": outcome.snippets}
    report["not_from_text"] = [{"field": one.field, "text": one.text} for one in outcome.unfound]
    if hint and first is None:
        report["note"] = hint.removeprefix("; ")
    if first is not None:
        report["mismatch"] = {"field": first.field, "message": first.message + hint}
    return report


@contextlib.contextmanager
def _progress(total: int) -> Iterator[Progress | None]:
    """A bar for a person who watches; nothing for a pipe."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bar

    with Bar(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("digesting", total=total)
        yield lambda _outcome, done, _total: bar.update(task, completed=done)


def _table(batch: Batch) -> str:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table("source", "digest", "score", "locator", "evidence")
    for outcome in batch.outcomes:
        for row in _rows(outcome):
            table.add_row(*(Text(one_line(cell)) for cell in row))
    console = Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH)
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip("\n")


def _rows(outcome: Outcome) -> Iterator[tuple[str, ...]]:
    if outcome.digest is None:
        yield outcome.name, "failed", "", "", _reason(outcome)
        return
    payload = outcome.digest.payload
    if payload is None:
        yield outcome.name, f"skipped: {outcome.digest.skipped}", "", "", ""
        return
    yield outcome.name, _size(payload), "", "", payload.summary.replace("\n", " ")
    for snippet in payload.evidence_snippets:
        yield "", "", f"{snippet.relevance_score:.2f}", snippet.locator, snippet.text.replace("\n", " ")


def _size(payload: DigestPayload) -> str:
    if not payload.original_chars:
        return "no words"
    if payload.digest_chars > payload.original_chars:
        return f"{payload.original_chars:,} characters, shorter than a digest"
    return f"{payload.digest_chars:,} of {payload.original_chars:,} characters"


def _reason(outcome: Outcome) -> str:
    return outcome.problem.message if outcome.problem else ""
