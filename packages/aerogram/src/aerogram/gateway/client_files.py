"""Client files: the file in which a client keeps its servers, with each of them wrapped, and as it was before.

The original is kept beside the file, byte for byte, under a name that says which bytes took its place. So it is known
whether somebody else has changed the file since: if nobody has, the original comes back; otherwise our entries alone
are reverted.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from aerogram.errors import Conflict, NotFound, ValidationFailed
from aerogram.sanitize import Redaction, sanitize_text

__all__ = ["Change", "plan_unwrap", "plan_wrap"]

PLACES: Final = ("mcpServers", "servers")
"""Under which names clients keep their servers."""
_OURS: Final = ["-m", "aerogram", "wrap"]
_DIGITS: Final = 16
_HEADER: Final = re.compile(r'("AEROGRAM_HEADER_\d+":\s*)"(?:[^"\\]|\\.)*"')
"""What was the value of a header: it had a name that told what it is."""

Entry = dict[str, Any]


class Change(NamedTuple):
    """What a file is to become."""

    path: Path
    before: bytes
    after: bytes
    backup: Path
    keeps: bool
    """Whether the backup is to be made; it is deleted otherwise."""
    names: tuple[str, ...]

    def diff(self) -> str:
        """The change as lines, without the secrets in them."""
        before, after = (side.decode().splitlines() for side in (self.before, self.after))
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path), lineterm="", n=1)
        return _HEADER.sub(r'\1"[redacted]"', sanitize_text("\n".join(lines), Redaction()))

    def make(self) -> None:
        """Write it: the backup first, and the file at once or not at all."""
        if self.path.read_bytes() != self.before:
            raise Conflict(f"{self.path} has changed in the meantime", remediation="Look at it and try again")
        if self.keeps:
            _write(self.backup, self.before, 0o600)
        _write(self.path, self.after, self.path.stat().st_mode & 0o777)
        if not self.keeps:
            with contextlib.suppress(FileNotFoundError):
                self.backup.unlink()


def plan_wrap(path: Path, options: list[str]) -> Change:
    """What a client's file becomes when each of its servers is wrapped with these options."""
    path, before = path.resolve(), _read(path)
    document, place = _parse(path, before)
    servers: dict[str, Entry] = document[place]
    if any(map(_is_ours, servers.values())):
        raise Conflict(f"{path} has wrapped servers already", remediation=f"aerogram unwrap {path} first")
    names = tuple(name for name, entry in servers.items() if _can_be_wrapped(entry))
    if not names:
        raise NotFound(f"{path} has no server that could be wrapped")
    wrapped = {name: _wrap(entry, options) if name in names else entry for name, entry in servers.items()}
    after = _spell({**document, place: wrapped}, before)
    return Change(path, before, after, _backup(path, after), keeps=True, names=names)


def plan_unwrap(path: Path) -> Change:
    """What a client's file becomes when our entries are taken out again."""
    path, now = path.resolve(), _read(path)
    backup = _backup(path, now)
    if backup.exists():
        original = backup.read_bytes()
        document, place = _parse(path, now)
        names = tuple(name for name, entry in document[place].items() if _is_ours(entry))
        return Change(path, now, original, backup, keeps=False, names=names)
    return _revert_entries(path, now)


def _revert_entries(path: Path, now: bytes) -> Change:
    """The file has been changed by somebody else: only what is ours goes."""
    document, place = _parse(path, now)
    found = _newest_backup(path)
    before: Mapping[str, Entry] = {}
    if found is not None:
        original, old_place = _parse(found, found.read_bytes())
        before = original[old_place]
    names = tuple(name for name, entry in document[place].items() if _is_ours(entry))
    if not names:
        raise NotFound(f"{path} has no wrapped server")
    reverted = {
        name: (before.get(name) or _unwrap(entry)) if name in names else entry
        for name, entry in document[place].items()
    }
    after = _spell({**document, place: reverted}, now)
    return Change(path, now, after, found or _backup(path, now), keeps=False, names=names)


# Entries


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("args"), list) and entry["args"][:3] == _OURS


def _can_be_wrapped(entry: Any) -> bool:
    return isinstance(entry, dict) and (isinstance(entry.get("command"), str) or isinstance(entry.get("url"), str))


def _wrap(entry: Entry, options: list[str]) -> Entry:
    """An entry that starts the gateway; what else it says about the server stays."""
    words = [*_OURS, *options]
    if "command" in entry:
        environment = entry.get("env") or {}
        for name in environment:
            words += ["--env", name]
        words += ["--", entry["command"], *(entry.get("args") or ())]
        return {**entry, "command": sys.executable, "args": words}
    kept = {name: value for name, value in entry.items() if name not in ("type", "url", "headers")}
    environment = dict(entry.get("env") or {})
    for number, (name, value) in enumerate((entry.get("headers") or {}).items(), 1):
        # a command line can be read by others on the machine, an environment cannot
        variable = f"AEROGRAM_HEADER_{number}"
        environment[variable] = value
        words += ["--header", f"{name}: ${{{variable}}}"]
    words += ["--sse"] if entry.get("type") == "sse" else []
    wrapped = {**kept, "command": sys.executable, "args": [*words, entry["url"]]}
    return {**wrapped, "env": environment} if environment else wrapped


def _unwrap(entry: Entry) -> Entry:
    """The entry that one of ours was made of, as far as it says so itself."""
    words = entry["args"]
    if "--" in words:
        command, *rest = words[words.index("--") + 1 :]
        return {**entry, "command": command, "args": rest}
    environment = dict(entry.get("env") or {})
    headers = {}
    for name, variable in re.findall(r"([^\n:]+): \$\{(AEROGRAM_HEADER_\d+)\}", "\n".join(words)):
        headers[name] = environment.pop(variable, "")
    kept = {name: value for name, value in entry.items() if name not in ("command", "args", "env")}
    made = {**kept, "type": "sse" if "--sse" in words else "http", "url": words[-1]}
    made |= {"headers": headers} if headers else {}
    return {**made, "env": environment} if environment else made


# Files


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"There is no file {path}", remediation="Name the file in which the client keeps its servers"
        ) from None


def _parse(path: Path, body: bytes) -> tuple[dict[str, Any], str]:
    try:
        document = json.loads(body)
    except ValueError as error:
        raise ValidationFailed(f"{path} is no JSON that can be rewritten: {error}") from None
    place = next((one for one in PLACES if isinstance(document, dict) and isinstance(document.get(one), dict)), None)
    if place is None:
        raise ValidationFailed(f"{path} names no servers", remediation=f"It needs a member {' or '.join(PLACES)}")
    return document, place


def _spell(document: dict[str, Any], like: bytes) -> bytes:
    """A document as JSON with the indentation and the last byte of another one."""
    found = re.search(rb"\n([ \t]+)\S", like)
    indent = found[1].decode() if found else None
    text = json.dumps(document, indent=indent, ensure_ascii=like.isascii())
    return text.encode() + (b"\n" if like.endswith(b"\n") else b"")


def _backup(path: Path, written: bytes) -> Path:
    return path.with_name(f"{path.name}.aerogram-{hashlib.sha256(written).hexdigest()[:_DIGITS]}")


def _newest_backup(path: Path) -> Path | None:
    found = path.parent.glob(f"{path.name}.aerogram-{'?' * _DIGITS}")
    return max(found, key=lambda one: one.stat().st_mtime, default=None)


def _write(path: Path, body: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as out:
            out.write(body)
            out.flush()
            os.fsync(out.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
