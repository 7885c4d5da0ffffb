"""Documents: the files of clients as texts in which single entries change and every other byte stays.

JSON    the entries below `mcpServers` or `servers`; comments and commas at the end of a list are allowed
TOML    the tables below `mcp_servers`
"""

from __future__ import annotations

import contextlib
import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from aerogram.errors import Conflict, MissingExtra, ValidationFailed

__all__ = ["QUOTED", "TOML", "ClientDocument", "Entry", "read_document", "unquote"]

Entry: TypeAlias = dict[str, Any]
TOML: Final = ".toml"
PLACES: Final = ("mcpServers", "servers")
TOML_PLACE: Final = "mcp_servers"
"""Under which names clients keep their servers."""
_STRING: Final = r'"(?:[^"\\]|\\.)*"'
_QUOTES: Final = (r'"""(?:[^\\]|\\.)*?"""', r"'''.*?'''", r'"(?:[^"\\\n]|\\.)*"', r"'[^'\n]*'")
QUOTED: Final = re.compile("|".join((*_QUOTES, r"//[^\n]*", r"#[^\n]*", r"/\*.*?\*/")), re.DOTALL)
"""A text in quotes as JSON or TOML have them, or a comment, in which quotes mean nothing."""
_COMMENT: Final = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/", re.DOTALL)
_LAST_COMMA: Final = re.compile(rf"{_STRING}|,(?=\s*[}}\]])")
_SPACE: Final = re.compile(r"\s*")
_MARK: Final = "\ufeff"


class ClientDocument(Protocol):
    """A client's file."""

    @property
    def servers(self) -> Mapping[str, Any]:
        """The entries of its servers by their names."""

    def replace(self, entries: Mapping[str, Entry]) -> bytes:
        """The file with other entries for some of its servers."""


def read_document(path: Path, body: bytes) -> ClientDocument:
    """The file of a client; one that cannot be changed is refused, with a word about why."""
    try:
        text = body.decode()
        found: ClientDocument = _TomlDocument(text) if path.suffix == TOML else _JsonDocument(text)
    except ValueError as error:
        kind = "TOML" if path.suffix == TOML else "JSON"
        raise ValidationFailed(f"{path} is no {kind} that can be rewritten: {error}") from None
    except LookupError as error:
        raise ValidationFailed(f"{path} names no servers", remediation=f"It needs {error.args[0]}") from None
    return found


def unquote(written: str) -> str | None:
    """The text that stands in quotes."""
    for read in (json.loads, lambda text: tomllib.loads(f"text = {text}")["text"]):
        with contextlib.suppress(ValueError, KeyError):
            return str(read(written))
    return None


class _JsonDocument:
    def __init__(self, text: str) -> None:
        self._text = text
        self._plain = _blank(text)
        value = json.loads(self._plain)
        members = value if isinstance(value, dict) else {}
        place = next((one for one in PLACES if isinstance(members.get(one), dict)), None)
        if place is None:
            raise LookupError(f"a member {' or '.join(PLACES)}")
        self.servers: Mapping[str, Any] = members[place]
        start = self._members(_skip(self._plain, 0))[place][0]
        self._spans = self._members(start)
        found = re.search(r"\n([ \t]+)\S", text)
        self._indent = found[1] if found else None

    def _members(self, at: int) -> dict[str, tuple[int, int]]:
        """Where the values of an object stand in the text, by their names."""
        spans, plain, decoder = {}, self._plain, json.JSONDecoder()
        at = _skip(plain, at + 1)
        while plain[at] != "}":
            name, at = decoder.raw_decode(plain, at)
            start = _skip(plain, _skip(plain, at) + 1)
            _, end = decoder.raw_decode(plain, start)
            spans[name] = (start, end)
            at = _skip(plain, end)
            at = _skip(plain, at + 1) if plain[at] == "," else at
        return spans

    def replace(self, entries: Mapping[str, Entry]) -> bytes:
        """Each entry in the place of the one of its name."""
        text = self._text
        for name, (start, end) in sorted(self._spans.items(), key=lambda one: one[1], reverse=True):
            if name in entries:
                text = text[:start] + self._write(entries[name], start) + text[end:]
        return text.encode()

    def _write(self, entry: Entry, at: int) -> str:
        """An entry as the file writes its own: in lines or not, as deep as it stands."""
        written = json.dumps(entry, indent=self._indent, ensure_ascii=self._text.lstrip(_MARK).isascii())
        line = self._text[self._text.rfind("\n", 0, at) + 1 : at]
        deep = line[: len(line) - len(line.lstrip())]
        return written.replace("\n", f"\n{deep}")


def _blank(text: str) -> str:
    """JSON as long as a text that has comments besides, so that everything stands where it stood."""
    plain = text.replace(_MARK, " ", 1) if text.startswith(_MARK) else text
    for found in (_COMMENT, _LAST_COMMA):
        plain = found.sub(lambda match: match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0]), plain)
    return plain


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


class _TomlDocument:
    def __init__(self, text: str) -> None:
        self._text = text
        place = tomllib.loads(text).get(TOML_PLACE)
        if not isinstance(place, dict):
            raise LookupError(f"a table [{TOML_PLACE}.NAME]")  # noqa: TRY004 - what is not there has no type
        self.servers: Mapping[str, Any] = place

    def replace(self, entries: Mapping[str, Entry]) -> bytes:
        """Each table with other values, where they are others."""
        try:
            import tomlkit
        except ImportError:
            raise MissingExtra("cli", "tomlkit") from None
        document = tomlkit.parse(self._text)
        servers: Any = document[TOML_PLACE]
        for name, entry in entries.items():
            try:
                _change(servers[name], entry)
                is_changed = tomllib.loads(tomlkit.dumps(document))[TOML_PLACE][name] == entry
            except (LookupError, tomlkit.exceptions.TOMLKitError, tomllib.TOMLDecodeError):
                is_changed = False
            if not is_changed:  # dotted keys, which tomlkit can change one of
                words = f"The server {name} is written in a form that cannot be changed"
                raise Conflict(words, remediation=f"Write it as a table, under [{TOML_PLACE}.{name}]")
        return tomlkit.dumps(document).encode()


def _change(table: Any, entry: Entry) -> None:
    """Have a table say what an entry says, and leave what is the same as it is."""
    for key in [key for key in table if key not in entry]:
        del table[key]
    for key, value in entry.items():
        if key not in table or table[key] != value:
            table[key] = _inline(value)


def _inline(value: Any) -> Any:
    import tomlkit

    if not isinstance(value, dict):
        return value
    made = tomlkit.inline_table()
    made.update(value)
    return made
