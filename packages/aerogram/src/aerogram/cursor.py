"""Signed cursors: where a walk through the pages of a query goes on.

A cursor holds a hash of the query (its tool and arguments), an offset and a mode; when it ends, which key signed it and
the signature; a key to continue after where the source gave one (with the number of items that had it), and the size of
the pages where that is not the usual one. It is signed, not secret; the signature also covers the principal, who is not
named. There are two forms, and both are opened everywhere:

    short        fifteen bytes or a few more in URL-safe base64, without padding
    documented   base64 of JSON with `response_mode`, `offset` and `query_hash`, as the contract knowledge-1.0 has it;
                 the hash of the query is followed by its proof, in one text, and that by a key of numbers. It is
                 padded with spaces and escaped so that its base64 needs no `+`, `/` or `=`. In this order, and with
                 the proof last, it is spelled in the fewest tokens

Signatures have 64 bits: a forger who makes a million attempts a second for a day has a chance of one in 200 million.
They cover the whole hash of the query. A cursor shows one digit of it, by which another query is mostly told from
another caller, and two of the name of its key, by which a key that is not known yet is noticed. When it ends it says in
steps of four seconds, of which it shows the last twenty bits: they come again after 48 days, the nearest such moment is
meant, and the signature covers all of it.

    Cursors ── seal ──▶ text ── open ──▶ Position
       │
    CursorKeys  the keys that sign and verify; `CursorKeys.at(path)` survives a restart
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import os
import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from math import ceil, isfinite
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from aerogram.errors import ContractError, InvalidCursor
from aerogram.state import file_lock, private_directory, state_directory

__all__ = ["CursorKeys", "Cursors", "Position", "SigningKey", "dearest", "farthest", "position_in", "query_hash"]

log = logging.getLogger("aerogram")

DAY: Final = 86_400.0
MAX_CURSOR_LENGTH: Final = 4_096
SIGNATURE_BYTES: Final = 8
QUERY_DIGITS: Final = 1
KEY_DIGITS: Final = 2
"""So many digits of the hash of a query, and of the name of a key, are in a cursor."""
MOST_KEYS: Final = 16**KEY_DIGITS
"""So many keys can be told apart by what a cursor shows of their names."""
LOCK_WITHIN: Final = 5.0
"""Seconds that others have to let go of a file of keys where there is none to go on with."""
_MODES: Final = ("ids_only", "metadata", "preview", "full")
_FORM: Final = 0x10
_HAS_KEY: Final = 0x08
_HEAD_BYTES: Final = 4
_END_STEP: Final = 4
_END_BITS: Final = 20
_END_STEPS: Final = 1 << _END_BITS
"""After so many steps of so many seconds the end that a cursor shows comes again."""
LONGEST_LIFETIME: Final = 20 * DAY
SHORTEST_SECRET: Final = 16
START_AGAIN: Final = "Repeat the request without a cursor to start again at the first page"

FAR_ON: Final = 999_999
"""As far as a walk is thought to go whose length nobody knows."""

_DEAR: Final = "q5zU5"
_DEAR_PROOF: Final = "on3v8kr6aBuxnnV4K3CzmW6d"
"""What needs a few more tokens, length for length, than any cursor or any proof; how many one needs is up to chance."""
LONG_NUMBERS: Final = 6
"""So many bytes the numbers of a key may need on another page: a score of six digits, an id up to a million."""
_STEPS: Final = 1_000_000
"""In so many parts of one a fraction is packed."""
_MOST_STEPS: Final = 1 << 52
_CHEAP_PLACE: Final = 2
"""The name before the proof takes fewest tokens where it begins so far into three bytes."""
_DOCUMENTED: Final = ("query_hash", "offset", "response_mode")
_URL_UNSAFE: Final = str.maketrans({">": "\\u003e", "?": "\\u003f", "~": "\\u007e", "\x7f": "\\u007f"})
_LARGEST: Final = (1 << 63) - 1
_TO_URL_ALPHABET: Final = str.maketrans("+/", "-_")


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)


def query_hash(tool: str, arguments: Mapping[str, Any]) -> str:
    """Twelve hex digits that stand for a tool and its arguments.

    Leave out of `arguments` what may change from page to page: the cursor itself and the page size.
    """
    return hashlib.sha256(_canonical([tool, arguments]).encode()).hexdigest()[:12]


def dearest(cursor: str) -> str:
    """What takes as much room as any cursor to the same place may, to judge by; chance decides what one takes.

    A cursor that was not made here is what it is.
    """
    return _make_dear(cursor, lambda body: body)


def farthest(cursor: str, total: int | None = None) -> str:
    """What takes as much room as any cursor of the same walk may; `total` is how many items that has."""
    return _make_dear(cursor, lambda body: body._replace(offset=max(body.offset, FAR_ON if total is None else total)))


def _make_dear(cursor: str, move: Callable[[_Body], _Body]) -> str:
    try:
        body = _decode(cursor)
    except InvalidCursor:
        return cursor
    moved = move(body)
    if not cursor.startswith("eyJ"):
        return _repeat(_DEAR, len(moved.render_short()))
    least = LONG_NUMBERS if moved is not body else 0
    return moved.render_documented(proof=_repeat(_DEAR_PROOF, len(moved.proof(least))))


def _repeat(text: str, length: int) -> str:
    return (text * (length // len(text) + 1))[:length]


@dataclass(frozen=True, slots=True)
class Position:
    """Where the next page starts: after so many items, and after this key if the source has keys.

    A key is JSON, a date, a UUID, a Decimal, or a tuple of such. `seen` items with this very key came before. `size` is
    that of the pages, where it is not the usual one.
    """

    query_hash: str
    offset: int
    response_mode: str
    after: Any = None
    expires_at: float | None = None
    seen: int = 1
    size: int | None = None


def position_in(cursor: str) -> Position | None:
    """Where a cursor of ours points to, unverified: anybody can read that, only a server can sign it."""
    try:
        body = _decode(cursor)
    except InvalidCursor:
        return None
    ends = _nearest_end(body.ends, time.time())
    return Position(body.query, body.offset, body.mode, body.key, float(ends), body.seen, body.size)


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A secret, its short public name, and when it was made."""

    kid: str
    secret: bytes
    created: float

    @classmethod
    def new(cls, now: float, beside: Sequence[SigningKey] = ()) -> SigningKey:
        """A fresh random key, whose name in a cursor is that of none `beside` it."""
        taken = {key.kid[:KEY_DIGITS] for key in beside}
        free = [name for number in range(MOST_KEYS) if (name := f"{number:0{KEY_DIGITS}x}") not in taken]
        return cls(secrets.choice(free) + secrets.token_hex(1), secrets.token_bytes(32), now)

    @classmethod
    def from_secret(cls, secret: str | bytes) -> SigningKey:
        """The key for a secret that several servers share."""
        raw = secret.encode() if isinstance(secret, str) else secret
        if len(raw) < SHORTEST_SECRET:
            raise ValueError(f"a shared cursor secret needs at least {SHORTEST_SECRET} bytes")
        return cls(hashlib.sha256(b"kid" + raw).hexdigest()[:4], hashlib.sha256(raw).digest(), 0.0)


def add_key(keys: Sequence[SigningKey], now: float) -> tuple[SigningKey, ...]:
    """A fresh key before the others, of which the oldest go where there would be more than have names of their own."""
    kept = tuple(keys[: MOST_KEYS - 1])
    return (SigningKey.new(now, kept), *kept)


class CursorKeys:
    """The keys of a server, newest first: the first one signs, all of them verify."""

    def __init__(self, *keys: SigningKey) -> None:
        if not keys:
            raise ValueError("cursor keys need at least one key")
        self._keys = keys

    @classmethod
    def ephemeral(cls) -> CursorKeys:
        """Keys that end with the process, and with them every cursor that they signed."""
        return cls(SigningKey.new(time.time()))

    @classmethod
    def from_secrets(cls, *secrets_: str | bytes) -> CursorKeys:
        """Keys from secrets that several servers know, newest first."""
        return cls(*map(SigningKey.from_secret, secrets_))

    @classmethod
    def at(
        cls, path: str | Path | None = None, *, rotate_every: float = 30 * DAY, keep: float = 60 * DAY
    ) -> CursorKeys:
        """Keys in a private file, made when absent, so that cursors outlive a restart."""
        return _FileCursorKeys(Path(path or state_directory() / "cursor-keys.json"), rotate_every, keep)

    def signing_key(self) -> SigningKey:
        """The key to sign with."""
        return self._keys[0]

    def named(self, kid: str) -> tuple[SigningKey, ...]:
        """The keys whose names begin like this; mostly one, and none if there never was one."""
        return tuple(key for key in self._keys if key.kid.startswith(kid))

    def refresh(self) -> Future[None] | None:
        """A look for keys that others have made, under way; None when there is nothing to wait for."""
        return None

    def rotate(self) -> None:
        """Sign with a fresh key from now on; cursors of the older keys stay good."""
        self._keys = add_key(self._keys, time.time())


class _FileCursorKeys(CursorKeys):
    """Keys in a file that several processes may share; each notices what another one has rotated."""

    def __init__(self, path: Path, rotate_every: float, keep: float) -> None:
        self._path = private_directory(path.parent) / path.name
        self._rotate_every = rotate_every
        self._keep = keep
        self._keys = self._read()
        if not self._keys:
            self._update(rotate=False)

    def signing_key(self) -> SigningKey:
        if self._is_due(self._keys):
            try:
                self._update(rotate=False, within=0)
            except TimeoutError:  # an event loop waits for nobody: the old one goes on until the other has rotated
                log.debug("somebody else has the lock of the cursor keys")
            except (OSError, ValueError) as error:  # the old one goes on when the file was damaged meanwhile
                log.warning("the cursor keys cannot be rotated: %s", error)
        return self._keys[0]

    def named(self, kid: str) -> tuple[SigningKey, ...]:
        found = super().named(kid)
        if not found:
            self._keys = self._read_safely() or self._keys
            found = super().named(kid)
        return found

    def rotate(self) -> None:
        self._update(rotate=True)

    def _is_due(self, keys: Sequence[SigningKey]) -> bool:
        """Whether it is time for a key to sign with that is none of these."""
        return not keys or time.time() - keys[0].created > self._rotate_every

    def _update(self, *, rotate: bool, within: float = LOCK_WITHIN) -> None:
        """Read the file, add a key when one is due, drop those too old to matter, write it back."""
        with file_lock(self._path.with_name(self._path.name + ".lock"), within=within):
            keys, now = self._read(), time.time()
            if rotate or self._is_due(keys):
                keys = add_key([key for key in keys if now - key.created <= self._keep], now)
                self._write(keys)
        self._keys = keys

    def _read_safely(self) -> tuple[SigningKey, ...]:
        """The keys in the file; none when it was damaged meanwhile, for an unknown cursor is no reason to fail."""
        try:
            return self._read()
        except (OSError, ValueError) as error:
            log.warning("the cursor keys cannot be read again: %s", error)
            return ()

    def _read(self) -> tuple[SigningKey, ...]:
        try:
            stored = self._path.read_bytes()
        except FileNotFoundError:
            return ()
        try:
            return read_keys(stored)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{self._path} is not a file of cursor keys: mend it, or remove it") from error

    def _write(self, keys: tuple[SigningKey, ...]) -> None:
        draft = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(write_keys(keys))
            file.flush()
            os.fsync(descriptor)
        draft.replace(self._path)


def write_keys(keys: Sequence[SigningKey]) -> bytes:
    """Keys as they are kept in a file, or in a store."""
    rows = [{"kid": key.kid, "secret": key.secret.hex(), "created": key.created} for key in keys]
    return json.dumps({"keys": rows}).encode()


def read_keys(stored: bytes) -> tuple[SigningKey, ...]:
    """The keys that `write_keys` has written."""
    rows = json.loads(stored)["keys"]
    return tuple(SigningKey(str(row["kid"]), bytes.fromhex(row["secret"]), float(row["created"])) for row in rows)


class Cursors:
    """Seals positions into cursors and opens them again, for the one who may."""

    def __init__(
        self, keys: CursorKeys | None = None, *, lifetime: float = DAY, clock: Callable[[], float] = time.time
    ) -> None:
        self._keys = keys or CursorKeys.ephemeral()
        self._lifetime = lifetime
        self._clock = clock

    def seal(self, position: Position, *, principal: str | None = None, documented: bool = False) -> str:
        """The position as a signed cursor that only this principal can use."""
        _check_position(position)
        key = self._keys.signing_key()
        now = self._clock()
        wanted = position.expires_at or now + self._lifetime
        ends = ceil(min(max(wanted, now - LONGEST_LIFETIME), now + LONGEST_LIFETIME) / _END_STEP) * _END_STEP
        body = _Body(
            key.kid[:KEY_DIGITS],
            ends,
            position.response_mode,
            position.query_hash,
            position.offset,
            position.size,
            None if position.after is None else _pack_key(position.after),
            position.seen,
        )
        signed = body._replace(signature=_signature(key, body, principal))
        cursor = signed.render_documented() if documented else signed.render_short()
        if len(cursor) > MAX_CURSOR_LENGTH:
            raise ContractError(f"a key is too long: the cursor has more than {MAX_CURSOR_LENGTH} characters", "/pos")
        return cursor

    def prepare(self, cursor: str | None) -> None:
        """Have a key that is unknown looked for where others put theirs, before `open`, which waits for nobody."""
        reading = self._refresh_for(cursor)
        if reading is not None:
            reading.result()

    async def prepare_async(self, cursor: str | None) -> None:
        """As `prepare`, for whoever must not hold up an event loop."""
        reading = self._refresh_for(cursor)
        if reading is not None:
            await asyncio.wrap_future(reading)

    def _refresh_for(self, cursor: str | None) -> Future[None] | None:
        if cursor is None:
            return None
        try:
            kid = _decode(cursor).kid
        except InvalidCursor:  # whoever opens it says so
            return None
        return None if self._keys.named(kid) else self._keys.refresh()

    def open(
        self, cursor: str, *, query_hash: str, response_mode: str | None = None, principal: str | None = None
    ) -> Position:
        """The position in a cursor, once it is certain that it was made here, for this query and caller."""
        body, now = _decode(cursor), self._clock()
        if body.query != query_hash[:QUERY_DIGITS]:
            _refuse("This cursor belongs to another query", "query")
        ends = _nearest_end(body.ends, now)
        signed = body._replace(query=query_hash, ends=ends)
        made = (_signature(key, signed, principal) for key in self._keys.named(body.kid))
        if not any(hmac.compare_digest(one, body.signature) for one in made):
            _refuse("This cursor was not issued to this caller by this server", "signature")
        if ends <= now:
            _refuse("This cursor has expired", "expired")
        if response_mode is not None and body.mode != response_mode:
            remedy = f"Repeat the request with response_mode {body.mode!r}, or without the cursor"
            _refuse("This cursor belongs to another response mode", "mode", remedy)
        return Position(query_hash, body.offset, body.mode, _unpack_key(body.key), float(ends), body.seen, body.size)


def _check_position(position: Position) -> None:
    """Refuse what no cursor could be opened for again."""
    if position.response_mode not in _MODES:
        raise ContractError(f"a mode is one of {', '.join(_MODES)}, not {position.response_mode!r}", "/response_mode")
    for name, number in (("offset", position.offset), ("size", position.size or 0)):
        if type(number) is not int or not 0 <= number <= _LARGEST:
            raise ContractError(f"it is a whole number from 0 to {_LARGEST}, not {number!r}", f"/{name}")


_TAG: Final = "$"
_UNPACK: Final[Mapping[str, Callable[[str], Any]]] = {
    "$datetime": datetime.fromisoformat,
    "$date": date.fromisoformat,
    "$uuid": uuid.UUID,
    "$decimal": Decimal,
}


def _pack_key(key: Any) -> Any:
    """A key as JSON that `_unpacked` reads back with its types, so that it still compares with other keys."""
    if isinstance(key, tuple):
        return {"$tuple": [_pack_key(part) for part in key]}
    if isinstance(key, list):
        return [_pack_key(part) for part in key]
    if isinstance(key, dict):
        packed = {name: _pack_key(part) for name, part in key.items()}
        return {"$dict": packed} if any(str(name).startswith(_TAG) for name in key) else packed
    if isinstance(key, date):
        return {"$datetime" if isinstance(key, datetime) else "$date": key.isoformat()}
    if isinstance(key, (uuid.UUID, Decimal)):
        return {"$uuid" if isinstance(key, uuid.UUID) else "$decimal": str(key)}
    if key is None or isinstance(key, (str, int, float)):
        return key
    raise ContractError(f"a {type(key).__name__} cannot be the key of a page: use a text, number, date or UUID", "/pos")


def _unpack_key(packed: Any) -> Any:
    if isinstance(packed, list):
        return [_unpack_key(part) for part in packed]
    if not isinstance(packed, dict):
        return packed
    tag = next(iter(packed), "")
    if tag == "$tuple":
        return tuple(_unpack_key(part) for part in packed[tag])
    if tag in _UNPACK:
        return _UNPACK[tag](packed[tag])
    return {name: _unpack_key(part) for name, part in (packed[tag] if tag == "$dict" else packed).items()}


def _refuse(message: str, reason: str, remediation: str = START_AGAIN) -> NoReturn:
    raise InvalidCursor(message, remediation=remediation, details={"reason": reason})


def _nearest_end(shown: int, now: float) -> int:
    """The second at which a cursor ends that shows the last bits of it."""
    earliest = int(now) // _END_STEP - _END_STEPS // 2
    return (earliest + (shown - earliest) % _END_STEPS) * _END_STEP


class _Body(NamedTuple):
    """What stands in a cursor: `ends` in seconds since 1970 and `query`, its hash, as far as they are known."""

    kid: str
    ends: int
    mode: str
    query: str
    offset: int
    size: int | None = None
    key: Any = None
    seen: int = 1
    signature: bytes = b""

    def render_short(self) -> str:
        """The cursor as few bytes in base64."""
        has_key = _HAS_KEY if self.key is not None else 0
        head = bytes([_FORM | has_key | _MODES.index(self.mode)]) + self._head()
        numbers = _number(self.offset) + _number(self.size or 0)
        key = _canonical([self.key, self.seen]).encode() if has_key else b""
        return base64.urlsafe_b64encode(head + self.signature + numbers + key).decode().rstrip("=")

    def proof(self, least: int = 0) -> str:
        """The hash of the query, what proves that the cursor is genuine, and its key if that is numbers.

        They then take `least` so many bytes.
        """
        numbers = _pack_numbers(self.key)
        proof = self._head() + self.signature + (numbers and numbers.ljust(least))
        return base64.urlsafe_b64encode(proof).decode().rstrip("=")

    def _head(self) -> bytes:
        """What is shown of the key, the query and the end."""
        end = int(self.query[:QUERY_DIGITS], 16) << _END_BITS | self.ends // _END_STEP % _END_STEPS
        return bytes.fromhex(self.kid) + end.to_bytes(_HEAD_BYTES - 1)

    def render_documented(self, proof: str | None = None) -> str:
        """The cursor as JSON in base64."""
        body: dict[str, Any] = {"response_mode": self.mode, "offset": self.offset}
        if self.key is not None and not _pack_numbers(self.key):
            body["pos"] = self.key
        if self.seen != 1:
            body["seen"] = self.seen
        if self.size is not None:
            body["size"] = self.size
        text = json.dumps(body, separators=(",", ":")).translate(_URL_UNSAFE)[:-1] + ","
        text += " " * ((_CHEAP_PLACE - len(text)) % 3) + f'"query_hash":"{proof or self.proof()}"}}'
        return base64.b64encode((text + " " * (-len(text) % 3)).encode()).decode()


def _signature(key: SigningKey, body: _Body, principal: str | None) -> bytes:
    signed = _canonical([principal, *body[:-1]])
    return hmac.digest(key.secret, signed.encode(), "sha256")[:SIGNATURE_BYTES]


def _pack_numbers(key: Any) -> bytes:
    """A key that is a list of numbers as few bytes; nothing where it is another one.

    Each is a whole number, or a fraction of at most six decimals; the lowest bit says which.
    """
    packed = b""
    for one in key if isinstance(key, list) else ():
        steps = one if type(one) is int else round(one * _STEPS) if type(one) is float and isfinite(one) else -1
        if not 0 <= steps <= _MOST_STEPS or (type(one) is float and repr(steps / _STEPS) != repr(one)):
            return b""
        packed += _number(steps << 1 | (type(one) is float))
    return packed


def _unpack_numbers(packed: bytes) -> list[int | float] | None:
    """The key that `_pack_numbers` has packed."""
    numbers: list[int | float] = []
    at = 0
    while at < len(packed):
        value, at = _take_number(packed, at)
        numbers.append((value >> 1) / _STEPS if value & 1 else value >> 1)
    return numbers or None


def _number(value: int) -> bytes:
    """A number in as few bytes as it needs, seven bits in each."""
    low, high = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _number(high) if high else bytes([low])


def _take_number(raw: bytes, at: int) -> tuple[int, int]:
    """The number that begins at a place, and where it ends."""
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not byte & 0x80:
            return value, at
        if shift > 63:  # noqa: PLR2004 - no offset has more bits
            raise ValueError("a number is too long")


def _decode(cursor: str) -> _Body:
    """What stands in a cursor of either form; anything else is refused."""
    if not isinstance(cursor, str) or not 0 < len(cursor) <= MAX_CURSOR_LENGTH:
        _refuse("This is not a cursor", "garbled")
    text = cursor.translate(_TO_URL_ALPHABET).rstrip("=")
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars="-_", validate=True)
        body = _read_documented(json.loads(raw)) if raw[:1] == b"{" else _read_short(raw)
    except (binascii.Error, IndexError, KeyError, TypeError, ValueError, RecursionError):
        _refuse("This is not a cursor", "garbled")
    return body


def _read_head(raw: bytes) -> tuple[str, int, str, bytes]:
    """What is shown of a key, an end and a query, and the signature that follows."""
    if len(raw) < _HEAD_BYTES + SIGNATURE_BYTES:
        raise ValueError("too short")
    kid, signature = raw[0], raw[_HEAD_BYTES : _HEAD_BYTES + SIGNATURE_BYTES]
    query, end = divmod(int.from_bytes(raw[1:_HEAD_BYTES]), _END_STEPS)
    return f"{kid:02x}", end, f"{query:x}", signature


def _read_short(raw: bytes) -> _Body:
    form, at = raw[0], 1 + _HEAD_BYTES + SIGNATURE_BYTES
    kid, end, query, signature = _read_head(raw[1:at])
    offset, at = _take_number(raw, at)
    size, at = _take_number(raw, at)
    key, seen = json.loads(raw[at:]) if form & _HAS_KEY else (None, 1)
    if form & ~(_HAS_KEY | 0x03) != _FORM or (at != len(raw) and not form & _HAS_KEY):
        raise ValueError("not a form of cursor")
    mode = _MODES[form & 0x03]
    return _Body(kid, end, mode, query, offset, size or None, key, seen, signature)


def _read_documented(body: Any) -> _Body:
    query, offset, mode = (body[name] for name in _DOCUMENTED)
    proof = base64.b64decode(query + "=" * (-len(query) % 4), altchars="-_", validate=True)
    if type(offset) is not int or offset < 0 or mode not in _MODES:
        raise ValueError("not a cursor")
    kid, end, digits, signature = _read_head(proof)
    at = _HEAD_BYTES + SIGNATURE_BYTES
    size, key, seen = body.get("size"), body.get("pos", _unpack_numbers(proof[at:])), body.get("seen", 1)
    return _Body(kid, end, mode, digits, offset, size, key, seen, signature)
