"""Replicas: which server is read.

Questions go to a replica that has seen everything this process has seen or written, and to the primary as long as none
has. So whoever wrote something finds it, and the generation never goes back. A replica that fails is passed over for a
while. What others have written is seen by asking the primary now and then, with the questions: an answer of a replica
is at most `LAG` seconds older than the primary. While the primary does not answer, replicas do, as far as they are.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from aerogram.errors import AerogramError
from aerogram_knowledge.store.postgres.pool import Pool

__all__ = ["Readers"]

log = logging.getLogger("aerogram")

TRUSTED: Final = 1.0
"""Seconds for which a replica that was up to date is taken to be so."""
PASSED_OVER: Final = 5.0
LAG: Final = 5.0
"""Seconds by which an answer of a replica may be older than the primary."""
SOON: Final = 1.0
"""Seconds that questions wait for the primary to say how far it is; a silent one must not hold up replicas."""
_GENERATION: Final = "SELECT generation FROM aerogram_state"


class _Replica:
    """One replica, and what was last heard of it."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.generation = -1
        self.asked_at = 0.0
        self.down_until = 0.0


class Readers:
    """The primary and its replicas; `seen` is the generation that an answer must have."""

    def __init__(self, primary: Pool, replicas: Sequence[Pool]) -> None:
        self.primary = primary
        self.replicas = [_Replica(pool) for pool in replicas]
        self.seen = 0
        self._turn = 0
        self._guard = threading.Lock()
        self._asked_at = -LAG
        self._answered = threading.Event()

    def note_generation(self, generation: int) -> int:
        """Remember a generation that was written or read."""
        with self._guard:
            self.seen = max(self.seen, generation)
        return generation

    def fetch(self, statement: str, *values: Any) -> list[Any]:
        """The rows of a statement, from a replica if one is up to date."""
        replica = self._current()
        if replica is None:
            return self.primary.fetch(statement, *values)
        try:
            return replica.pool.fetch(statement, *values)
        except AerogramError:  # also when it has not heard of the tables yet
            replica.down_until = time.monotonic() + PASSED_OVER
            return self.primary.fetch(statement, *values)

    def generation(self) -> int:
        """The generation of what is read."""
        replica = self._current()
        if replica is not None and self._is_current(replica):
            return self.note_generation(replica.generation)
        return self.note_generation(int(self.primary.fetch(_GENERATION)[0][0]))

    def states(self) -> list[dict[str, Any]]:
        """What is known of each replica, asked anew."""
        told = []
        for one in self.replicas:
            heard = self._ask(one)
            state = "down" if not heard else "current" if one.generation >= self.seen else "behind"
            told.append({"state": state, "generation": one.generation if heard else None})
        return told

    def close(self) -> None:
        """Let go of all connections."""
        for pool in (self.primary, *(one.pool for one in self.replicas)):
            pool.close()

    def _current(self) -> _Replica | None:
        """A replica that has seen enough; they take turns."""
        if self.replicas:
            self._keep_up()
        for _ in self.replicas:
            self._turn = (self._turn + 1) % len(self.replicas)
            one = self.replicas[self._turn]
            if time.monotonic() >= one.down_until and self._is_current(one):
                return one
        return None

    def _keep_up(self) -> None:
        """Have the primary say how far it is, unless it was asked lately, and wait for its word, but not for long."""
        with self._guard:
            now = time.monotonic()
            if now - self._asked_at >= LAG:
                self._asked_at, self._answered = now, threading.Event()
                threading.Thread(target=self._ask_primary, args=(self._answered,), daemon=True).start()
            answered, left = self._answered, self._asked_at + SOON - now
        answered.wait(max(0.0, left))

    def _ask_primary(self, answered: threading.Event) -> None:
        try:
            self.note_generation(int(self.primary.fetch(_GENERATION)[0][0]))
        except AerogramError as error:
            log.warning("replicas are read as far as they are: %s", error)
        finally:
            answered.set()

    def _is_current(self, one: _Replica) -> bool:
        """Whether a replica has seen enough, by what it said a moment ago or says now."""
        if one.generation >= self.seen and time.monotonic() - one.asked_at < TRUSTED:
            return True
        return self._ask(one) and one.generation >= self.seen

    def _ask(self, one: _Replica) -> bool:
        try:
            one.generation = int(one.pool.fetch(_GENERATION)[0][0])
        except AerogramError:  # also when it has not heard of the tables yet
            one.down_until = time.monotonic() + PASSED_OVER
            return False
        one.asked_at = time.monotonic()
        return True
