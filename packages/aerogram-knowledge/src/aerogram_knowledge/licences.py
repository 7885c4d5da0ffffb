"""Licences: the gate before documents that are in the index and may not be shown.

Whoever runs an index names the licences that are withheld. Their documents are found by nobody; what is said instead is
how many results there would have been.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from aerogram.errors import Forbidden
from aerogram.reply import Notice
from aerogram_knowledge.documents.front import UNKNOWN_LICENSE, license_of
from aerogram_knowledge.filters import Filters, key_of
from aerogram_knowledge.store import StoredChunk

__all__ = ["LicenseBlocked", "LicenseFilter", "other_license_notice"]

CODE: Final = "LICENSE_GATE_BLOCKED"
OBTAIN: Final = "Ask whoever runs the index for a licence that covers it"
MEND: Final = "Ask whoever runs the index to mend what the document says of its licence"


class LicenseBlocked(Forbidden):
    """Everything that was asked for is withheld because of its licence."""

    code = CODE


@dataclass(frozen=True, slots=True)
class LicenseFilter:
    """Which licences are withheld, in lower case; nothing is by default.

    Where any is, so is an unknown one, because it could be that.
    """

    withheld: tuple[str, ...] = ()

    @classmethod
    def of(cls, names: Iterable[str]) -> Self:
        """The gate before licences of these names, in whatever case they are written."""
        named = set(map(key_of, names)) - {""}
        return cls(tuple(sorted({*named, key_of(UNKNOWN_LICENSE)} if named else ())))

    def narrow(self, filters: Filters) -> Filters:
        """Filters that let nothing pass which the gate holds back."""
        return replace(filters, withheld=self.withheld) if self.withheld else filters

    def holds_back(self, chunk: StoredChunk) -> bool:
        """Whether a chunk may not be shown."""
        return chunk.license is not None and key_of(chunk.license) in self.withheld

    def bars(self, record: Mapping[str, Any]) -> bool:
        """Whether a record of the vendor graph states itself a licence that is withheld."""
        stated = license_of({name.lower(): value for name, value in record.items()})
        return stated is not None and key_of(stated) in self.withheld

    def refusal(self, count: int) -> LicenseBlocked:
        """What is said when nothing else is left to be shown."""
        several = f"All {count} results are withheld because of their licence"
        return LicenseBlocked(several if count > 1 else _ONE, remediation=OBTAIN, details={"withheld": count})

    def refusal_of(self, chunk: StoredChunk) -> LicenseBlocked:
        """What is said of one document that may not be shown."""
        return LicenseBlocked(_UNREAD, remediation=MEND) if chunk.license == UNKNOWN_LICENSE else self.refusal(1)

    def notices(self, count: int) -> tuple[Notice, ...]:
        """What is said beside the results that may be shown."""
        if not count:
            return ()
        message = f"{count} more are withheld because of their licence"
        return (Notice(message, CODE, "warning", OBTAIN, {"withheld": count}),)


_ONE: Final = "It is withheld because of its licence"
_UNREAD: Final = "It is withheld because its licence cannot be read"


def other_license_notice() -> Notice:
    """What is said when a caller's own filter leaves nothing of what there is under other licences."""
    return Notice("There are results under other licences", CODE, "warning", "Leave out the filter by licence")
