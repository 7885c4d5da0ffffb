"""Walk: through which files a call goes, in which order, and how often it comes back to one that it had left.

    python tools/walk.py             five calls, a line each
    python tools/walk.py list -v     the files of one call in their order; what is in brackets was visited before

Counted are the calls of functions in this repository's packages, in every thread, while a warm server answers one
request, each function once, when it is first called: what is done for each row is no more than what is done for one.
Two functions of one file in a row are one visit; a visit to a file that was left is a return.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import tempfile
import textwrap
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = str(ROOT / "packages")
os.environ["AEROGRAM_STATE"] = tempfile.mkdtemp(prefix="walk-")

Step = Callable[[], Awaitable[Any]]


class Walk:
    """The files of the functions that were called, one visit after the other."""

    def __init__(self) -> None:
        self.visits: list[str] = []
        self.functions: set[tuple[str, int]] = set()
        self._is_recording = False
        threading.setprofile(self._note)  # for the threads that are started from now on
        sys.setprofile(self._note)

    @contextmanager
    def record(self) -> Iterator[None]:
        """Note every call of a function of ours."""
        self._is_recording = True
        try:
            yield
        finally:
            self._is_recording = False
            sys.setprofile(None)
            threading.setprofile(None)

    def _note(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or not self._is_recording or not code.co_filename.startswith(PACKAGES):
            return
        name = code.co_filename.partition("/src/")[2]
        if (name, code.co_firstlineno) in self.functions:
            return
        self.functions.add((name, code.co_firstlineno))
        if not self.visits or self.visits[-1] != name:
            self.visits.append(name)

    @property
    def files(self) -> list[str]:
        """The files in the order in which they were first visited."""
        return list(dict.fromkeys(self.visits))

    @property
    def picture(self) -> str:
        """The visits in their order."""
        known: set[str] = set()
        shown = []
        for name in self.visits:
            short = name.removeprefix("aerogram/").removesuffix(".py")
            shown.append(f"({short})" if name in known else short)
            known.add(name)
        return " → ".join(shown)

    @property
    def returns(self) -> int:
        """How often a file was visited again."""
        return len(self.visits) - len(self.files)


ROWS = [{"id": number, "title": f"Issue {number}", "state": "open", "body": "words " * 40} for number in range(300)]


@asynccontextmanager
async def fitted_list() -> AsyncIterator[Step]:
    """A FastMCP tool whose list does not fit."""
    from fastmcp import Client, FastMCP

    from aerogram.fastmcp import install

    server: FastMCP[Any] = FastMCP("walk")
    server.tool(lambda: ROWS, name="list_issues")
    install(server, dialect="response-v2", budget=2_000)
    async with Client(server) as client:
        yield lambda: client.call_tool("list_issues", {}, raise_on_error=False)


@asynccontextmanager
async def failure() -> AsyncIterator[Step]:
    """A FastAPI route that fails."""
    import httpx
    from fastapi import FastAPI

    from aerogram.contract import Contract
    from aerogram.errors import NotFound
    from aerogram.fastapi import install

    app = FastAPI()

    @app.get("/issues/{number}")
    async def issue(number: int) -> dict[str, Any]:
        raise NotFound(f"There is no issue {number}")

    install(app, Contract())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://walk") as client:
        yield lambda: client.get("/issues/7")


@asynccontextmanager
async def search() -> AsyncIterator[Step]:
    """A search over HTTP, on the knowledge server with its guard."""
    import httpx

    from aerogram_knowledge import Knowledge
    from aerogram_knowledge.hosting.settings import Settings
    from aerogram_knowledge.server.app import build_app, build_contract
    from aerogram_knowledge.server.opening import open_keys, open_library

    settings = Settings(index=Path(tempfile.mkdtemp(prefix="walk-")) / "index")
    Knowledge(settings.index).ingest(ROOT / "samples")
    library, keys = open_library(settings), open_keys(settings)
    app = build_app(library, build_contract(library, settings, keys), settings, keys)
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield lambda: client.get("/v1/search", params={"q": "how do I rotate a key"})


async def _paged() -> Any:
    from fastmcp import Client, FastMCP

    from aerogram.fastmcp import install

    server: FastMCP[Any] = FastMCP("walk")
    server.tool(lambda: ROWS, name="list_issues")
    install(server, dialect="response-v2", budget=2_000, controls=True)
    return Client(server)


@asynccontextmanager
async def second_page() -> AsyncIterator[Step]:
    """The second page of a list, by its cursor."""
    async with await _paged() as client:
        first = await client.call_tool("list_issues", {"page_size": 10}, raise_on_error=False)
        cursor = _find(first.structured_content, "cursor") or _find(first.structured_content, "next_cursor")
        yield lambda: client.call_tool("list_issues", {"page_size": 10, "cursor": cursor}, raise_on_error=False)


@asynccontextmanager
async def retrieval() -> AsyncIterator[Step]:
    """What a fitted list left out, by its hash."""
    async with await _paged() as client:
        first = await client.call_tool("list_issues", {}, raise_on_error=False)
        digest = next(iter((_find(first.structured_content, "content_archive_hashes") or {}).values()))
        yield lambda: client.call_tool("retrieve", {"hash": digest}, raise_on_error=False)


def _find(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        if value.get(name):
            return value[name]
        value = list(value.values())
    found = (_find(one, name) for one in value) if isinstance(value, list) else ()
    return next((one for one in found if one), None)


CALLS = {"list": fitted_list, "failure": failure, "search": search, "page": second_page, "retrieve": retrieval}


async def walk(name: str) -> Walk:
    """The way of one call, after some that have warmed everything up."""
    found = Walk()
    async with CALLS[name]() as step:
        for _ in range(3):
            answer = await step()
        if os.environ.get("WALK_SHOW"):
            print(str(getattr(answer, "text", None) or answer)[:300])
        with found.record():
            await step()
    return found


def main() -> None:
    """Print the walks."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("call", nargs="*", metavar="CALL", help=f"{', '.join(CALLS)}; all by default")
    asked.add_argument("-v", "--verbose", action="store_true", help="name the files in their order")
    given = asked.parse_args()
    logging.disable(logging.WARNING)
    print(f"{'call':10} functions  files  returns")
    for name in given.call or CALLS:
        found = asyncio.run(walk(name))
        print(f"{name:10} {len(found.functions):9}  {len(found.files):5}  {found.returns:7}")
        if given.verbose:
            print(textwrap.fill(found.picture, 112, initial_indent="  ", subsequent_indent="  "))


if __name__ == "__main__":
    main()
