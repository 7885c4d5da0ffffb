"""The command line: `aerogram inspect`, which calls the library function of its name."""

from __future__ import annotations

import webbrowser
from typing import Annotated

import typer

from aerogram.cli.terminal import write_text
from aerogram.errors import require

_INSPECT_EXAMPLES = """\b
Examples:
  aerogram inspect reply.json
  curl -s localhost:8000/v1/search?q=tokens | aerogram inspect
  aerogram inspect 'http://localhost:8000/v1/search?q=tokens&envelope=v2'
  aerogram inspect http://localhost:8000/mcp --tool semantic_search --args '{"query": "tokens"}'
  aerogram inspect --command 'aerogram serve ./docs --stdio' --tool semantic_search --args '{"query": "tokens"}'
"""


def register(app: typer.Typer) -> None:
    """Add the verb to the program."""
    app.command("inspect", epilog=_INSPECT_EXAMPLES)(inspect)


def inspect(
    target: Annotated[
        str | None, typer.Argument(metavar="FILE|-|URL", help="A reply, or a server to ask; none: standard input.")
    ] = None,
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="The tool of an MCP server to call.")] = None,
    args: Annotated[str, typer.Option(metavar="JSON", help="The arguments of the tool.")] = "{}",
    command: Annotated[str | None, typer.Option(help="An MCP server to start, on standard streams.")] = None,
    header: Annotated[
        list[str] | None, typer.Option(metavar="'NAME: VALUE'", help="A header for the server; may stand often.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0 is any free port.")] = 0,
    open_: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = True,
) -> None:
    """Open a reply in the page: at every size, in every dialect, with what is wrong with it."""
    require("page", "starlette", "uvicorn", "fastmcp")
    from aerogram_page.targets import ReplyTarget, fetch

    opened = fetch(ReplyTarget(target, tool, args, command, tuple(header or ())))
    from aerogram_page.inspection import inspect as run  # after the reply is there: it takes a moment

    def ready(address: str) -> None:
        what = f"{opened.title} ({opened.recognised}, {opened.bytes:,} bytes)"
        write_text(f"Inspecting {what}\nReady at {address} (Ctrl-C ends it)")
        if open_:
            webbrowser.open(address)

    run(opened, port=port, ready=ready)
