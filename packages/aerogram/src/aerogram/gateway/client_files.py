"""Client files: the file in which a client keeps its servers, with each of them wrapped, and as it was before.

The original is kept beside the file, byte for byte, under a name that says which bytes took its place. So it is known
whether somebody else has changed the file since: if nobody has, the original comes back; otherwise our entries alone
are reverted, and what others have put into them is carried over.
"""

from __future__ import annotations

import contextlib
import difflib
import glob
import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple

from aerogram.errors import Conflict, NotFound
from aerogram.gateway.documents import QUOTED, TOML, Entry, read_document, unquote
from aerogram.sanitize import Redaction, sanitize_text

__all__ = ["Change", "plan_unwrap", "plan_wrap"]

_OURS: Final = ["-P", "-m", "aerogram", "wrap"]
"""Clients start servers in the folder of a project, whose files Python must not take for its own."""
_DIGITS: Final = 16
_HEADERS: Final = ("headers", "http_headers")
"""What clients call the headers of a server: in JSON, and in the TOML of Codex."""
_BY_NAME: Final = "env_http_headers"
_BEARER: Final = "bearer_token_env_var"
_PASSED: Final = "env_vars"
"""How Codex names variables: those of headers, the one with a token, those that a server gets."""
_FILE: Final = "envFile"
"""How VS Code and Cursor name a file with variables."""
_URLS: Final = ("url", "httpUrl", "serverUrl")
_REMOTE: Final = frozenset(("type", *_URLS, *_HEADERS, _BY_NAME, _BEARER))
_OWN_LOGINS: Final = frozenset(("auth", "headersHelper", "oauth"))
"""Ways to show who asks that only the client knows how to take."""
_KINDS: Final[Mapping[str, type]] = {
    **dict.fromkeys(("args", _PASSED), list),
    **dict.fromkeys(("env", _BY_NAME, *_HEADERS), dict),
    **dict.fromkeys((_BEARER, _FILE), str),
}
"""What the members of an entry are that the gateway is told of."""
_URL_VARIABLE: Final = "AEROGRAM_URL"
_NO_PLAIN_URL: Final = re.compile(r"[?#@$]|(?=[^/.:]*\d)[^/.:]{12,}|[^/.:]{32,}")
"""What stands in a URL that may hold a key: a query, a name, a variable, a part that is no word."""
_GIVEN: Final = re.compile(r"(?P<name>[^:]+): (?P<bearer>Bearer )?[$@]\{(?P<variable>\w+)\}")


class Change(NamedTuple):
    """What a file is to become."""

    path: Path
    before: bytes
    after: bytes
    backup: Path
    is_wrap: bool
    """Whether the original is to be kept beside the file."""
    names: tuple[str, ...]
    carried: tuple[str, ...] = ()
    """What others have changed in our entries, and is kept."""
    left: tuple[str, ...] = ()
    """The servers that cannot be wrapped."""
    secrets: tuple[str, ...] = ()

    def diff(self) -> str:
        """The change as lines, without the secrets in them."""
        before, after = (self._hide(side.decode()).splitlines() for side in (self.before, self.after))
        lines = difflib.unified_diff(before, after, str(self.path), str(self.path), lineterm="", n=1)
        return sanitize_text("\n".join(lines), Redaction())

    def _hide(self, text: str) -> str:
        """A file without the secrets in it, however they are written there."""
        return QUOTED.sub(lambda match: '"[redacted]"' if unquote(match[0]) in self.secrets else match[0], text)

    @property
    def is_exact(self) -> bool:
        """Whether the file becomes what it was, byte for byte, so that nothing else has to be kept."""
        return not self.is_wrap and self.backup.exists() and self.backup.read_bytes() == self.after

    def make(self) -> None:
        """Write it: the backup first, and the file at once or not at all."""
        if self.path.read_bytes() != self.before:
            raise Conflict(f"{self.path} has changed in the meantime", remediation="Look at it and try again")
        is_exact = self.is_exact
        if self.is_wrap:
            _write(self.backup, self.before, 0o600)
        _write(self.path, self.after, self.path.stat().st_mode & 0o777)
        if is_exact:
            with contextlib.suppress(FileNotFoundError):
                self.backup.unlink()


def plan_wrap(path: Path, options: list[str]) -> Change:
    """What a client's file becomes when each of its servers is wrapped with these options."""
    path, before = path.resolve(), _read(path)
    document = read_document(path, before)
    if any(map(_is_ours, document.servers.values())):
        raise Conflict(f"{path} has wrapped servers already", remediation=f"aerogram unwrap {path} first")
    wrapped = {name: _wrap(entry, options) for name, entry in document.servers.items() if _can_be_wrapped(entry)}
    if not wrapped:
        raise NotFound(f"{path} has no server that could be wrapped")
    after = document.replace(wrapped)
    secrets = _secrets((document.servers[name] for name in wrapped), wrapped.values())
    left = tuple(name for name in document.servers if name not in wrapped)
    names = tuple(wrapped)
    return Change(path, before, after, _backup(path, after), is_wrap=True, names=names, left=left, secrets=secrets)


def plan_unwrap(path: Path) -> Change:
    """What a client's file becomes when our entries are taken out again."""
    path, now = path.resolve(), _read(path)
    document = read_document(path, now)
    ours = {name: entry for name, entry in document.servers.items() if _is_ours(entry)}
    backup = _backup(path, now)
    if backup.exists():
        secrets = _secrets(ours.values(), read_document(path, backup.read_bytes()).servers.values())
        return Change(path, now, backup.read_bytes(), backup, is_wrap=False, names=tuple(ours), secrets=secrets)
    if not ours:
        raise NotFound(f"{path} has no wrapped server")
    found = _newest_backup(path)
    before: Mapping[str, Any] = {} if found is None else read_document(path, found.read_bytes()).servers
    reverted, carried = {}, []
    for name, entry in ours.items():
        reverted[name], changed = _revert(entry, before.get(name), is_toml=path.suffix == TOML)
        carried += [f"{name}.{key}" for key in changed]
    return Change(
        path,
        now,
        document.replace(reverted),
        found or backup,
        is_wrap=False,
        names=tuple(ours),
        carried=tuple(carried),
        secrets=_secrets(ours.values(), reverted.values()),
    )


# Entries


def _words(entry: Any) -> list[str] | None:
    """What stands after `aerogram wrap` in an entry of ours, however the program is started; None in another one."""
    if not isinstance(entry, dict) or not isinstance(entry.get("args"), list):
        return None
    words = [str(entry.get("command")), *map(str, entry["args"])]
    for at, (program, verb) in enumerate(pairwise(words)):
        if PurePath(program).stem == "aerogram" and verb == "wrap":
            return words[at + 2 :]
    return None


def _is_ours(entry: Any) -> bool:
    return _words(entry) is not None


def _can_be_wrapped(entry: Any) -> bool:
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(one) or kind(), kind) for one, kind in _KINDS.items()
    ):
        return False
    if not all(isinstance(one, str) for one in (*(entry.get(_PASSED) or ()), *(entry.get(_BY_NAME) or {}).values())):
        return False
    return _has_command(entry) or (_url_of(entry) is not None and entry.keys().isdisjoint(_OWN_LOGINS))


def _has_command(entry: Entry) -> bool:
    return isinstance(entry.get("command"), str) and entry["command"] != ""


def _url_of(entry: Entry) -> str | None:
    return next((entry[name] for name in _URLS if isinstance(entry.get(name), str)), None)


def _wrap(entry: Entry, options: list[str]) -> Entry:
    """An entry that starts the gateway; what else it says about the server stays."""
    words = [*_OURS, *options]
    if _has_command(entry):
        for name in (*(entry.get("env") or {}), *(entry.get(_PASSED) or ())):
            words += ["--env", str(name)]
        words += ["--env-file", str(entry[_FILE])] if entry.get(_FILE) else []
        words += ["--", entry["command"], *(entry.get("args") or ())]
        return {**entry, "command": sys.executable, "args": words}
    kept = {name: value for name, value in entry.items() if name not in _REMOTE}
    environment, passed = dict(entry.get("env") or {}), list(entry.get(_PASSED) or ())
    for number, (name, value) in enumerate(_headers_of(entry).items(), 1):
        # a command line can be read by others on the machine, an environment cannot
        variable = f"AEROGRAM_HEADER_{number}"
        environment[variable] = value
        words += ["--header", f"{name}: {_naming(variable)}"]
    for name, variable in (entry.get(_BY_NAME) or {}).items():
        words += ["--header", f"{name}: {_naming(variable)}"]
        passed.append(variable)
    if _BEARER in entry:
        words += ["--header", f"Authorization: Bearer {_naming(entry[_BEARER])}"]
        passed.append(entry[_BEARER])
    url = _url_of(entry) or ""
    words += ["--sse"] if entry.get("type", "sse" if url.endswith("/sse") else "http") == "sse" else []
    if _NO_PLAIN_URL.search(url.partition("//")[2]):
        environment[_URL_VARIABLE], url = url, _naming(_URL_VARIABLE)
    made = {**kept, "command": sys.executable, "args": [*words, url]}
    return made | ({"env": environment} if environment else {}) | ({_PASSED: passed} if passed else {})


def _naming(variable: str) -> str:
    """A variable on our command line: not as ${NAME}, which clients fill in themselves, from variables of their own."""
    return f"@{{{variable}}}"


def _headers_of(entry: Entry) -> dict[str, Any]:
    return next((dict(entry[name]) for name in _HEADERS if entry.get(name)), {})


def _unwrap(entry: Entry, *, is_toml: bool) -> Entry:
    """The entry that one of ours was made of, as far as it says so itself."""
    words = _words(entry) or []
    if "--" in words:
        command, *rest = words[words.index("--") + 1 :]
        return {**entry, "command": command, "args": rest}
    environment, passed = dict(entry.get("env") or {}), list(entry.get(_PASSED) or ())
    headers, by_name, bearer = {}, {}, None
    for name, is_bearer, variable in (found.groups() for found in map(_GIVEN.fullmatch, words) if found):
        if variable.startswith("AEROGRAM_HEADER_"):
            headers[name] = environment.pop(variable, "")
            continue
        if is_bearer:
            bearer = variable
        else:
            by_name[name] = variable
        passed = [one for one in passed if one != variable]
    kept = {name: value for name, value in entry.items() if name not in ("command", "args", "env", _PASSED)}
    url = environment.pop(_URL_VARIABLE, "") if words[-1] == _naming(_URL_VARIABLE) else words[-1]
    made = {**kept, **({} if is_toml else {"type": "sse" if "--sse" in words else "http"}), "url": url}
    told = {_HEADERS[is_toml]: headers, _BY_NAME: by_name, _BEARER: bearer, "env": environment, _PASSED: passed}
    return made | {name: value for name, value in told.items() if value}


def _revert(entry: Entry, original: Any, *, is_toml: bool) -> tuple[Entry, list[str]]:
    """The entry as it was before, with what others have changed in ours since; and what that is."""
    if not _can_be_wrapped(original):
        return _unwrap(entry, is_toml=is_toml), []
    made, expected = (_unwrap(one, is_toml=is_toml) for one in (entry, _wrap(original, [])))
    changed = [name for name in {**made, **expected} if made.get(name) != expected.get(name)]
    reverted = {name: value for name, value in original.items() if name not in changed}
    return reverted | {name: made[name] for name in changed if name in made}, changed


def _secrets(*groups: Iterable[Any]) -> tuple[str, ...]:
    """The values of variables and headers: what they are is nobody's business."""
    entries = [one for group in groups for one in group if isinstance(one, dict)]
    held = [one[name] for one in entries for name in ("env", *_HEADERS) if isinstance(one.get(name), dict)]
    return tuple({str(value) for values in held for value in values.values() if value})


# Files


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise NotFound(
            f"There is no file {path}", remediation="Name the file in which the client keeps its servers"
        ) from None


def _backup(path: Path, written: bytes) -> Path:
    return path.with_name(f"{path.name}.aerogram-{hashlib.sha256(written).hexdigest()[:_DIGITS]}")


def _newest_backup(path: Path) -> Path | None:
    found = path.parent.glob(f"{glob.escape(path.name)}.aerogram-{'?' * _DIGITS}")
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
