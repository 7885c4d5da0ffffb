"""Settings: what applies to a wrapped server, from a file for several of them and from the command line.

[defaults]
budget = "claude-code"

[servers.github]
command = ["npx", "-y", "@modelcontextprotocol/server-github"]
env = ["GITHUB_TOKEN"]                 # names: values come from the environment, never from the file
hidden = ["delete_repository"]
redact = true

[servers.github.tools.list_issues]
budget = 2000
cache = 60                             # seconds
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from mcp.client.stdio import get_default_environment
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from aerogram._mcp.defaults import contract_for
from aerogram.contract import Contract
from aerogram.contract.cache import Cache
from aerogram.errors import AerogramError, ValidationFailed, hint
from aerogram.gateway.address import Address
from aerogram.gateway.link import Source
from aerogram.gateway.process import LARGEST, Command
from aerogram.gateway.relay import PAUSE
from aerogram.gateway.tools import Tools
from aerogram.normalize.policy import Policy
from aerogram.telemetry import Observer
from aerogram.tokens import Budget, split_by_client

__all__ = ["DEFAULT_BUDGET", "Settings", "ToolSettings", "expand", "read_settings"]

DEFAULT_BUDGET: Final = 10_000
BY_CLIENT: Final = "by-client"
"""A budget that each client has by the name that it gives itself; others have the one after it."""
_FORMS: Final = Policy(blocks="one", spelling="compact", max_bytes=LARGEST)
_NAME: Final = re.compile(r"[^=\0]+")
_VARIABLE: Final = re.compile(r"[$@]\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ASSIGNMENT: Final = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*('[^']*'|"(?:\\.|[^"\\])*"|`[^`]*`|[^#\r\n]*)""",
    re.MULTILINE | re.DOTALL,
)
"""A line of a file with variables, as programs write and read it that load one."""
_SECRET: Final = re.compile(r"auth|cookie|credential|key|pass|pwd|token|secret", re.IGNORECASE)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def expand(text: str) -> str:
    """A text with the values of the variables that it names as ${NAME} or @{NAME}."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise ValidationFailed(f"The variable {match[1]} is not set", remediation=f"Set {match[1]} for the gateway")
        return os.environ[match[1]]

    return _VARIABLE.sub(value, text)


def _variables_in(path: str) -> dict[str, str]:
    """The variables of a file."""
    try:
        text = Path(path).expanduser().read_text(encoding="utf-8-sig")
    except (OSError, ValueError, RuntimeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise ValidationFailed(
            f"The variables in {path} cannot be read: {why}", remediation="Name a file of lines NAME=VALUE"
        ) from None
    found = {}
    for name, written in _ASSIGNMENT.findall(text):
        value = written.strip()
        if value[:1] in ("'", '"', "`") and value.endswith(value[0]) and value[1:]:
            is_escaped, value = value[0] == '"', value[1:-1]
            value = value.replace(r"\n", "\n").replace(r"\r", "\r") if is_escaped else value
        found[name] = value
    return found


def _folder() -> str:
    """Where this process is, and the servers that it starts; the folder may be gone."""
    try:
        return str(Path.cwd())
    except OSError:
        return ""


def _header_value(name: str, text: str) -> str:
    """The value of a header, as it is sent: without the end of a line that files of secrets end with."""
    value = expand(text).strip()
    if not value.isascii() or not value.isprintable():
        raise ValidationFailed(
            f"The header {name} has a character that no header may have",
            remediation="Look for a line break, or a letter beyond ASCII, in the variable that it is made of",
        )
    return value


def _check_budget(value: int | str) -> int | str:
    is_by_client, own = split_by_client(value)
    try:
        Budget.of(DEFAULT_BUDGET if own is None else own)
    except ValidationFailed as error:
        raise ValueError(f"{error}; {error.remediation}") from None
    return f"{BY_CLIENT}, {DEFAULT_BUDGET}" if is_by_client and own is None else value


def _check_name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(
            f"{value.partition('=')[0]!r} is not the name of a variable; its value comes from the environment"
        )
    return value


def _check_limit(value: str) -> str:
    from aerogram.limits import Plan

    Plan.of(value)
    return value


Size = Annotated[int | str, AfterValidator(_check_budget)]
Variable = Annotated[str, AfterValidator(_check_name)]
Rate = Annotated[str, AfterValidator(_check_limit)]


class ToolSettings(BaseModel):
    """What applies to one tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    budget: Size | None = None
    cache: Annotated[float, Field(gt=0)] | None = None
    limits: list[Rate] = []


class Settings(BaseModel):
    """What applies to one server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    command: list[str] | None = None
    url: str | None = None
    transport: Literal["http", "sse"] = "http"
    login: bool = False
    headers: dict[str, str] = {}
    env: list[Variable] = []
    env_file: str | None = None
    budget: Size = DEFAULT_BUDGET
    dialect: str = "bare"
    redact: bool = False
    limits: list[Rate] = []
    timeout: Annotated[float, Field(gt=0)] = 300.0
    pause: Annotated[float, Field(ge=0)] = PAUSE
    hidden: list[str] = []
    allowed: list[str] | None = None
    tools: dict[str, ToolSettings] = {}

    @model_validator(mode="after")
    def _check(self) -> Settings:
        if (self.command is None) == (self.url is None):
            raise ValueError("a server has a command or a url")
        for name, value in self.headers.items():
            if _SECRET.search(name) and not _VARIABLE.search(value):
                raise ValueError(f"the header {name} is a secret: write it as ${{NAME}} and set that variable")
        return self

    def source(self) -> Source:
        """How the server is reached."""
        if self.url is not None:
            headers = {name: _header_value(name, value) for name, value in self.headers.items()}
            return Address(self.address(), headers, self.transport, self.login)
        return Command(tuple(self.command or ()), self._environment())

    def address(self) -> str:
        """The URL with the values of its variables."""
        address = expand(self.url or "").strip()
        if not _is_address(address):
            raise ValidationFailed("The URL of the server is none", remediation="Write it as http://… or https://…")
        return address

    def _environment(self) -> dict[str, str]:
        """What the server gets of our variables, and of those in its file that are not set here."""
        held = {} if self.env_file is None else _variables_in(self.env_file)
        return held | {name: os.environ[name] for name in (*held, *self.env) if name in os.environ}

    def _named(self) -> list[str]:
        """The variables that the URL and the headers are made of."""
        return [name for text in (self.url or "", *self.headers.values()) for name in _VARIABLE.findall(text)]

    def identity(self) -> tuple[Any, ...]:
        """What tells this server from others, its user's account among it: two that are alike here answer alike."""
        named = {name: os.environ.get(name) for name in self._named()}
        variables = sorted({**self._environment(), **named}.items())
        place = (self.url, sorted(self.headers.items())) if self.command is None else (self.command, _folder())
        return (*place, variables, self.redact)

    def make_tools(self, owner: str) -> Tools:
        """The server's tools under its contract; what they leave out is kept for this owner."""
        return Tools(
            contract_for(None, self._contract(), owner), hidden=self.hidden, allowed=self.allowed, caches=self._caches()
        )

    def _contract(self) -> dict[str, Any]:
        from aerogram.sanitize import Redaction

        own = {name: one.budget for name, one in self.tools.items() if one.budget is not None}
        made: dict[str, Any] = {"dialect": self.dialect, "budget": self.budget, "budgets": own, "forms": _FORMS}
        made["observer"] = Observer()
        if self.redact:
            made["sanitizers"] = [Redaction()]
        return {**made, **self._limits()}

    def _caches(self) -> dict[str, Cache]:
        times = {name: one.cache for name, one in self.tools.items() if one.cache is not None}
        return {name: Cache.in_memory(fresh_for=seconds, stale_for=0.0) for name, seconds in times.items()}

    def _limits(self) -> dict[str, Any]:
        per_tool = {name: one.limits for name, one in self.tools.items() if one.limits}
        if not per_tool and not self.limits:
            return {}
        from aerogram.limits import Limits, Plan

        return {"limits": Limits.in_memory(Plan.of(*self.limits, per_tool=per_tool))}

    def missing(self) -> str | None:
        """What has to be there for the server to be reached, and is not, or not as it has to be."""
        if self.command is not None:
            path = get_default_environment().get("PATH")
            if not self.command or shutil.which(self.command[0], path=path) is None:
                return f"the command {' '.join(self.command[:1]) or '(none)'} is not there"
        unset = next((name for name in self._named() if name not in os.environ), None)
        if unset is not None:
            where = "the URL" if unset in _VARIABLE.findall(self.url or "") else "a header"
            return f"the variable {unset} of {where} is not set"
        try:
            self.source()
            Tools(Contract(**self._contract()))  # which refuses a dialect or a budget that does not work
        except ValidationFailed as error:
            return f"{error.message}; {error.remediation}"
        except AerogramError as error:
            return str(error)
        return None

    def describe(self) -> dict[str, Any]:
        """What would apply, for somebody who wants to see it before; variables by their names."""
        said = self.model_dump(exclude_defaults=True)
        unset = [name for name in self.env if name not in os.environ]
        return {"budget": self.budget, "dialect": self.dialect, **said, **({"unset": unset} if unset else {})}


def read_settings(path: Path) -> dict[str, Settings]:
    """The servers of a file, each with the defaults that stand before them."""
    try:
        said = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValidationFailed(f"{path} is no TOML: {error}") from None
    strange = said.keys() - {"defaults", "servers"}
    if strange:
        found = min(strange)
        raise ValidationFailed(f"{path}: there is no section {found!r}; {hint(found, ('defaults', 'servers'))}")
    servers = said.get("servers")
    if not isinstance(servers, dict) or not servers:
        raise ValidationFailed(f"{path} names no server", remediation="Write a section [servers.NAME]")
    defaults = said.get("defaults", {})
    for section, found in {"defaults": defaults, **{f"servers.{name}": own for name, own in servers.items()}}.items():
        if not isinstance(found, dict):
            raise ValidationFailed(f"{path}: {section} is no section", remediation=f"Write it as [{section}]")
    return {name: _settings(path, name, {**defaults, **own}) for name, own in servers.items()}


def _settings(path: Path, name: str, said: Mapping[str, Any]) -> Settings:
    try:
        return Settings.model_validate(said)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "extra_forbidden":
            raise ValidationFailed(_misnomer(path, name, first["loc"])) from None
        where = ".".join(map(str, ("servers", name, *first["loc"])))
        raise ValidationFailed(f"{path}: {where}: {first['msg']}") from None


def _misnomer(path: Path, server: str, where: tuple[int | str, ...]) -> str:
    """What to say of a setting that there is not, with the name of the nearest one."""
    *above, found = where
    known = ToolSettings.model_fields if above else Settings.model_fields
    section = ".".join(map(str, ("servers", server, *above)))
    return f"{path}: [{section}] has no setting {found!r}; {hint(str(found), tuple(known))}"
