"""Clients: where each MCP client keeps its configuration, and how a server is written into it.

    claude-desktop  user     Claude/claude_desktop_config.json among the applications   mcpServers
    claude-code     project  .mcp.json                                                  mcpServers
                    user     ~/.claude.json                                             mcpServers
    cursor          user     ~/.cursor/mcp.json                                         mcpServers
                    project  .cursor/mcp.json                                           mcpServers
    vscode          project  .vscode/mcp.json                                           servers
                    user     Code/User/mcp.json among the applications                  servers

Whatever else stands in a file stays there. A file that could not be written again as it is (comments, double keys) is
refused. The file as it was is kept beside it.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias

from aerogram.content.jsontext import loads
from aerogram.errors import AerogramError, ContractError
from aerogram_knowledge.access.shared_documents import PRIVATE, replace_file

__all__ = ["CLIENTS", "ClientFileError", "InstallResult", "Machine", "McpClient", "ServerEntry", "install"]

Scope: TypeAlias = Literal["project", "user"]

KEY_VARIABLE: Final = "AEROGRAM_API_KEY"
"""Where clients find the API key: it is never written into a file of theirs."""

_KEY_INPUT: Final = "aerogram-api-key"
_OF_TRANSPORT: Final = frozenset({"type", "command", "args", "url", "headers"})
_INDENT: Final = re.compile(r"^\s*\{\r?\n([ \t]+)\S")
_READABLE: Final = 0o644


class ClientFileError(AerogramError):
    """The configuration of a client cannot be changed without losing something."""


@dataclass(frozen=True, slots=True)
class Machine:
    """Where a client looks for its files: the system, the home folder, the project's folder, the environment."""

    platform: str
    home: Path
    folder: Path
    environ: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def here(cls) -> Self:
        """The machine and the folder that the program runs in."""
        return cls(sys.platform, Path.home(), Path.cwd(), os.environ)

    @property
    def applications(self) -> Path:
        """The folder in which desktop applications keep their configuration."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming")
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """How a client reaches the server: a command that it starts, or the URL of one that runs."""

    command: Sequence[str] = ()
    url: str | None = None
    with_key: bool = False


@dataclass(frozen=True, slots=True)
class McpClient:
    """An MCP client: its files by scope, the usual scope first, and its ways of writing."""

    name: str
    title: str
    files: Mapping[Scope, str]
    member: str = "mcpServers"
    types: Mapping[str, str] = field(default_factory=dict)
    takes_url: bool = True
    key: str = "${" + KEY_VARIABLE + "}"
    inputs: Sequence[Mapping[str, Any]] = ()

    def path(self, machine: Machine, scope: Scope | None = None) -> Path:
        """The file of a scope, or of the usual one."""
        chosen = next(iter(self.files)) if scope is None else scope
        if chosen not in self.files:
            raise ClientFileError(f"{self.title} has no configuration per {chosen}; it has: {', '.join(self.files)}")
        start, _, rest = self.files[chosen].partition("/")
        below = {"~": machine.home, ".": machine.folder, "@": machine.applications}[start]
        return below.joinpath(*rest.split("/"))

    def render(self, entry: ServerEntry) -> dict[str, Any]:
        """An entry as this client reads it."""
        if entry.url is None:
            command, *arguments = entry.command
            return {**self._type_member("stdio"), "command": command, "args": arguments}
        if not self.takes_url:
            raise ClientFileError(f"{self.title} starts its servers itself; install without --url")
        headers = {"headers": {"X-API-Key": self.key}} if entry.with_key else {}
        return {**self._type_member("http"), "url": entry.url, **headers}

    def _type_member(self, transport: str) -> dict[str, str]:
        return {"type": self.types[transport]} if transport in self.types else {}

    def merge(
        self, config: Mapping[str, Any], name: str, entry: ServerEntry, *, replace: bool = False
    ) -> dict[str, Any]:
        """A configuration with the server in it; what else it says stays."""
        servers = _object(config.get(self.member, {}), self.member)
        said, before = self.render(entry), servers.get(name)
        if before is not None:
            kept = {key: value for key, value in _object(before, name).items() if key not in _OF_TRANSPORT}
            said = {**said, **kept}
            if said != before and not replace:
                raise ClientFileError(f"there is another server {name!r} already; --replace it, or choose a --name")
        merged = {**config, self.member: {**servers, name: said}}
        return self._with_inputs(merged) if entry.with_key and entry.url else merged

    def _with_inputs(self, config: dict[str, Any]) -> dict[str, Any]:
        present = config.get("inputs", [])
        if not isinstance(present, list):
            raise ClientFileError("'inputs' is not a list")
        known = {one.get("id") for one in present if isinstance(one, dict)}
        missing = [dict(one) for one in self.inputs if one["id"] not in known]
        return {**config, "inputs": [*present, *missing]} if missing else config


CLIENTS: Final[Mapping[str, McpClient]] = {
    one.name: one
    for one in (
        McpClient("claude-desktop", "Claude Desktop", {"user": "@/Claude/claude_desktop_config.json"}, takes_url=False),
        McpClient(
            "claude-code", "Claude Code", {"project": "./.mcp.json", "user": "~/.claude.json"}, types={"http": "http"}
        ),
        McpClient(
            "cursor",
            "Cursor",
            {"user": "~/.cursor/mcp.json", "project": "./.cursor/mcp.json"},
            key="${env:" + KEY_VARIABLE + "}",
        ),
        McpClient(
            "vscode",
            "VS Code",
            {"project": "./.vscode/mcp.json", "user": "@/Code/User/mcp.json"},
            member="servers",
            types={"http": "http", "stdio": "stdio"},
            key="${input:" + _KEY_INPUT + "}",
            inputs=({"type": "promptString", "id": _KEY_INPUT, "description": "Aerogram API key", "password": True},),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class InstallResult:
    """What became of an installation: the file, whether it was changed, and where its old content is kept."""

    path: Path
    is_changed: bool = False
    backup: Path | None = None


def install(
    client: McpClient,
    entry: ServerEntry,
    *,
    name: str = "aerogram",
    scope: Scope | None = None,
    replace: bool = False,
    machine: Machine | None = None,
) -> InstallResult:
    """Write the server into the configuration of a client; nothing is done when it is there already."""
    path = client.path(machine or Machine.here(), scope)
    before = path.read_bytes() if path.exists() else b""
    try:
        config = _object(loads(before) if before.strip() else {}, "the file")
        merged = client.merge(config, name, entry, replace=replace)
    except (ContractError, ClientFileError) as error:
        raise ClientFileError(_refusal(path, error)) from None
    if merged == config:
        return InstallResult(path)
    return InstallResult(path, is_changed=True, backup=_write(path, before, _text(merged, before)))


def _object(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ClientFileError(f"{what!r} is not an object")
    return value


def _refusal(path: Path, error: Exception) -> str:
    if not isinstance(error, ContractError):
        return f"{path}: {error}"
    return f"{path}: {error.rule}; comments and the like would be lost, so add what --print shows yourself"


def _text(config: Mapping[str, Any], before: bytes) -> str:
    """The configuration as text, indented as the file was."""
    found = _INDENT.match(before.decode("utf-8-sig"))
    text = json.dumps(config, indent=found[1] if found else 2, ensure_ascii=False) + "\n"
    return text.replace("\n", "\r\n") if b"\r\n" in before else text


def _write(path: Path, before: bytes, content: str) -> Path | None:
    """Replace the file, and give the place where its old content is kept, if it had one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = path.stat().st_mode & 0o777 if path.exists() else _READABLE
    backup = _free_place(path) if before else None
    if backup is not None:
        replace_file(backup, before, PRIVATE)  # it may hold other servers' keys
    replace_file(path, content.encode(), mode)
    return backup


def _free_place(path: Path) -> Path:
    moment = dt.datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    place, count = path.with_name(f"{path.name}.{moment}.backup"), 1
    while place.exists():
        count += 1
        place = path.with_name(f"{path.name}.{moment}-{count}.backup")
    return place
