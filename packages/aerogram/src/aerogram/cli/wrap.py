"""Wrap: the verbs of the gateway on the command line. What they need is loaded when they are called."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from aerogram.cli.interrupt import end_at_once
from aerogram.cli.terminal import note, write_json, write_text
from aerogram.errors import MissingExtra, NotFound, ValidationFailed, require

if TYPE_CHECKING:
    from aerogram.gateway.client_files import Change
    from aerogram.gateway.front import Page
    from aerogram.gateway.relay import Relay
    from aerogram.gateway.report import Report
    from aerogram.gateway.settings import Settings
    from aerogram.gateway.tools import Tools

_WRAP_EXAMPLES = """\b
Examples:
  aerogram wrap -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  aerogram wrap --budget claude-code --env GITHUB_TOKEN -- github-mcp-server stdio
  aerogram wrap https://mcp.example.com/mcp --header 'Authorization: Bearer ${EXAMPLE_TOKEN}'
  aerogram wrap --listen 8000 -- uvx mcp-server-git
  aerogram wrap --settings servers.toml --listen 8000
  aerogram wrap --config .mcp.json --for claude-code
"""
_UNWRAP_EXAMPLES = """\b
Examples:
  aerogram unwrap .mcp.json
"""
_PAGES = "aerogram.gateway"
"""Who offers a page for the calls of a gateway."""
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_LAST_PORT = 65535

Yes = Annotated[bool, typer.Option("--yes", help="Make the change without asking.")]


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("wrap", epilog=_WRAP_EXAMPLES)(wrap)
    app.command("unwrap", epilog=_UNWRAP_EXAMPLES)(unwrap)


def wrap(
    server: Annotated[
        list[str] | None,
        typer.Argument(metavar="URL | -- COMMAND...", help="The server: its URL, or a command after --."),
    ] = None,
    budget: Annotated[str | None, typer.Option(help="Tokens of a reply, or the name of a client; 10000.")] = None,
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A variable that the server gets; may stand often.")
    ] = None,
    env_file: Annotated[
        str | None, typer.Option("--env-file", metavar="FILE", help="Variables that the server gets, NAME=VALUE.")
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(metavar="'NAME: VALUE'", help="A header for a URL; ${NAME} is a variable. May stand often."),
    ] = None,
    sse: Annotated[bool, typer.Option("--sse", help="The URL is one of server-sent events.")] = False,
    login: Annotated[bool, typer.Option("--login", help="Log in at the URL in a browser (OAuth).")] = False,
    listen: Annotated[
        str | None, typer.Option(metavar="[HOST:]PORT", help="Serve over HTTP on this machine; 0 is any free port.")
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Take secrets out of replies.")] = False,
    timeout: Annotated[float | None, typer.Option(min=0.1, help="Seconds that a call may take; 300.")] = None,
    settings: Annotated[Path | None, typer.Option(metavar="FILE", help="A file with settings of servers.")] = None,
    name: Annotated[str | None, typer.Option("--server", metavar="NAME", help="Which server of the file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Print what would apply, and end.")] = False,
    config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A client's file: wrap each server in it.")
    ] = None,
    client: Annotated[str | None, typer.Option("--for", metavar="CLIENT", help="Whose limits hold for it.")] = None,
    yes: Yes = False,
    page: Annotated[bool, typer.Option("--page", help="Watch the calls in a browser.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each call.")] = False,
) -> None:
    """Put the contract before an MCP server that cannot be changed."""
    require("mcp", "mcp")
    if config is not None:
        _refuse_beside_file(
            {"a server": server, "--env": env, "--env-file": env_file, "--header": header, "--sse": sse}
            | {"--login": login, "--listen": listen, "--settings": settings, "--server": name, "--check": check}
        )
        taken = {"--budget": budget or client, "--timeout": timeout}
        _rewrite(config, {**taken, "--redact": redact, "--page": page, "--quiet": quiet}, is_agreed=yes)
        return
    given: dict[str, Any] = {
        "budget": int(budget) if budget and budget.isdecimal() else budget or client,
        "env": env or None,
        "env_file": env_file,
        "headers": _headers(header or []),
        "transport": "sse" if sse else None,
        "login": login or None,
        "redact": redact or None,
        "timeout": timeout,
    }
    if settings is None and name is not None:
        raise ValidationFailed("--server chooses among the servers of a file", remediation="Add --settings FILE")
    if settings is not None and server:
        raise ValidationFailed("The servers are those of the file", remediation="Leave out the one beside --settings")
    chosen = {"": _settings_of(server or [], given)} if settings is None else _settings_from(settings, name, given)
    if check:
        _check(chosen)
    elif listen is not None:
        _run_port(chosen, *_place(listen), is_quiet=quiet, has_page=page)
    elif len(chosen) > 1:
        raise ValidationFailed(
            "Which server?", remediation=f"Add --server, one of {', '.join(chosen)}, or --listen PORT"
        )
    else:
        _run_streams(next(iter(chosen.values())), is_quiet=quiet, has_page=page)


def _check(chosen: Mapping[str, Settings]) -> None:
    """Say what would apply; fail where it would not work."""
    said = {one: found.describe() for one, found in chosen.items()}
    write_json(said.get("", said))
    missing = {one: found.missing() for one, found in chosen.items()}
    for name, found in chosen.items():
        if found.login and found.url is not None and missing[name] is None:
            _log_in(found.address())
    for name, what in missing.items():
        if what is not None:
            note(f"{name}: {what}" if name else what)
    if any(missing.values()):
        raise typer.Exit(1)


def _log_in(url: str) -> None:
    import asyncio
    import logging

    from aerogram.gateway.login import log_in

    logging.basicConfig(format="aerogram: %(message)s", level=logging.WARNING)
    asyncio.run(log_in(url))


def unwrap(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A client's file whose servers are wrapped.")],
    yes: Yes = False,
) -> None:
    """Take the wrapping out of a client's file again."""
    from aerogram.gateway.client_files import plan_unwrap

    _agree(plan_unwrap(file), is_agreed=yes)


def _run_streams(settings: Settings, *, is_quiet: bool, has_page: bool) -> None:
    """Serve one client. One that starts a server which is not there hears that as the answer to its first request."""
    import asyncio

    from aerogram.gateway.front import serve_streams

    missing, tools = settings.missing(), _tools([settings])[0]
    page, report = _report(tools, is_quiet=is_quiet, has_page=has_page)
    if missing is not None:
        report.note(missing)
    elif sys.stdin is not None and sys.stdin.isatty():
        report.note("waiting for an MCP client on standard input; --listen PORT serves over HTTP")
    asyncio.run(serve_streams(_relay(settings, tools, report, shares=False), report, _leave, page))
    if missing is not None:
        raise typer.Exit(1)


def _run_port(servers: Mapping[str, Settings], host: str, port: int, *, is_quiet: bool, has_page: bool) -> None:
    import asyncio

    from aerogram.gateway.front import serve_port

    tools = _tools(servers.values())
    page, report = _report(tools[0], is_quiet=is_quiet, has_page=has_page)
    missing = {name: what for name, found in servers.items() if (what := found.missing()) is not None}
    if len(missing) == len(servers):
        raise NotFound(", ".join(missing.values()), remediation="Check the command of the server")
    for name, what in missing.items():
        report.note(f"{name}: {what}")
    paths = [f"/{name}/mcp" if name else "/mcp" for name in servers]
    found = zip(servers.values(), tools, strict=True)
    relays = {path: _relay(*one, report, shares=True) for path, one in zip(paths, found, strict=True)}
    asyncio.run(serve_port(relays, report, host, port, _leave, page))


def _leave() -> NoReturn:
    from aerogram.gateway.aside import aside

    aside().end()
    end_at_once()


def _tools(settings: Iterable[Settings]) -> list[Tools]:
    import logging

    from aerogram.gateway.aside import aside

    # warnings are lines among those of the calls; how each reply went is on its own line already
    logging.basicConfig(stream=aside(), format="aerogram: %(message)s", level=logging.WARNING)
    logging.getLogger("aerogram.reply").setLevel(logging.CRITICAL)
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    wrapped = list(settings)
    owner = f"gateway {[one.identity() for one in wrapped]}"
    return [one.make_tools(owner) for one in wrapped]


def _report(tools: Tools, *, is_quiet: bool, has_page: bool) -> tuple[Page | None, Report]:
    """Who hears of the calls. All servers of a gateway share an archive, so that any of their contracts will do."""
    from aerogram.gateway.report import Report

    if not has_page:
        return None, Report(is_quiet=is_quiet)
    found = next(iter(entry_points(group=_PAGES)), None)
    if found is None:
        raise MissingExtra("page", "aerogram-page")
    require("page", "starlette", "uvicorn")
    page: Page = found.load()(tools.contract)
    return page, Report(is_quiet=is_quiet, listener=page.hear)


def _relay(settings: Settings, tools: Tools, report: Report, *, shares: bool) -> Relay:
    from aerogram.gateway.relay import Relay

    times = {"timeout": settings.timeout, "pause": settings.pause}
    return Relay(settings.source(), tools, report, **times, shares=shares)


def _settings_of(words: list[str], given: dict[str, Any]) -> Settings:
    """The settings of a server that the command line names."""
    if not words:
        raise ValidationFailed("There is no server to wrap", remediation="Name its URL, or its command after --")
    is_url = words[0].startswith(("http://", "https://", "${", "@{"))
    if is_url and words[1:]:
        raise ValidationFailed("A URL stands alone", remediation="Write options with two dashes")
    return _make_settings({}, {**given, **({"url": words[0]} if is_url else {"command": words})})


def _make_settings(found: Mapping[str, Any], given: Mapping[str, Any]) -> Settings:
    """Settings, some of which the command line may give."""
    from pydantic import ValidationError

    from aerogram.gateway.settings import Settings

    said = {name: value for name, value in given.items() if value is not None}
    try:
        return Settings.model_validate({**found, **said})
    except ValidationError as error:
        raise ValidationFailed(error.errors()[0]["msg"].removeprefix("Value error, ")) from None


def _settings_from(path: Path, name: str | None, given: dict[str, Any]) -> dict[str, Settings]:
    """The settings of the servers in a file, or of one of them; what the command line says goes before them."""
    from aerogram.errors import hint
    from aerogram.gateway.settings import read_settings

    servers = read_settings(path)
    if name is not None and name not in servers:
        raise NotFound(f"There is no server {name!r} in {path}; {hint(name, servers)}")
    chosen = servers if name is None else {name: servers[name]}
    return {one: _make_settings(found.model_dump(exclude_unset=True), given) for one, found in chosen.items()}


def _headers(given: list[str]) -> dict[str, str] | None:
    found = {}
    for line in given:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise ValidationFailed("A header is 'NAME: VALUE'", remediation="Quote it whole")
        found[name.strip()] = value.strip()
    return found or None


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


def _refuse_beside_file(given: Mapping[str, Any]) -> None:
    """Refuse what is said of one server where all of a file are wrapped."""
    names = [name for name, value in given.items() if value]
    if names:
        raise ValidationFailed(
            f"{', '.join(names)} cannot be given beside --config",
            remediation="Leave it out: each entry of the file says so of its own server",
        )


def _rewrite(config: Path, given: Mapping[str, Any], *, is_agreed: bool) -> None:
    """Wrap the servers of a client's file, with the options that hold for each of them."""
    from aerogram.gateway.client_files import plan_wrap
    from aerogram.tokens import Budget

    if given["--budget"] is not None:
        Budget.of(given["--budget"])
    options = [(option,) if value is True else (option, str(value)) for option, value in given.items() if value]
    _agree(plan_wrap(config, [word for words in options for word in words]), is_agreed=is_agreed)


def _agree(change: Change, *, is_agreed: bool) -> None:
    """Show a change, and make it if that is wanted."""
    write_text(change.diff())
    if not is_agreed:
        is_person = sys.stdin is not None and sys.stdin.isatty()
        if not is_person or not typer.confirm("Make this change?", err=True):
            note("nothing was changed" if is_person else "nothing was changed; --yes makes the change")
            raise typer.Exit(0 if is_person else 1)
    is_kept = change.is_wrap or (change.backup.exists() and not change.is_exact)
    change.make()
    kept = f"; the original is {change.backup.name}" if is_kept else ""
    note(f"{', '.join(change.names)}: {'wrapped' if change.is_wrap else 'as before'}{kept}")
    if change.carried:
        note(f"what was changed since is kept: {', '.join(change.carried)}")
    if change.left:
        note(f"not wrapped, for there is no way to do it: {', '.join(change.left)}")
