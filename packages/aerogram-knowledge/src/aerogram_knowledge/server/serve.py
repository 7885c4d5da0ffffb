"""Serve: a folder of documents behind MCP and HTTP, from its first reading to its last reply.

read the documents ──▶ listen ──▶ answer ──▶ on Ctrl-C or SIGTERM: finish what is running, and end
      │                              │
      └── on standard streams: at the latest after a while, reading goes on beside answering
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import logging
import random
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from anyio import to_thread

from aerogram.archive import Archive
from aerogram.cursor import CursorKeys
from aerogram.errors import Conflict, MissingExtra, NotFound, Unavailable
from aerogram.serving.gate import refuse_exposure
from aerogram.serving.listener import answer_on, leave_in_time, listening, make_server, run_to_the_end, signals
from aerogram_knowledge.access.keys import Keys
from aerogram_knowledge.documents.document import READ_KINDS
from aerogram_knowledge.hosting.addresses import is_url, without_secrets
from aerogram_knowledge.hosting.client_files import KEY_VARIABLE
from aerogram_knowledge.hosting.drain import Drain
from aerogram_knowledge.hosting.fleet import SharedParts
from aerogram_knowledge.hosting.logs import configure_logs
from aerogram_knowledge.hosting.settings import Settings
from aerogram_knowledge.ingest.ingest import IngestResult, Progress
from aerogram_knowledge.knowledge import Knowledge, others
from aerogram_knowledge.server.app import MCP_PATH, build_app, build_contract
from aerogram_knowledge.server.library import Library
from aerogram_knowledge.server.opening import open_keys, open_library

if TYPE_CHECKING:
    import uvicorn

__all__ = ["refuse_others", "require_documents", "serve", "upkeep", "welcome"]

log = logging.getLogger("aerogram.server")

NOTICE_EVERY: Final = 5.0
"""Seconds after which a rotated key is noticed."""
SWEEP_EVERY: Final = 3600.0
TURN: Final = 0.0005
"""Seconds after which a thread that writes files has its turn beside a busy event loop; it takes many."""


@contextlib.asynccontextmanager
async def upkeep(keys: CursorKeys, archive: Archive) -> AsyncIterator[None]:
    """Keep things up as long as this lasts."""
    tasks = [asyncio.create_task(_refresh_keys(keys)), asyncio.create_task(_sweep(archive))]
    try:
        yield
    finally:
        for one in tasks:
            one.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _refresh_keys(keys: Any) -> None:
    while hasattr(keys, "_update"):  # those of one process are known already
        await asyncio.sleep(NOTICE_EVERY)
        with _logging_failures("the signing keys cannot be read"):
            await to_thread.run_sync(lambda: keys._update(rotate=False))


async def _sweep(archive: Archive) -> None:
    while True:
        await asyncio.sleep(SWEEP_EVERY * random.uniform(0.5, 1.5))  # noqa: S311 - only to come at different times
        with _logging_failures("the archive cannot be swept"):
            await archive.sweep()


@contextlib.contextmanager
def _logging_failures(words: str) -> Any:
    """Whatever fails is tried again later, so it is a line in the log."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - it must not end what goes on for ever
        log.warning("%s: %s", words, error)


PATIENCE: Final = 20.0
"""Seconds that a client on standard streams waits for the first reading, before it is answered from what there is."""
PAUSE: Final = 5.0
Begin = Callable[[], Progress]
Told = Callable[[IngestResult], None]
Ready = Callable[[str, str], None]
Leave = Callable[[], object]


def serve(
    settings: Settings,
    *,
    begin: Begin | None = None,
    told: Told | None = None,
    ready: Ready | None = None,
    leave: Leave | None = None,
) -> None:
    """Serve until the process is told to end.

    `begin` is called when nothing stands in the way and the reading begins, and gives who hears of its progress;
    `told` hears what it came to, `ready` the address and a question that has an answer. `leave` ends the process if
    a thread keeps it from ending: one that is busy with a request cannot be stopped.
    """
    require_documents(settings)
    if settings.transport == "stdio":
        _set_up_logs(settings)
        fleet = SharedParts(settings)
        with open_library(settings, fleet.clock) as library:
            refuse_others(library.knowledge, settings)
            _serve_stdio(library, settings, fleet, told, leave)
        return
    if not settings.has_shared_keys:
        refuse_exposure(settings, open_keys(settings))
    with listening(settings.host, settings.port) as listener:
        _set_up_logs(settings)
        fleet = SharedParts(settings)
        with open_library(settings, fleet.clock) as library:
            refuse_others(library.knowledge, settings)
            keys = open_keys(settings, library.knowledge.store, fleet.clock)
            refuse_exposure(settings, keys)
            _update(library, settings.documents, told, None if begin is None else begin())
            _serve_http(library, settings, keys, fleet, listener, ready, leave)


def _update(library: Library, documents: tuple[Path, ...], told: Told | None, progress: Progress | None = None) -> None:
    """Read what has changed; an index behind an address is read into by whoever is told to, not by every server."""
    if library.folder is None and not documents:
        return
    if not library.can_be_written:
        log.warning("%s cannot be written, so it is served as it is: no change of a document is read", library.folder)
        return
    if not documents and not _has_roots_here(library):
        return
    try:
        done = library.update(*documents, progress=progress)
    except Unavailable as error:
        if not library.knowledge.documents():
            raise
        log.warning("%s. What has changed is not read, and the index is served as it is", error)
        return
    if told is not None:
        told(done)
    _warn(done)


def _has_roots_here(library: Library) -> bool:
    """Whether a folder that the index has read is on this machine, or it has read none."""
    roots = library.knowledge.roots().values()
    gone = [one for one in roots if not one.exists()]
    for one in gone:
        log.warning("%s is not on this machine, so no change of its documents is read, and none is digested", one)
    return not gone or len(gone) < len(roots)


def _warn(done: IngestResult) -> None:
    """Say what is served less than somebody may think who has named documents."""
    _warn_of_files(done)
    if not (done.files or done.unchanged):
        log.warning("no document was found: %s files are read", READ_KINDS)


def _warn_of_files(done: IngestResult, heard: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """Say which files could not be read, or not wholly, apart from what was heard before."""
    for line in done.lines(heard):
        log.warning("%s", line)
    return done.told


def _set_up_logs(settings: Settings) -> None:
    """One log for all; FastMCP would write its own beside it, with a trace for every mistake of a caller."""
    import fastmcp  # noqa: F401 - loading it sets up its log

    theirs = logging.getLogger("fastmcp")
    theirs.handlers.clear()
    theirs.propagate = True
    configure_logs(settings)
    theirs.setLevel(logging.CRITICAL)


def require_documents(settings: Settings) -> None:
    """Raise `NotFound` when a document that is named is not there, or when none is named and there is no index."""
    for one in settings.documents:
        if not one.exists():
            raise NotFound(f"there is no {one}")
    if not settings.documents and not is_url(settings.where) and not (settings.folder / "rows.sqlite").exists():
        raise NotFound("there is nothing to serve: name a folder of documents, as in `aerogram serve ./docs`")


def refuse_others(knowledge: Knowledge, settings: Settings) -> None:
    """Raise `Conflict` when documents are named and the index has others too: nobody has said that they be shown."""
    found = list(map(str, others(knowledge, settings.documents))) if settings.documents else []
    if found:
        raise Conflict(
            f"the index {without_secrets(str(settings.where))} also has documents of {', '.join(found)}, "
            "which are not among those to serve",
            remediation=f"name them too, take them out with `aerogram index forget {found[0]}`, keep what you serve in "
            "an index of its own with --index FOLDER, or name no folder to serve the whole index",
        )


# HTTP


def _serve_http(
    library: Library,
    settings: Settings,
    keys: Keys,
    fleet: SharedParts,
    listener: socket.socket,
    ready: Ready | None,
    leave: Leave | None,
) -> None:
    app = build_app(library, build_contract(library, settings, keys, fleet), settings, keys, fleet)
    server = make_server(app, settings)
    address = f"http://{_url_host(settings.host)}:{listener.getsockname()[1]}"

    gc.collect()
    gc.freeze()  # what is there by now stays, and need not be looked through while somebody waits
    sys.setswitchinterval(TURN)

    def announce() -> None:
        if ready is not None:
            ready(address, library.suggestion())  # whoever connects now waits in the queue of the socket

    with fleet.metrics.reporting(), _following(library, settings):
        _run(_answer_and_keep_up(server, listener, fleet, settings.drain, library.cursors._keys, announce), leave)
    log.info("the server has ended")


def _run(work: Coroutine[Any, Any, None], leave: Leave | None) -> None:
    """Run to the end, and from there on out of the process."""
    left = run_to_the_end(work)
    if left:
        log.warning("%d requests wait for threads that are still at work, and are not waited for", len(left))
    if leave is not None:
        leave_in_time(leave)


def _url_host(host: str) -> str:
    """The host as it stands in an address; whoever listens everywhere is also on this machine."""
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host.strip("[]"), host.strip("[]"))  # noqa: S104 - not bound here
    return f"[{name}]" if ":" in name else name


async def _answer_and_keep_up(
    server: uvicorn.Server,
    listener: socket.socket,
    fleet: SharedParts,
    seconds: float,
    keys: CursorKeys,
    begun: Callable[[], object],
) -> None:
    async with upkeep(keys, fleet.archive):
        await _answer(server, listener, fleet.drain, seconds, begun)


async def _answer(
    server: uvicorn.Server, listener: socket.socket, drain: Drain, seconds: float, begun: Callable[[], object]
) -> None:
    """Answer until a signal comes, and for some seconds more; a second one does not wait for what is running."""

    def stop() -> None:
        server.should_exit = True

    def end() -> None:
        if drain.has_begun:
            server.force_exit = server.should_exit
            stop()
        else:
            drain.begin()
            asyncio.get_running_loop().call_later(seconds, stop)

    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign, assignment]  # ours count
    with signals(end):
        begun()  # from here on a signal finds somebody who listens
        await answer_on(server, listener)


# standard streams


def _serve_stdio(
    library: Library, settings: Settings, fleet: SharedParts, told: Told | None, leave: Leave | None
) -> None:
    from aerogram_knowledge.server.tools import build_tools

    keys = open_keys(settings, library.knowledge.store, fleet.clock)
    tools = build_tools(library, build_contract(library, settings, keys, fleet))
    reading = threading.Thread(target=_read, args=(library, settings.documents, told), daemon=True)
    reading.start()
    reading.join(PATIENCE)
    with _following(library, settings):
        _run(_talk(tools, leave), leave)


def _read(library: Library, documents: tuple[Path, ...], told: Told | None) -> None:
    try:
        _update(library, documents, told)
    except Exception:
        log.exception("the documents could not be read")


async def _talk(tools: Any, leave: Leave | None) -> None:
    """Answer on the standard streams until the client closes them, or a signal comes.

    In the second case `leave` ends the process, whatever its threads still wait for.
    """
    from aerogram._mcp.lines import serve_lines

    wanted = asyncio.Event()
    with signals(wanted.set):
        talking = asyncio.ensure_future(serve_lines(tools._mcp_server))
        ending = asyncio.ensure_future(wanted.wait())
        await asyncio.wait((talking, ending), return_when=asyncio.FIRST_COMPLETED)
    if talking.done():
        talking.result()
    elif leave is not None:
        leave()


# documents that change


@contextlib.contextmanager
def _following(library: Library, settings: Settings) -> Iterator[None]:
    """Keep the index up to date beside everything else, if that is wanted."""
    if not settings.watch or not library.can_be_written:
        yield
        return
    stop = threading.Event()
    thread = threading.Thread(target=_follow, args=(library, settings.documents, stop), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(PAUSE)


def _follow(library: Library, documents: tuple[Path, ...], stop: threading.Event) -> None:
    from aerogram_knowledge.maintenance.watch import keep_watching

    def warn(error: Exception) -> None:
        log.warning("changes cannot be followed at the moment: %s", error)

    try:
        keep_watching(lambda: library.knowledge, _listener(), warn, stop, paths=documents)
    except MissingExtra as error:
        log.warning("changes are not followed: %s", error)


def _listener() -> Told:
    """Who writes down what changes come to, each file that cannot be read once."""
    heard: dict[str, str] = {}

    def log_changes(done: IngestResult) -> None:
        nonlocal heard
        log.info("the documents have changed: %d new, %d changed, %d gone", done.added, done.changed, done.removed)
        heard = _warn_of_files(done, heard)

    return log_changes


def welcome(address: str, question: str, owner: str | None = None) -> str:
    """What a person reads when the server is ready.

    `owner` is the token that lets the owner watch a server that asks for keys; what to try then has a key as well.
    """
    query = urlencode({"q": question, "response_mode": "preview", "envelope": "v2"})
    header = f'-H "X-API-Key: ${KEY_VARIABLE}" ' if owner else ""
    client: dict[str, Any] = {"type": "http", "url": address + MCP_PATH}
    if owner:
        client["headers"] = {"X-API-Key": f"${{{KEY_VARIABLE}}}"}
    key = "  key       the page asks for one; make it with: aerogram keys create NAME\n" if owner else ""
    return (
        f"\nReady at {address} (Ctrl-C ends it)\n\n"
        f"  try       curl {header}'{address}/v1/search?{query}'\n"
        f"  clients   {json.dumps({'mcpServers': {'aerogram': client}})}\n"
        f"  page      {address}/{f'#owner={owner}' if owner else ''}\n{key}"
        f"  docs      {address}/docs"
    )
