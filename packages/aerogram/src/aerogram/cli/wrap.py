"""Wrap: the verbs of the gateway on the command line. What they need is loaded when they are called."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aerogram.errors import ValidationFailed, require

if TYPE_CHECKING:
    from aerogram.gateway.link import Source

_WRAP_EXAMPLES = """\b
Examples:
  aerogram wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  aerogram wrap --budget claude-code --env GITHUB_TOKEN -- github-mcp-server stdio
"""
_DEFAULT_BUDGET = "10000"


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("wrap", epilog=_WRAP_EXAMPLES)(wrap)


def wrap(
    server: Annotated[
        list[str] | None, typer.Argument(metavar="-- COMMAND...", help="The server: a command after --.")
    ] = None,
    budget: Annotated[str, typer.Option(help="Tokens of a reply, or the name of a client.")] = _DEFAULT_BUDGET,
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A variable that the server gets; may stand often.")
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Take secrets out of replies.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a call may take.")] = 300.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each call.")] = False,
) -> None:
    """Put the contract before an MCP server that cannot be changed."""
    require("mcp", "mcp")
    import asyncio

    from aerogram.gateway.front import serve_streams
    from aerogram.gateway.relay import Relay
    from aerogram.gateway.report import Report

    _set_up_logging()
    source = _source(server or (), env or ())
    report = Report(is_quiet=quiet)
    relay = Relay(source, _tools(budget, redact), report, timeout=timeout)
    asyncio.run(serve_streams(relay, report, lambda: os._exit(0)))


def _set_up_logging() -> None:
    """Warnings as lines among those of the calls; how each reply went is on its own line already."""
    import logging

    logging.basicConfig(format="aerogram: %(message)s", level=logging.WARNING)
    logging.getLogger("aerogram.reply").setLevel(logging.CRITICAL)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)


def _source(words: Sequence[str], names: Sequence[str]) -> Source:
    from aerogram.gateway.process import Command

    if not words:
        raise ValidationFailed("There is no server to wrap", remediation="Name its command after --")
    return Command(tuple(words), _variables(names))


def _variables(names: Sequence[str]) -> dict[str, str]:
    """The variables that a server gets: those that are named, if they are set."""
    wrong = [name for name in names if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)]
    if wrong:
        raise ValidationFailed(
            f"{wrong[0].partition('=')[0]!r} is not the name of a variable",
            remediation="Name it alone: its value comes from the environment",
        )
    return {name: os.environ[name] for name in names if name in os.environ}


def _tools(budget: str, redact: bool) -> Any:
    from aerogram._mcp.defaults import contract_for
    from aerogram.gateway.report import observer
    from aerogram.gateway.tools import Tools
    from aerogram.sanitize import Redaction

    settings: Mapping[str, Any] = {"dialect": "bare", "budget": budget, "observer": observer()}
    return Tools(contract_for(None, {**settings, "sanitizers": [Redaction()] if redact else []}))
