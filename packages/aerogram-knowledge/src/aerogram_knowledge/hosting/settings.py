"""Settings: every option of the server, its value, and where the value comes from.

    flag --port  ▸  environment AEROGRAM_PORT  ▸  aerogram.toml (or --config FILE)  ▸  default

The first that says something counts. A key that does not exist or a value that is not allowed is a `BadSetting`,
whichever of them it stands in.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from aerogram.dialects import NAMES
from aerogram.errors import AerogramError, nearest
from aerogram.limits import Plan, parse_plan
from aerogram.sanitize import may_be_secret
from aerogram.state import expand_home
from aerogram_knowledge.hosting import kinds
from aerogram_knowledge.hosting.addresses import HIDDEN, is_url, without_secrets
from aerogram_knowledge.hosting.kinds import Kind

__all__ = ["FILE", "OTHER_VARIABLES", "BadSetting", "Option", "SettingValue", "Settings"]

FILE: Final = Path("aerogram.toml")
PREFIX: Final = "AEROGRAM_"
CONFIG_VARIABLE: Final = "AEROGRAM_CONFIG"
OTHER_VARIABLES: Final = frozenset(
    {CONFIG_VARIABLE, "AEROGRAM_API_KEY", "AEROGRAM_DEBUG", "AEROGRAM_FLAGS", "AEROGRAM_STATE", "AEROGRAM_URL"}
)
"""Variables of Aerogram that are no settings of the server."""

DEFAULT: Final = "default"
LARGEST_FILE: Final = 1 << 20
_KIND: Final = "kind"
_ABOUT: Final = "about"
_SPOKEN: Final = tuple(name for name in NAMES if name != "problem")


class BadSetting(AerogramError, ValueError):
    """A setting that does not exist, or a value that is not allowed; `origin` says where it stands."""

    def __init__(self, key: str, origin: str, reason: str) -> None:
        self.key = key
        self.origin = origin
        super().__init__(f"{key} ({origin}): {reason}")


class Option(NamedTuple):
    """One setting as it can be given."""

    name: str
    default: Any
    kind: Kind
    about: str

    @property
    def flag(self) -> str:
        """Its flag on the command line."""
        return "--" + self.name.replace("_", "-")

    @property
    def variable(self) -> str:
        """Its environment variable."""
        return PREFIX + self.name.upper()

    def read(self, value: Any, origin: str) -> Any:
        """The value that was given, as the server uses it."""
        try:
            return self.kind.read(value)
        except (ValueError, TypeError, OverflowError):
            given = _spell(value)[:80]
            raise BadSetting(self.name, origin, f"{given} is not allowed; allowed: {self.kind.allowed}") from None

    def arguments(self, value: Any) -> list[str]:
        """The flag with a value; a path is said in full."""
        if self.kind.is_switch:
            return [self.flag if value else f"--no-{self.flag[2:]}"]
        values = value if self.kind.is_list else (value,)
        return [word for one in values for word in (self.flag, str(one.absolute() if isinstance(one, Path) else one))]


def _spell(value: Any) -> str:
    """A value as it was given, without what is secret in it."""
    try:
        return repr(_plain(value))
    except ValueError:  # TOML has numbers in other digits than ten, which may be longer than Python writes
        return "a number of more than 4,300 digits"


class SettingValue(NamedTuple):
    """A setting as it is shown: its value in plain JSON, and where that comes from."""

    name: str
    value: Any
    origin: str


def _metadata(kind: Kind, about: str) -> dict[str, Any]:
    return {_KIND: kind, _ABOUT: about}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one server; `origins` names the origin of each that is not the default."""

    documents: tuple[Path, ...] = field(default=(), metadata=_metadata(kinds.PATHS, "Files and folders to serve."))
    index: Path = field(default=Path(".aerogram"), metadata=_metadata(kinds.PATH, "Where the index is kept."))
    store: Path | str | None = field(
        default=None,
        repr=False,
        metadata=_metadata(kinds.STORE, "The index elsewhere than in --index, for several servers."),
    )
    replicas: tuple[str, ...] = field(
        default=(),
        repr=False,
        metadata=_metadata(kinds.STORES, "Copies of a PostgreSQL store that may be read instead of it."),
    )
    redis: str | None = field(
        default=None,
        repr=False,
        metadata=_metadata(kinds.REDIS, "Where several servers keep limits, quotas, cache and archive together."),
    )
    archive: Path | str | None = field(
        default=None,
        repr=False,
        metadata=_metadata(kinds.ARCHIVE, "Where left-out content is kept; else in --redis, else beside the index."),
    )
    cache: float = field(
        default=0.0,
        metadata=_metadata(kinds.SECONDS, "How long the answer to a question may be given again; 0 is never."),
    )
    embedder: str | None = field(
        default=None, metadata=_metadata(kinds.TEXT, "'default', 'none' (words alone), or a model's folder.")
    )
    withheld_licenses: tuple[str, ...] = field(
        default=(), metadata=_metadata(kinds.NAMES, "Licences whose documents are not shown.")
    )
    watch: bool = field(default=False, metadata=_metadata(kinds.SWITCH, "Follow changes of the documents."))
    transport: str = field(
        default="http", metadata=_metadata(kinds.choice("http", "stdio"), "How MCP clients reach the server.")
    )
    host: str = field(default="127.0.0.1", metadata=_metadata(kinds.TEXT, "The address to listen on."))
    port: int = field(
        default=8000, metadata=_metadata(kinds.whole(0, 65535), "The port to listen on; 0 takes a free one.")
    )
    dialect: str = field(
        default="knowledge-1.0", metadata=_metadata(kinds.choice(*_SPOKEN), "The dialect of replies to MCP clients.")
    )
    budget: str = field(default="8000", metadata=_metadata(kinds.BUDGET, "The largest reply."))
    auth: str = field(
        default="auto",
        metadata=_metadata(
            kinds.choice("auto", "keys", "none"),
            "Who needs an API key: everybody unless the address is local (auto), everybody (keys), nobody (none).",
        ),
    )
    keys: Path | None = field(
        default=None, metadata=_metadata(kinds.PATH, "The file of API keys; else api-keys.json in the state directory.")
    )
    limits: str = field(default="", metadata=_metadata(kinds.PLAN, "Limits of callers whose key has none of its own."))
    allowed_hosts: tuple[str, ...] = field(
        default=(), metadata=_metadata(kinds.HOSTS, "Names the server is called by, besides localhost and addresses.")
    )
    allowed_origins: tuple[str, ...] = field(
        default=(), metadata=_metadata(kinds.ORIGINS, "Web pages of other origins that may call the server.")
    )
    max_body: int = field(default=2**20, metadata=_metadata(kinds.SIZE, "The largest request body, in bytes."))
    timeout: float = field(
        default=30.0, metadata=_metadata(kinds.SECONDS, "How long a request may wait for its answer; 0 is for ever.")
    )
    grace: float = field(
        default=10.0, metadata=_metadata(kinds.SECONDS, "How long running requests may take when the server ends.")
    )
    drain: float = field(
        default=0.0,
        metadata=_metadata(kinds.SECONDS, "How long a server that is to end still answers, while its health says so."),
    )
    metrics: str | None = field(
        default=None, metadata=_metadata(kinds.LISTENER, "Where Prometheus finds metrics, at /metrics, without a key.")
    )
    max_connections: int = field(
        default=1000, metadata=_metadata(kinds.whole(1, 100_000), "More connections than this are turned away.")
    )
    log_level: str = field(
        default="info",
        metadata=_metadata(kinds.choice("debug", "info", "warning", "error"), "What is worth a log line."),
    )
    log_format: str = field(
        default="auto",
        metadata=_metadata(kinds.choice("auto", "json", "text"), "Log lines; auto is text on a terminal, else JSON."),
    )
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def options(cls) -> tuple[Option, ...]:
        """Every setting, in the order of their explanation."""
        return tuple(
            Option(one.name, one.default, one.metadata[_KIND], one.metadata[_ABOUT])
            for one in fields(cls)
            if _KIND in one.metadata
        )

    @classmethod
    def load(
        cls,
        flags: Mapping[str, Any] | None = None,
        *,
        file: str | Path | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> Settings:
        """The settings from all origins; `flags` by name, None and empty lists are flags that were not given."""
        environ = os.environ if environ is None else environ
        known = {one.name: one for one in cls.options()}
        values: dict[str, Any] = {}
        origins: dict[str, str] = {}
        for source in (_in_file(file, environ), _in_environment(environ, known), _in_flags(flags or {})):
            for name, value, origin in source:
                option = known.get(name) or _refuse_unknown(name, origin, list(known))
                values[name] = option.read(value, origin)
                origins[name] = origin
        return cls(**values, origins=origins)

    def origin(self, name: str) -> str:
        """Where the value of a setting comes from."""
        return self.origins.get(name, DEFAULT)

    def values(self) -> list[SettingValue]:
        """Every setting with its value in plain JSON and its origin."""
        return [
            SettingValue(one.name, _plain(getattr(self, one.name)), self.origin(one.name)) for one in self.options()
        ]

    def arguments(self, names: Collection[str]) -> list[str]:
        """The flags that say again, from any folder, what these settings say other than the default."""
        found: list[str] = []
        for option in self.options():
            if option.name in names and self.origin(option.name) != DEFAULT:
                found += option.arguments(getattr(self, option.name))
        return found

    @property
    def where(self) -> Path | str:
        """Where the index is."""
        return self.index if self.store is None else self.store

    @property
    def folder(self) -> Path:
        """Where this server keeps what it shares with nobody."""
        return self.store if isinstance(self.store, Path) else self.index

    @property
    def has_shared_keys(self) -> bool:
        """Whether the API keys are in the store that several servers use, because no file is named."""
        return self.keys is None and is_url(self.where)

    @property
    def plan(self) -> Plan:
        """The limits of callers without limits of their own."""
        return parse_plan(self.limits)


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: HIDDEN if may_be_secret(name) else _plain(one) for name, one in value.items()}
    return without_secrets(str(value)) if isinstance(value, (str, Path)) else value


class _RawSetting(NamedTuple):
    name: str
    value: Any
    origin: str


def _in_flags(flags: Mapping[str, Any]) -> Iterator[_RawSetting]:
    for name, value in flags.items():
        if value is not None and value not in ([], ()):
            yield _RawSetting(name, value, f"flag --{name.replace('_', '-')}")


def _in_environment(environ: Mapping[str, str], known: Mapping[str, Option]) -> Iterator[_RawSetting]:
    variables = {one.variable: one.name for one in known.values()}
    for variable, value in sorted(environ.items()):
        if variable.startswith(PREFIX) and variable not in OTHER_VARIABLES and value != "":
            origin = f"environment {variable}"
            name = (
                variables.get(variable)
                or _refuse_unknown(variable, origin, sorted({*variables, *OTHER_VARIABLES})).name
            )
            yield _RawSetting(name, value, origin)


def _in_file(chosen: str | Path | None, environ: Mapping[str, str]) -> Iterator[_RawSetting]:
    """What a file says: the chosen one, which must exist, or the one in this folder, if there is one."""
    import tomllib

    chosen = chosen or environ.get(CONFIG_VARIABLE) or None
    path = Path(chosen or FILE)
    if chosen is None and not path.is_file():
        return
    with path.open("rb") as opened:
        content = opened.read(LARGEST_FILE + 1)  # it may be a device, which never ends
    if len(content) > LARGEST_FILE:
        raise BadSetting(str(path), "file", f"it has more than {LARGEST_FILE:,} bytes")
    try:
        said = tomllib.loads(content.decode("utf-8-sig"))
    except ValueError as error:  # of TOML and of UTF-8 alike
        raise BadSetting(str(path), "file", f"not TOML: {error}") from None
    known = {one.name: one.kind for one in Settings.options()}
    for name, value in said.items():
        is_path = name in known and known[name].is_path
        yield _RawSetting(name, _resolve_path(path, value) if is_path else value, f"file {path}")


def _resolve_path(file: Path, value: Any) -> Any:
    """Paths in a file are meant from the file's own folder."""
    if isinstance(value, list):
        return [_resolve_path(file, one) for one in value]
    is_folder = isinstance(value, str) and value and not is_url(value)
    with contextlib.suppress(ValueError):  # which is told when the value is read
        return file.parent / expand_home(value) if is_folder else value
    return value


def _refuse_unknown(name: str, origin: str, known: list[str]) -> Option:
    near = nearest(name, known)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    raise BadSetting(name[:80], origin, f"no such setting; {hint}")
