"""API keys: who may call a server that others can reach.

    Keys ── create ──▶ IssuedKey(key, secret)      the secret is shown once and is stored nowhere
         ── check(secret) ──▶ Key               or Unauthenticated
         ── revoke(name or id)

The document holds a SHA-256 of each secret. A secret is 256 random bits, so a fast hash is as good as a slow one,
and checking a key costs a request nothing. It is a file, or kept in the store that several servers share.
What one process changes in it, a running server sees with its next request.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import hmac
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from anyio import to_thread

from aerogram._http.exchange import App, Receive, Scope, Send
from aerogram.content.jsontext import dumps, loads
from aerogram.errors import (
    AerogramError,
    Conflict,
    ContractError,
    NotFound,
    Unauthenticated,
    Unavailable,
    ValidationFailed,
)
from aerogram.limits import ALLOWED, Plan, parse_plan
from aerogram.reply import utc_timestamp
from aerogram.state import state_directory
from aerogram_knowledge.access.shared_documents import FileDocument, SharedDocument, StoreDocument

__all__ = ["BadKeyFile", "IssuedKey", "Key", "KeyRefresher", "Keys"]

State: TypeAlias = Literal["active", "expired", "revoked"]

FILE: Final = "api-keys.json"
LONGEST_NAME: Final = 80
_SECRET: Final = re.compile(r"aero_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_NOBODY: Final = hashlib.sha256(b"").hexdigest()
_REMEDY: Final = "Send a valid key in the X-API-Key header, or as a Bearer token"


class BadKeyFile(AerogramError, ValueError):
    """A file that should hold API keys and does not."""


@dataclass(frozen=True, slots=True)
class Key:
    """What is kept of a key: its name, the hash of its secret, its limits, and the time in which it is good."""

    id: str
    name: str
    digest: str
    created: dt.datetime
    plan: str | None = None
    expires: dt.datetime | None = None
    revoked: dt.datetime | None = None

    @property
    def principal(self) -> str:
        """The caller that limits, cursors and archives know."""
        return f"key:{self.id}"

    def state(self, now: dt.datetime) -> State:
        """Whether the key is good."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and now >= self.expires else "active"

    def as_json(self) -> dict[str, Any]:
        """The key as it is stored."""
        times = {name: getattr(self, name) for name in ("created", "expires", "revoked")}
        said = {name: None if when is None else utc_timestamp(when) for name, when in times.items()}
        return {"id": self.id, "name": self.name, "hash": self.digest, "plan": self.plan, **said}


class IssuedKey(NamedTuple):
    """A new key, and its secret for the one who asked for it."""

    key: Key
    secret: str


class Keys:
    """The API keys in a shared document: a file, unless it is another one. Nothing but their hashes is in it."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        document: SharedDocument | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._path = Path(path) if path is not None else state_directory() / FILE
        self.document: SharedDocument = document or FileDocument(self._path)
        self._clock = clock
        self._seen: bytes | None = None
        self._keys: dict[str, Key] = {}

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def knows(self, text: str) -> bool:
        """Whether every key that is named in a text is known by its id, good or not; in a damaged document none is."""
        try:
            return all(found[1] in self._current() for found in _SECRET.finditer(text))
        except BadKeyFile:
            return False

    @property
    def now(self) -> dt.datetime:
        """The time by which keys expire, in whole seconds."""
        return dt.datetime.fromtimestamp(int(self._clock()), dt.UTC)

    def all(self) -> tuple[Key, ...]:
        """Every key, in the order in which they were made."""
        return tuple(self._current().values())

    @property
    def has_active(self) -> bool:
        """Whether there is a key that is good."""
        now = self.now
        return any(one.state(now) == "active" for one in self.all())

    def create(self, name: str, *, plan: str | None = None, expires: dt.datetime | None = None) -> IssuedKey:
        """A new key; its name is free if no key that is not revoked has it."""
        _check(name, plan)
        if expires is not None and expires <= self.now:
            raise ValidationFailed("a key must expire in the future", details={"field": "expires"})
        key_id = secrets.token_hex(4)
        secret = f"aero_{key_id}_{secrets.token_urlsafe(32)}"
        key = Key(key_id, name, _digest(secret), self.now, plan, expires)

        def add(keys: dict[str, Key]) -> None:
            if any(one.name == name and one.revoked is None for one in keys.values()):
                raise Conflict(f"there is a key {name!r} already; revoke it first, or take another name")
            keys[key.id] = key

        self._change(add)
        return IssuedKey(key, secret)

    def revoke(self, name: str) -> Key:
        """End a key, by its id or its name: a key that has this id is meant before one that is called so."""
        ended: list[Key] = []

        def end(keys: dict[str, Key]) -> None:
            active = [one for one in keys.values() if one.revoked is None]
            found = [one for one in active if one.id == name] or [one for one in active if one.name == name]
            if not found:
                raise NotFound(f"there is no key {name!r} to revoke; `aerogram keys list` shows them")
            ended[:] = [replace(one, revoked=self.now) for one in found]
            keys |= {one.id: one for one in ended}

        self._change(end)
        return ended[0]

    def check(self, secret: str) -> Key:
        """The key that a secret belongs to; `Unauthenticated` when it is wrong, or good no longer."""
        shaped = _SECRET.fullmatch(secret)
        found = self._current().get(shaped[1]) if shaped else None
        if found is None and shaped and not self.document.is_current:
            raise Unavailable("API keys cannot be checked at the moment", remediation="Try again", retry_after=2)
        # compared even when there is nothing to compare with, so that time does not tell which ids exist
        is_right = hmac.compare_digest(_digest(secret), found.digest if found else _NOBODY)
        if found is None or not is_right:
            raise Unauthenticated("The API key is not valid", remediation=_REMEDY)
        state = found.state(self.now)
        if state != "active":
            raise Unauthenticated(f"The API key {found.name!r} is {state}", remediation="Ask for a new key")
        return found

    def plan_of(self, principal: str | None) -> Plan | None:
        """The limits of a principal that is a key with limits of its own."""
        key = self._current().get((principal or "").removeprefix("key:"))
        return parse_plan(key.plan) if key is not None and key.plan else None

    def _current(self) -> Mapping[str, Key]:
        """The keys as the document has them now."""
        text = self.document.read()
        if text is not self._seen:
            self._keys = self._parse(text)
            self._seen = text
        return self._keys

    def _parse(self, text: bytes | None) -> dict[str, Key]:
        try:
            return {} if text is None else {row["id"]: _key(row) for row in loads(text)["keys"]}
        except (ContractError, KeyError, TypeError, ValueError, OverflowError, AttributeError):
            raise BadKeyFile(
                f"{self.document.place} is not a file of API keys: put back a copy of it, or move it away and make the "
                "keys anew with 'aerogram keys create NAME'"
            ) from None

    def _change(self, change: Callable[[dict[str, Key]], None]) -> None:
        """Change the document, one process after the other."""

        def apply(text: bytes | None) -> bytes:
            keys = self._parse(text)
            change(keys)
            return dumps({"keys": [one.as_json() for one in keys.values()]}, indent=True) + b"\n"

        self.document.change(apply)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _key(row: Mapping[str, Any]) -> Key:
    times = {name: row.get(name) for name in ("expires", "revoked")}
    when = {name: None if said is None else _moment(said) for name, said in times.items()}
    if row.get("plan") is not None:
        parse_plan(row["plan"])
    if not re.fullmatch(r"[0-9a-f]{64}", row["hash"]):
        raise ValueError("no hash")
    return Key(row["id"], row["name"], row["hash"], _moment(row["created"]), row.get("plan"), **when)


def _moment(said: str) -> dt.datetime:
    """A time as the file has it; one that somebody has written by hand, as a day, is in UTC as all others are."""
    when = dt.datetime.fromisoformat(said)
    return (when if when.tzinfo is not None else when.replace(tzinfo=dt.UTC)).astimezone(dt.UTC)


def _check(name: str, plan: str | None) -> None:
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        raise ValidationFailed(f"the name of a key is one line of at most {LONGEST_NAME} characters")
    try:
        says_none = plan is not None and parse_plan(plan) == Plan()
    except ValueError:
        says_none = True
    if says_none:  # a key with such limits would have none at all, not even those of everybody
        raise ValidationFailed(f"{plan!r} are no limits; {ALLOWED}", details={"field": "limits"})


log = logging.getLogger("aerogram.server")

FRESH_FOR: Final = 1.0
"""Seconds after which the keys are read again."""
_HEADERS: Final = (b"x-api-key", b"authorization")


class KeyRefresher:
    """The layer; it does nothing when the keys are in a file."""

    def __init__(self, app: App, keys: Keys) -> None:
        self._app = app
        self._keys = keys
        self._document = keys.document if isinstance(keys.document, StoreDocument) else None
        self._reading: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have the keys read again if they are old, and wait for that if the request has one that is unknown."""
        if self._document is not None and scope["type"] in ("http", "websocket"):
            await self._prepare(self._document, scope)
        await self._app(scope, receive, send)

    async def _prepare(self, document: StoreDocument, scope: Scope) -> None:
        said = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() in _HEADERS]
        if said and not self._keys.knows(" ".join(said)):
            # what is being read may be older than the key: then it is read once more
            if self._reading is not None:
                await asyncio.wait({self._reading})
            await asyncio.wait({self._read(document)})
        elif document.read_at is None or time.monotonic() - document.read_at > FRESH_FOR:
            self._read(document)

    def _read(self, document: StoreDocument) -> asyncio.Task[None]:
        """One reading for all who wait."""
        if self._reading is None:
            self._reading = asyncio.create_task(self._refresh(document))
            self._reading.add_done_callback(self._finish)
        return self._reading

    def _finish(self, _: asyncio.Task[None]) -> None:
        self._reading = None

    async def _refresh(self, document: StoreDocument) -> None:
        try:
            await to_thread.run_sync(document.refresh)
        except (AerogramError, OSError) as error:
            log.warning("API keys cannot be read: %s", error)
