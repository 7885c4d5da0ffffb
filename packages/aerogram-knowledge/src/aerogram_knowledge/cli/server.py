"""The server: `aerogram serve` on the command line; it calls the library function of its name."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from aerogram.cli.interrupt import end_at_once
from aerogram.cli.terminal import note, write_text
from aerogram.errors import require
from aerogram_knowledge.cli.hosting import LIBRARIES, register_operation, with_settings
from aerogram_knowledge.cli.index import _progress, _summary
from aerogram_knowledge.hosting.addresses import without_secrets
from aerogram_knowledge.hosting.settings import Settings

_SERVE_EXAMPLES = """\b
Examples:
  aerogram serve ./docs
  aerogram serve ./docs ./wiki --port 9000 --watch
  aerogram serve ./docs --stdio
  aerogram serve --index ~/notes.index --dialect response-v2 --budget 4000
"""

_STDIO_PARTS = ("aerogram_knowledge.server.serve", "aerogram_knowledge.server.tools")
_HTTP_PARTS = (*_STDIO_PARTS, "aerogram_knowledge.server.routes", "aerogram.serving.connection")


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("serve", epilog=_SERVE_EXAMPLES)(serve)
    register_operation(app)


@with_settings(without=("documents", "transport"))
def serve(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="FOLDER...", help="Folders and files to serve; none: the index.")
    ] = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="Talk to one MCP client on standard streams.")] = False,
    **flags: Any,
) -> None:
    """Serve documents to agents: search, passages, digests and vendors, over MCP and HTTP."""
    file = flags.pop("config")
    given = {"documents": folders, "transport": "stdio" if stdio else None, **flags}
    settings = Settings.load(given, file=file)
    _load_libraries(settings)
    from aerogram.serving.gate import needs_keys
    from aerogram_knowledge.server.page import owner_token
    from aerogram_knowledge.server.serve import serve as run
    from aerogram_knowledge.server.serve import welcome

    if settings.transport == "stdio":
        run(settings, told=lambda done: note(f"{done.files + done.unchanged} files are ready"), leave=end_at_once)
        return
    with contextlib.ExitStack() as bar:

        def begin() -> Any:
            write_text(_introduction(settings))
            return bar.enter_context(_progress())

        def show_summary(done: Any) -> None:
            bar.close()
            write_text(_summary(done))

        def ready(address: str, question: str) -> None:
            bar.close()
            write_text(welcome(address, question, owner_token() if needs_keys(settings) else None))

        run(settings, begin=begin, told=show_summary, ready=ready, leave=end_at_once)


def _load_libraries(settings: Settings) -> None:
    """Load what takes most of a start, without what only makes it longer."""
    require("server", *LIBRARIES)
    # the store of the archive would check the types of every call once more
    os.environ.setdefault("PY_KEY_VALUE_DISABLE_BEARTYPE", "true")
    gc.disable()  # loading makes a great many objects, and all of them stay
    try:
        for name in _STDIO_PARTS if settings.transport == "stdio" else _HTTP_PARTS:
            importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


def _introduction(settings: Settings) -> str:
    where = without_secrets(str(settings.where))
    what = ", ".join(map(str, settings.documents)) or f"the index {where}"
    return (
        f"Serving {what} to agents: they can search it, page through it, read digests and look up vendors.\n"
        f"What is read is kept in {where}, so the next start is quick."
    )
