"""A ring of cursor keys that lives in the store, so that every server opens what any of them has sealed.

A new key is written before anything is signed with it, and servers that have not heard of it yet look it up when they
first meet it: a rotation cuts off nobody. Two servers that rotate at once agree on the one that was faster.
"""

from __future__ import annotations

import json
import logging
import time
from typing import Final

from aerogram.cursor import DAY, KeyRing, SigningKey
from aerogram.errors import AerogramError
from aerogram.knowledge.store import Store

__all__ = ["StoreRing"]

log = logging.getLogger("aerogram")

NAME: Final = "cursor-keys"


class StoreRing(KeyRing):
    """The keys in a shared document of a store."""

    def __init__(self, store: Store, *, rotate_every: float = 30 * DAY, keep: float = 60 * DAY) -> None:
        self._store = store
        self._rotate_every = rotate_every
        self._keep = keep
        self._keys = ()
        self._update(rotate=False)

    def signing_key(self) -> SigningKey:
        """The newest key; one that is too old is followed by another, unless the store is away."""
        if time.time() - self._keys[0].created > self._rotate_every:
            try:
                self._update(rotate=False)
            except AerogramError as error:
                log.warning("the cursor keys cannot be rotated: %s", error)
        return self._keys[0]

    def key(self, kid: str) -> SigningKey | None:
        """The key of that name, perhaps one that another server has made."""
        found = super().key(kid)
        if found is None:
            self._keys = self._read()[0] or self._keys
            found = super().key(kid)
        return found

    def rotate(self) -> None:
        """Sign with a fresh key from now on, on every server that meets it."""
        self._update(rotate=True)

    def _update(self, *, rotate: bool) -> None:
        """Read the keys and add one when it is due; whoever is slower takes what the faster one wrote."""
        while True:
            now = time.time()
            keys, version = self._read()
            if keys and not rotate and now - keys[0].created <= self._rotate_every:
                break
            keys = (SigningKey.new(now), *(key for key in keys if now - key.created <= self._keep))
            if self._store.set_shared(NAME, _packed(keys), version):
                break
            rotate = False
        self._keys = keys

    def _read(self) -> tuple[tuple[SigningKey, ...], int]:
        found = self._store.shared(NAME)
        return (_unpacked(found[0]), found[1]) if found else ((), 0)


def _packed(keys: tuple[SigningKey, ...]) -> bytes:
    rows = [{"kid": key.kid, "secret": key.secret.hex(), "created": key.created} for key in keys]
    return json.dumps({"keys": rows}).encode()


def _unpacked(stored: bytes) -> tuple[SigningKey, ...]:
    rows = json.loads(stored)["keys"]
    return tuple(SigningKey(str(row["kid"]), bytes.fromhex(row["secret"]), float(row["created"])) for row in rows)
