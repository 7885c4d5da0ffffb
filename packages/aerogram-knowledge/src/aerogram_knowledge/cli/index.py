"""The index: its verbs on the command line; each verb calls the library function of its name."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from aerogram import dialects
from aerogram.cli.terminal import note, write_json, write_text
from aerogram.errors import NotFound, ReplyError, UnknownDialect
from aerogram.problems import problem_of
from aerogram.reply import Reply
from aerogram_knowledge.cli import tables as table

if TYPE_CHECKING:
    from aerogram.shape.pages import ResumablePage
    from aerogram_knowledge.ingest.ingest import IngestResult
    from aerogram_knowledge.knowledge import Knowledge

__all__ = ["Pace"]

LOOK_BACK: Final = 30.0
"""Seconds of the past that the pace is taken from, so that it follows when the files become larger."""
ENOUGH: Final = 0.01
"""The share of all bytes that a pace can be told from."""


class Pace:
    """The pace of one run; it is told how many files are done."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int, float]] = deque()

    def at(self, finished: int, total: int, share: float) -> str:
        """Where the run is now: how many of how many, the rate, and the time left, by the share of bytes that is done.

        A large file takes longer than a small one, so their number alone would say little about the rest. The clock
        starts with the last report that nothing is done yet, because until then readers were getting ready.
        """
        now = self._clock()
        if not finished:
            self._seen.clear()
        self._seen.append((now, finished, share))
        while len(self._seen) > 2 and now - self._seen[1][0] > LOOK_BACK:  # noqa: PLR2004
            self._seen.popleft()
        begun, before, part = self._seen[0]
        if share - part < ENOUGH or now <= begun:
            return f"{finished:,} of {total:,} files"
        rate = (finished - before) / (now - begun)
        left = f", {_span((1 - share) * (now - begun) / (share - part))} left" if finished < total else ""
        return f"{finished:,} of {total:,} files, {rate:,.1f} a second{left}"


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"


_INGEST_EXAMPLES = """\b
Examples:
  aerogram ingest ./docs
  aerogram ingest ./docs ./wiki --watch
  aerogram ingest /srv/papers --workers 8
  aerogram ingest /srv/papers --store postgresql://aerogram@db/papers --cluster tcp://scheduler:8786
"""
_SEARCH_EXAMPLES = """\b
Examples:
  aerogram search "How long is a token valid?"
  aerogram search "termination" --category contracts --mode preview
  aerogram search "webhooks" --json --dialect standard-v2 --budget 2000
  aerogram search "webhooks" --next CURSOR
"""
_COPY_EXAMPLES = """\b
Examples:
  aerogram copy --from .aerogram --to postgresql://aerogram@db/papers
  aerogram copy --from postgresql://aerogram@db/papers --to ./backup
"""
_VENDOR_EXAMPLES = """\b
Examples:
  aerogram vendor "Acme"
  aerogram vendor "Acme Corporation" --mode full --json
"""
_FORGET_EXAMPLES = """\b
Examples:
  aerogram index forget ./private
  aerogram index forget ./docs/drafts/old.md --index ~/notes.index
"""
_PAUSE = 10.0
_LISTED = frozenset({"problems", "notes"})

_Index = Annotated[
    Path, typer.Option("--index", envvar="AEROGRAM_INDEX", metavar="FOLDER", help="Where the index is kept.")
]
_Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        envvar="AEROGRAM_STORE",
        metavar="URL",
        help="A PostgreSQL that keeps the index instead: postgresql://user@host/database.",
    ),
]
_Embedder = Annotated[
    str | None,
    typer.Option(
        envvar="AEROGRAM_EMBEDDER", metavar="NAME", help="'default', 'none' (words alone), or a model's folder."
    ),
]
_Mode = Annotated[
    Literal["ids_only", "metadata", "preview", "full"], typer.Option("--mode", "-m", help="How much each result shows.")
]
_Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, failures included.")]
_Compact = Annotated[bool, typer.Option("--compact", help="One line of JSON instead of indented JSON.")]
_Budget = Annotated[
    str | None, typer.Option(metavar="SIZE", help="The largest answer: tokens, '10240 bytes', or a client's name.")
]


def _check_dialect(name: str) -> str:
    if name not in dialects.NAMES:
        raise typer.BadParameter(str(UnknownDialect(name, dialects.NAMES)))
    return name


_Dialect = Annotated[
    str,
    typer.Option(metavar="DIALECT", callback=_check_dialect, help=f"For --json, one of: {', '.join(dialects.NAMES)}."),
]
_DEFAULT_INDEX = Path(".aerogram")


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("ingest", epilog=_INGEST_EXAMPLES)(ingest)
    app.command("search", epilog=_SEARCH_EXAMPLES)(search)
    app.command("copy", epilog=_COPY_EXAMPLES)(copy)
    app.command("vendor", epilog=_VENDOR_EXAMPLES)(vendor)
    index = typer.Typer(help="Look after an index.", no_args_is_help=True)
    for verb in (status, check, rebuild):
        index.command(verb.__name__)(verb)
    index.command("forget", epilog=_FORGET_EXAMPLES)(forget)
    app.add_typer(index, name="index")


def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Files and folders to read.")],
    index: _Index = _DEFAULT_INDEX,
    store: _Store = None,
    embedder: _Embedder = None,
    workers: Annotated[int, typer.Option(min=1, max=256, help="Processes that read side by side.")] = 1,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler whose workers read: tcp://host:8786.")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on and follow changes, until Ctrl-C.")] = False,
    as_json: _Json = False,
) -> None:
    """Read documents into an index; what has not changed is passed over."""
    from aerogram_knowledge.maintenance.watch import keep_watching

    def warn(error: Exception) -> None:
        note(f"changes cannot be followed at the moment: {error}")

    with _open(index, store, embedder, new=True) as knowledge:
        with _progress() as progress, _hinting_at_forget(knowledge, paths):
            done = knowledge.ingest(*paths, progress=progress, workers=workers, cluster=cluster)
        _tell(done, as_json)
        if watch:
            note("watching for changes; end with Ctrl-C")
            with contextlib.suppress(KeyboardInterrupt):
                keep_watching(lambda: knowledge, lambda more: _tell(more, as_json), warn)
    if done.problems and not done.files and not done.unchanged:
        raise typer.Exit(1)


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What to look for, in words of your own.")],
    index: _Index = _DEFAULT_INDEX,
    store: _Store = None,
    mode: _Mode = "preview",
    page_size: Annotated[int, typer.Option("--page-size", "-n", min=1, max=50, help="Results per page.")] = 10,
    cursor: Annotated[str | None, typer.Option("--next", metavar="CURSOR", help="Go on where a page ended.")] = None,
    field: Annotated[list[str] | None, typer.Option(help="Only this field; several times for several.")] = None,
    category: Annotated[list[str] | None, typer.Option(help="Only this category.")] = None,
    path: Annotated[list[str] | None, typer.Option(help="Only below this folder, or this file.")] = None,
    license: Annotated[list[str] | None, typer.Option(help="Only under this licence.")] = None,
    after: Annotated[str | None, typer.Option(metavar="DAY", help="Only from this day on (YYYY-MM-DD).")] = None,
    before: Annotated[str | None, typer.Option(metavar="DAY", help="Only up to this day.")] = None,
    method: Annotated[Literal["hybrid", "vector", "bm25"], typer.Option(help="How to rank.")] = "hybrid",
    budget: _Budget = None,
    embedder: _Embedder = None,
    as_json: _Json = False,
    dialect: _Dialect = "knowledge-1.0",
    compact: _Compact = False,
) -> None:
    """Find the passages that answer a question."""
    filters = {"category": category, "path": path, "license": license, "after": after, "before": before}

    whole: list[Any] = []

    def ask(knowledge: Knowledge) -> ResumablePage:
        paged = knowledge.search_page(
            query,
            response_mode=mode,
            page_size=page_size,
            cursor=cursor,
            fields=field,
            filters=filters,
            method=method,
        )
        whole.extend(paged.reply.data or ())
        return paged

    reply = _answer((index, store), embedder, "semantic_search", ask, dialect, budget)
    if as_json:
        write_json(dialects.dialect(dialect).encode(reply), compact=compact)
    elif reply.problem is None:
        write_text(table.results(reply, whole, nothing=_why_empty(index, store, embedder, reply)))
    _end(reply, as_json)


def vendor(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A vendor's name, or a part of it.")],
    index: _Index = _DEFAULT_INDEX,
    store: _Store = None,
    mode: _Mode = "preview",
    field: Annotated[list[str] | None, typer.Option(help="Only this field; several times for several.")] = None,
    budget: _Budget = None,
    embedder: _Embedder = None,
    as_json: _Json = False,
    dialect: _Dialect = "knowledge-1.0",
    compact: _Compact = False,
) -> None:
    """Say what is known about a vendor."""
    from aerogram.shape.pages import ResumablePage

    def ask(knowledge: Knowledge) -> ResumablePage:
        return ResumablePage(knowledge.vendor(name, response_mode=mode, fields=field))

    reply = _answer((index, store), embedder, "find_vendor_info", ask, dialect, budget)
    if as_json:
        write_json(dialects.dialect(dialect).encode(reply), compact=compact)
    elif reply.problem is None:
        write_text(table.vendor(reply.data))
    _end(reply, as_json)


def copy(
    source: Annotated[str, typer.Option("--from", metavar="INDEX", help="A folder, or postgresql://…")],
    target: Annotated[str, typer.Option("--to", metavar="INDEX", help="A folder, or postgresql://…")],
    as_json: _Json = False,
) -> None:
    """Copy an index into another store, with its ids: cursors and citations stay good."""
    from aerogram_knowledge.maintenance.copy import copy as copy_index

    with _progress() as progress:
        done = copy_index(source, target, progress=progress)
    if as_json:
        write_json({"files": done.files, "already": done.already, "chunks": done.chunks})
    else:
        before = f", {done.already} were there already" if done.already else ""
        write_text(f"{done.files} files copied{before}; {done.chunks} chunks compared, all the same")


def status(
    index: _Index = _DEFAULT_INDEX, store: _Store = None, embedder: _Embedder = None, as_json: _Json = False
) -> None:
    """Say what an index holds and which files it could not read."""
    with _open(index, store, embedder) as knowledge:
        files = knowledge.store.files().values()
        said = {
            **knowledge.check().facts,
            "embedder": knowledge.store.meta().get("embedder"),
            "roots": {label or ".": str(root) for label, root in knowledge.roots().items()},
            "languages": dict(knowledge.store.values("language")),
            "categories": dict(knowledge.store.values("category")),
            "vendors": len(knowledge.directory().vendors()),
            "problems": knowledge.roots().unread | {one.path: one.problem for one in files if one.problem},
            "notes": {one.path: one.note for one in files if one.note},
        }
    if as_json:
        write_json(said)
    else:
        write_text("\n".join(f"{name:<11} {table.fact(value, lines=name in _LISTED)}" for name, value in said.items()))


def check(
    index: _Index = _DEFAULT_INDEX, store: _Store = None, embedder: _Embedder = None, as_json: _Json = False
) -> None:
    """Say whether an index is sound; exit code 1 when it is not."""
    with _open(index, store, embedder) as knowledge:
        health = knowledge.check()
    if as_json:
        write_json({"sound": health.is_sound, "problems": list(health.problems), **health.facts})
    else:
        write_text("sound" if health.is_sound else "\n".join(health.problems))
    if not health.is_sound:
        raise typer.Exit(1)


def rebuild(index: _Index = _DEFAULT_INDEX, store: _Store = None, embedder: _Embedder = None) -> None:
    """Make an index again: from its rows, or from the documents when the rows are damaged."""
    from aerogram_knowledge.maintenance.repair import repair

    if store:
        with _open(index, store, embedder) as knowledge:
            knowledge.rebuild()
        write_text("rebuilt from its rows")
        return
    with _progress() as progress:
        done = repair(_require_index(index), embedder=embedder, progress=progress)
    write_text(done)


def forget(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder or file that was read; it may be gone.")],
    index: _Index = _DEFAULT_INDEX,
    store: _Store = None,
    embedder: _Embedder = None,
    as_json: _Json = False,
) -> None:
    """Take a folder or a file out of an index, whether it still exists or not."""
    from aerogram_knowledge.maintenance.removal import forget as take_out

    with _open(index, store, embedder) as knowledge:
        done = take_out(knowledge, path)
    if as_json:
        again = None if done.root is None else str(done.root)
        write_json({"documents": done.documents, "chunks": done.chunks, "still_in": again})
        return
    write_text(f"{done.documents} documents gone, with {done.chunks} chunks")
    if done.root is not None:
        note(f"{path} is still there: when {done.root} is read again, it comes back")


@contextlib.contextmanager
def _hinting_at_forget(knowledge: Knowledge, paths: Sequence[str]) -> Iterator[None]:
    """Whoever names a folder that was read and is gone is told how to take it out of the index."""
    from aerogram_knowledge.knowledge import knows
    from aerogram_knowledge.roots import absolute

    try:
        yield
    except NotFound as error:
        known = next((one for one in paths if not absolute(one).exists() and knows(knowledge, one)), None)
        if known is not None:
            error.remediation = f"`aerogram index forget {known}` takes out of the index what was read of it"
        raise


@contextlib.contextmanager
def _open(index: Path, store: str | None, embedder: str | None, *, new: bool = False) -> Iterator[Knowledge]:
    from aerogram_knowledge.knowledge import Knowledge

    where = store or (index if new else _require_index(index))
    with Knowledge(where, embedder=embedder) as knowledge:
        yield knowledge


def _require_index(index: Path) -> Path:
    if not (index / "rows.sqlite").exists():
        where = "" if index == _DEFAULT_INDEX else f" --index {index}"
        raise NotFound(f"there is no index at {index}", remediation=f"make one with `aerogram ingest PATH{where}`")
    return index


def _answer(
    where: tuple[Path, str | None],
    embedder: str | None,
    operation: str,
    ask: Callable[[Knowledge], ResumablePage],
    dialect: str,
    budget: str | None,
) -> Reply[Any]:
    """The finished reply; what the caller can fix is a reply too."""
    from aerogram.answer import Call
    from aerogram.shape.pages import ResumablePage
    from aerogram_knowledge.cli.tables import in_options
    from aerogram_knowledge.search.results import finish

    call = Call(operation=operation)
    try:
        with _open(*where, embedder) as knowledge:
            paged = ask(knowledge)
    except ReplyError as error:
        paged = ResumablePage(Reply.failed(problem_of(error)))
    return finish(paged._replace(reply=in_options(paged.reply)), call, dialect, budget)


def _why_empty(index: Path, store: str | None, embedder: str | None, reply: Reply[Any]) -> str | None:
    """Why an index is empty that has been filled, by what is in its folders now; None if that is not the question."""
    if reply.empty_reason != "source_unavailable":
        return None
    from aerogram_knowledge.ingest.folder import list_files

    with _open(index, store, embedder) as knowledge:
        roots = [root for root in knowledge.roots().values() if root.exists()]
        unreadable = sum(one.problem is not None for one in knowledge.store.files().values())
        unreadable += len(knowledge.roots().unread)
    return table.emptiness(roots, unreadable, sum((list_files(one).passed for one in roots), start=Counter()))


def _end(reply: Reply[Any], as_json: bool) -> None:
    if reply.problem is None:
        return
    if not as_json:
        remedy = f" ({reply.problem.remediation})" if reply.problem.remediation else ""
        allowed = (reply.problem.details or {}).get("allowed_fields")
        note(reply.problem.message + remedy + (f"; allowed: {', '.join(allowed)}" if allowed else ""))
    raise typer.Exit(1)


def _tell(done: IngestResult, as_json: bool) -> None:
    if as_json:
        names = ("added", "changed", "unchanged", "removed", "chunks")
        counts = {name: getattr(done, name) for name in names}
        passed = dict(done.passed)
        write_json({**counts, "problems": done.problems, "notes": done.notes, "not_read": passed})
        return
    write_text(_summary(done))
    for line in done.lines():
        note(line)


def _summary(done: IngestResult) -> str:
    rate = f", {done.chunks / done.seconds:,.0f} chunks/s" if done.chunks and done.seconds else ""
    unreadable = f", {len(done.problems)} unreadable" if done.problems else ""
    passed = f"\n{done.passed.total()} not read: {table.kinds(done.passed)}" if done.passed else ""
    return (
        f"{done.added} new, {done.changed} changed, {done.unchanged} unchanged, {done.removed} gone{unreadable}: "
        f"{done.chunks} chunks in {done.seconds:.1f} s{rate}{passed}"
    )


@contextlib.contextmanager
def _progress() -> Iterator[Callable[[int, int, float], None]]:
    """A bar for people, and a line now and then for a log; both say the rate and the time left."""
    pace = Pace()
    if sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield _log_progress(pace)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(BarColumn(), TextColumn("{task.description}"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda done, total, share: bar.update(
            task, completed=share, total=1.0, description=pace.at(done, total, share)
        )


def _log_progress(pace: Pace) -> Callable[[int, int, float], None]:
    """A line every few seconds, so that a short run says nothing."""
    told = time.monotonic()

    def progress(finished: int, total: int, share: float) -> None:
        nonlocal told
        said = pace.at(finished, total, share)
        if time.monotonic() - told >= _PAUSE:
            told = time.monotonic()
            note(said)

    return progress
