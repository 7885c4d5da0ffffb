"""The verbs of operation: `config`, `keys` and `install`; each calls the library function of its name."""

from __future__ import annotations

import datetime as dt
import inspect
import re
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import typer

from aerogram.cli.terminal import note, write_json, write_text
from aerogram.content.line import one_line
from aerogram.errors import ValidationFailed, require
from aerogram_knowledge.hosting.settings import Option, Settings

if TYPE_CHECKING:
    from aerogram_knowledge.access.keys import Key, Keys
    from aerogram_knowledge.hosting.client_files import McpClient, ServerEntry

__all__ = ["LIBRARIES", "register_operation", "with_settings"]

Verb = TypeVar("Verb", bound=Callable[..., Any])
_PANEL = "Settings (also in the environment and in aerogram.toml)"


def with_settings(*, without: Collection[str] = ()) -> Callable[[Verb], Verb]:
    """Give a verb `**flags` for every setting, and `config` for the file; it makes `Settings.load(flags, …)` of them.

    The settings in `without` have no flag; the verb takes them in a way of its own.
    """

    def extend(verb: Verb) -> Verb:
        own = inspect.signature(verb, eval_str=True)
        kept = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [_parameter(one) for one in Settings.options() if one.name not in without]
        verb.__signature__ = own.replace(parameters=[*kept, *added, _CONFIG])  # type: ignore[attr-defined]
        verb.__annotations__ = {one.name: one.annotation for one in (*kept, *added, _CONFIG)}
        return verb

    return extend


def _parameter(option: Option) -> inspect.Parameter:
    """The flag of a setting; it reads text only, because the setting knows best what to say of a bad one."""
    default = option.default
    shown = "" if default in (None, "", (), False) else f" [default: {default}]"
    told: dict[str, Any] = {"help": option.about + shown, "rich_help_panel": _PANEL}
    if option.kind.is_switch:
        return _flag(option.name, bool | None, typer.Option(f"{option.flag}/--no-{option.flag[2:]}", **told))
    kind = list[str] | None if option.kind.is_list else str | None
    return _flag(option.name, kind, typer.Option(option.flag, metavar=option.kind.word, **told))


def _flag(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option])


_CONFIG = _flag(
    "config", str | None, typer.Option("--config", metavar="FILE", help="Read this file instead of ./aerogram.toml.")
)


LIBRARIES: Final = ("fastapi", "fastmcp", "uvicorn", "aerogram_page")
"""What a server is made of. Verbs that start none, and ask no store, do without."""

_CONFIG_EXAMPLES = """\b
Examples:
  aerogram config
  aerogram config --port 9000 --json
"""
_CREATE_EXAMPLES = """\b
Examples:
  aerogram keys create ada
  aerogram keys create ci --limits "60/minute, 5000/day" --expires 90d
"""
_INSTALL_EXAMPLES = """\b
Examples:
  aerogram install claude-desktop ./docs
  aerogram install claude-code ./docs --print
  aerogram install vscode --url https://search.example.com/mcp --with-key
"""
_OF_STDIO: Final = ("index", "embedder", "withheld_licenses", "watch", "dialect", "budget", "log_level", "log_format")
_OF_HTTP: Final = tuple(one.name for one in Settings.options() if one.name not in (*_OF_STDIO, "documents"))
_SPAN: Final = re.compile(r"([0-9]{1,5})([hdw])")
_HOURS: Final = {"h": 1, "d": 24, "w": 168}

_Json = Annotated[bool, typer.Option("--json", help="Answer in JSON, failures included.")]
_File = Annotated[
    str | None, typer.Option("--keys", metavar="FILE", help="The file of keys, if not that of the settings.")
]
_Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE", help="Read this file instead of ./aerogram.toml.")
]
_Store = Annotated[
    str | None, typer.Option("--store", metavar="ADDRESS", help="The store of the keys, if not that of the settings.")
]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="A name to know the key by.")]
_Which = Annotated[str, typer.Argument(metavar="KEY", help="The name or the id of the key.")]


def register_operation(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    app.command("config", epilog=_CONFIG_EXAMPLES)(config)
    keys = typer.Typer(help="Make, list and revoke the API keys of a server.", no_args_is_help=True)
    keys.command("create", epilog=_CREATE_EXAMPLES)(create)
    keys.command("list")(list_keys)
    keys.command("revoke")(revoke)
    keys.command("rotate")(rotate)
    app.add_typer(keys, name="keys")
    app.command("install", epilog=_INSTALL_EXAMPLES)(install)


# config


@with_settings()
def config(as_json: _Json = False, **flags: Any) -> None:
    """Show every setting of the server, its value, and where that comes from."""
    file = flags.pop("config")
    shown = Settings.load(flags, file=file).values()
    if as_json:
        write_json({one.name: {"value": one.value, "origin": one.origin} for one in shown})
    else:
        write_text(_columns([(one.name, _words(one.value), one.origin) for one in shown]))


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_words, value)) or "-"
    if isinstance(value, bool):
        return str(value).lower()
    return "-" if value in (None, "") else one_line(f"{value:g}" if isinstance(value, float) else str(value))


def _columns(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


# keys


def create(
    name: _Name,
    limits: Annotated[
        str | None, typer.Option(metavar="LIMITS", help="Its own limits, such as '60/minute, 5000/day'.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="WHEN", help="When it ends: in '12h', '90d', '4w', or on a day.")
    ] = None,
    keys: _File = None,
    store: _Store = None,
    config: _Config = None,
    as_json: _Json = False,
) -> None:
    """Make an API key. It is shown this once; only its hash is kept."""
    held = _keys(keys, store, config)
    key, secret = held.create(name, plan=limits, expires=_moment(expires, held.now))
    if as_json:
        write_json({**_row(key, held), "key": secret})
        return
    note(f"key {key.id} for {name}, kept as a hash in {held.document.place}; it is shown this once:")
    write_text(secret)


def list_keys(keys: _File = None, store: _Store = None, config: _Config = None, as_json: _Json = False) -> None:
    """List the keys: who has one, with which limits, and whether it is good."""
    held = _keys(keys, store, config)
    rows = [_row(key, held) for key in held.all()]
    if as_json:
        write_json(rows)
    elif rows:
        head = tuple(rows[0])
        write_text(_columns([head, *(tuple(_words(row[name]) for name in head) for row in rows)]))
    else:
        note(f"there are no keys in {held.document.place}; make one with: aerogram keys create NAME")


def revoke(
    key: _Which, keys: _File = None, store: _Store = None, config: _Config = None, as_json: _Json = False
) -> None:
    """End a key at once, for running servers too."""
    held = _keys(keys, store, config)
    ended = held.revoke(key)
    if as_json:
        write_json(_row(ended, held))
    else:
        write_text(f"revoked {ended.id} ({one_line(ended.name)})")


def rotate(store: _Store = None, config: _Config = None) -> None:
    """Sign cursors with a fresh key from now on; cursors that were given out stay good until they end."""
    require("server", *LIBRARIES)
    from aerogram_knowledge.server.opening import open_cursor_keys

    open_cursor_keys(Settings.load({"store": store}, file=config)).rotate()
    write_text("cursors are signed with a fresh key")


def _keys(file: str | None, store: str | None, config: str | None) -> Keys:
    from aerogram_knowledge.access.keys import Keys

    settings = Settings.load({"keys": file, "store": store}, file=config)
    if not settings.has_shared_keys:
        return Keys(settings.keys)
    require("server", *LIBRARIES)
    from aerogram_knowledge.server.opening import open_documents, open_keys

    return open_keys(settings, open_documents(settings))


def _row(key: Key, held: Keys) -> dict[str, Any]:
    said = key.as_json()
    times = {name: said[name] for name in ("created", "expires")}
    return {"id": key.id, "name": key.name, "limits": key.plan, **times, "state": key.state(held.now)}


def _moment(text: str | None, now: dt.datetime) -> dt.datetime | None:
    if text is None:
        return None
    span = _SPAN.fullmatch(text.strip())
    if span is not None:
        return now + dt.timedelta(hours=int(span[1]) * _HOURS[span[2]])
    try:
        when = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValidationFailed(f"{text!r} is no time; write '12h', '90d', '4w' or a day as 2030-12-31") from None
    return when if when.tzinfo is not None else when.replace(tzinfo=dt.UTC)


# install


@with_settings(without=("documents", *_OF_HTTP))
def install(
    client: Annotated[
        Literal["claude-desktop", "claude-code", "cursor", "vscode"], typer.Argument(help="The MCP client.")
    ],
    documents: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH...]", help="Files and folders to serve.")
    ] = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Use a server that runs, instead of starting one.")
    ] = None,
    with_key: Annotated[
        bool, typer.Option("--with-key", help="With --url: send the key in AEROGRAM_API_KEY (VS Code asks for it).")
    ] = False,
    name: Annotated[str, typer.Option(metavar="NAME", help="What the client calls the server.")] = "aerogram",
    scope: Annotated[
        Literal["project", "user"] | None, typer.Option(help="For this folder or for all; each client has its usual.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace another server of that name.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Show what to write, and write nothing.")] = False,
    as_json: _Json = False,
    **flags: Any,
) -> None:
    """Write the server into the configuration of an MCP client; the file as it was is kept beside it."""
    from aerogram_knowledge.hosting import client_files as clients

    chosen = clients.CLIENTS[client]
    entry = _entry(url, with_key, documents, flags)
    if only_print:
        write_json(chosen.merge({}, name, entry))
        note(f"for {chosen.path(clients.Machine.here(), scope)}; nothing was written")
        return
    done = clients.install(chosen, entry, name=name, scope=scope, replace=replace)
    if as_json:
        backup = None if done.backup is None else str(done.backup)
        write_json({"client": client, "file": str(done.path), "changed": done.is_changed, "backup": backup})
        return
    write_text(f"{'wrote' if done.is_changed else 'already in'} {done.path}")
    if done.backup is not None:
        write_text(f"kept the file as it was in {done.backup}")
    if done.is_changed:
        write_text(_next_step(chosen, entry))


def _entry(url: str | None, with_key: bool, documents: list[str] | None, flags: dict[str, Any]) -> ServerEntry:
    from aerogram_knowledge.hosting.client_files import ServerEntry

    file = flags.pop("config")
    if url is not None:
        if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
            raise typer.BadParameter(f"{url!r} is no URL of a server; it begins with http:// or https://")
        return ServerEntry(url=url, with_key=with_key)
    if with_key:
        raise typer.BadParameter("--with-key is for a server that runs: give its --url")
    require("server", *LIBRARIES)
    from aerogram_knowledge.knowledge import Knowledge
    from aerogram_knowledge.server.serve import refuse_others, require_documents

    settings = Settings.load({**flags, "documents": documents}, file=file)
    require_documents(settings)
    if (settings.index / "rows.sqlite").exists():
        with Knowledge(settings.index, embedder=settings.embedder) as knowledge:
            refuse_others(knowledge, settings)
    return ServerEntry(command=[*_program(), *_arguments(settings)])


def _arguments(settings: Settings) -> list[str]:
    """`serve` as the client has to call it: from any folder, and with no environment of ours."""
    said = settings.arguments(_OF_STDIO)
    index = [] if "--index" in said else ["--index", str(settings.index.absolute())]
    return ["serve", *(str(path.absolute()) for path in settings.documents), "--stdio", *index, *said]


def _program() -> list[str]:
    """The program by its full name: a client that is started from a desktop knows no virtual environment."""
    here = Path(sys.executable)
    script = here.with_name("aerogram.exe" if sys.platform == "win32" else "aerogram")
    return [str(script)] if script.is_file() else [str(here), "-P", "-m", "aerogram"]


def _next_step(client: McpClient, entry: ServerEntry) -> str:
    if entry.with_key and "input" not in client.key:
        return f"set AEROGRAM_API_KEY where {client.title} starts, then restart it"
    return f"restart {client.title}, and it will find the server"
