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
  aerogram wrap https://mcp.example.com/mcp --header 'Authorization: Bearer ${EXAMPLE_TOKEN}'
  aerogram wrap --listen 8000 -- uvx mcp-server-git
"""
_DEFAULT_BUDGET = "10000"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LAST_PORT = 65535


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("wrap", epilog=_WRAP_EXAMPLES)(wrap)


def wrap(
    server: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL | -- COMMAND...", help="The server: its URL, or a command after --."),
    ] = None,
    budget: Annotated[str, typer.Option(help="Tokens of a reply, or the name of a client.")] = _DEFAULT_BUDGET,
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A variable that the server gets; may stand often.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="A header for a URL; ${NAME} is a variable. May stand often."),
    ] = None,
    sse: Annotated[bool, typer.Option("--sse", help="The URL is one of server-sent events.")] = False,
    listen: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Serve over HTTP on this machine; 0 is any free port.")
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Take secrets out of replies.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that a call may take.")] = 300.0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each call.")] = False,
) -> None:
    """Put the contract before an MCP server that cannot be changed."""
    require("mcp", "mcp")
    import asyncio

    from aerogram.gateway.front import serve_port, serve_streams
    from aerogram.gateway.relay import Relay
    from aerogram.gateway.report import Report

    _set_up_logging()
    place = None if listen is None else _place(listen)
    source = _source(server or (), env or (), header or (), sse)
    report = Report(is_quiet=quiet)
    relay = Relay(source, _tools(budget, redact), report, timeout=timeout, shares=place is not None)
    if place is not None:
        asyncio.run(serve_port(relay, report, *place))
        return
    asyncio.run(serve_streams(relay, report, lambda: os._exit(0)))


def _set_up_logging() -> None:
    """Warnings as lines among those of the calls; how each reply went is on its own line already."""
    import logging

    logging.basicConfig(format="aerogram: %(message)s", level=logging.WARNING)
    logging.getLogger("aerogram.reply").setLevel(logging.CRITICAL)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)


def _place(listen: str) -> tuple[str, int]:
    """A host of this machine, and a port."""
    host, _, port = listen.rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if host not in _LOOPBACK:
        raise ValidationFailed(
            f"The gateway listens on this machine alone, not on {host}",
            remediation=f"Use one of {', '.join(_LOOPBACK)}",
        )
    if not port.isdecimal() or int(port) > _LAST_PORT:
        raise ValidationFailed(f"{port!r} is no port", remediation="Use --listen 8000")
    return host, int(port)


def _source(words: Sequence[str], names: Sequence[str], headers: Sequence[str], is_sse: bool) -> Source:
    from aerogram.gateway.address import Address
    from aerogram.gateway.process import Command

    if not words:
        raise ValidationFailed("There is no server to wrap", remediation="Name its URL, or its command after --")
    if words[0].startswith(("http://", "https://")):
        if words[1:]:
            raise ValidationFailed("A URL stands alone", remediation="Put options before it")
        return Address(words[0], _headers(headers), "sse" if is_sse else "http")
    return Command(tuple(words), _variables(names))


def _headers(given: Sequence[str]) -> dict[str, str]:
    """Headers with the values of variables in them, so that no secret stands in a command or a file."""
    found = {}
    for line in given:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ValidationFailed("A header is 'NAME: VALUE'", remediation="Quote it whole")
        found[name.strip()] = expand(value.strip())
    return found


def expand(text: str) -> str:
    """A text with the values of the variables that it names as ${NAME}."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise ValidationFailed(f"The variable {match[1]} is not set", remediation=f"Set {match[1]} for the gateway")
        return os.environ[match[1]]

    return re.sub(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}", value, text)


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
