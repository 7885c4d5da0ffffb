"""Negotiation: what a server offers about its replies, and what a client asks for, over MCP.

Two doors lead to it. The extension `dev.aerogram/replies` is advertised with the server's capabilities and carries
the client's settings with each request. The `server` tool answers `action="capability-negotiate"` for clients that
know no extensions. The protocol keeps no sessions, so the tool tells and does not remember: what is used follows
from the server's flags and from the settings of each request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

from aerogram.channels import Policy
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, Flags
from aerogram.errors import ValidationFailed
from aerogram.reply import Notice, Reply
from aerogram.tokens import Budget

__all__ = ["ACTION", "EXTENSION", "NOTHING_AGREED", "Agreement", "Offer", "agree", "negotiate"]

EXTENSION: Final = "dev.aerogram/replies"
ACTION: Final = "capability-negotiate"
CONTRACT: Final = "response_contract"
VERSIONS: Final = ("v2", "v1")
MOST_COMPLAINTS: Final = 20
STRUCTURED: Final[tuple[Policy, ...]] = ("mirror", "compact", "summary")
"""The channel policies a client may choose: those that keep the structured content that listings promise."""

Settings: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What a server has to offer: its dialects (the first is the default), budget, channels and retrieval tool."""

    dialects: tuple[str, ...]
    channels: Policy = "mirror"
    budget: Budget | None = None
    retrieve: str | None = None

    @property
    def is_bare(self) -> bool:
        """Whether payloads alone are all that there is to have."""
        return self.dialects == ("bare",)

    def settings(self) -> dict[str, Any]:
        """The offer as the extension advertises it."""
        said: dict[str, Any] = {
            "dialects": list(self.dialects),
            "channels": [self.channels, *(one for one in STRUCTURED if one != self.channels)],
        }
        if self.budget is not None:
            said["budget"] = {"limit": self.budget.limit, "unit": self.budget.counter.unit}
        if self.retrieve is not None:
            said["retrieve"] = self.retrieve
        return said


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the settings of a request come to; None where nothing was asked for or it cannot be had."""

    dialect: str | None = None
    channels: Policy | None = None
    max_tokens: int | None = None
    notices: tuple[Notice, ...] = ()


NOTHING_AGREED: Final = Agreement()


def agree(offer: Offer, asked: Settings | None) -> Agreement:
    """Read a client's settings; what the server does not know or cannot do is a notice and no failure."""
    if not asked:
        return NOTHING_AGREED
    found: dict[str, Any] = {}
    strangers = (name for name in asked if name not in _READERS)
    notices = [_unknown_notice("setting", name, _READERS) for name in islice(strangers, MOST_COMPLAINTS)]
    for name in _READERS.keys() & asked.keys():
        value = _READERS[name](offer, asked[name])
        if value is None:
            message = f"{name} {str(asked[name])[:60]!r} is not offered; the default is used"
            offered = {"offered": offer.settings()}
            notices.append(Notice(message, "UNSUPPORTED_CAPABILITY", "warning", "See `offered`", offered))
        found[name] = value
    return Agreement(**found, notices=tuple(notices))


def _dialect(offer: Offer, asked: Any) -> str | None:
    return next((name for name in _as_list(asked) if name in offer.dialects), None)


def _channels(offer: Offer, asked: Any) -> str | None:
    return next((name for name in _as_list(asked) if name in STRUCTURED or name == offer.channels), None)


def _max_tokens(_offer: Offer, asked: Any) -> int | None:
    return asked if type(asked) is int and asked > 0 else None


def _as_list(asked: Any) -> Sequence[Any]:
    """One choice, or several in the order of preference."""
    return asked if isinstance(asked, list) else [asked]


_READERS: Final = {"dialect": _dialect, "channels": _channels, "max_tokens": _max_tokens}


def _unknown_notice(what: str, name: object, known: Iterable[str]) -> Notice:
    message = f"There is no {what} {str(name)[:60]!r} here"
    return Notice(message, "UNKNOWN_CAPABILITY", "warning", f"Known: {', '.join(sorted(known))}")


def negotiate(action: str, asked: Any, *, offer: Offer, flags: Flags, client: str | None = None) -> Reply[Any]:
    """The answer of the `server` tool: the version that is used, those this client can have, the flags, and the offer.

    A flag decides between the versions, so a client can have one of them. That the legacy format serves is told of
    every reply in it, this one included, and not here.
    """
    if action != ACTION:
        details = {"field": "action", "received": str(action)[:60], "allowed": [ACTION]}
        raise ValidationFailed(f"There is no action {str(action)[:60]!r}", remediation=f"Use {ACTION}", details=details)
    if asked is not None and not isinstance(asked, Mapping):
        details = {"field": "client_capabilities", "pointer": "/client_capabilities", "received": type(asked).__name__}
        raise ValidationFailed("client_capabilities is an object", details=details)
    decision = flags.decide(RESPONSE_CONTRACT_V2.name, client)
    used = "v2" if decision.enabled else "v1"
    data = {
        CONTRACT: used,
        "supported_versions": [used],
        "feature_flags": flags.describe(client),
        "offered": offer.settings(),
        "extension": EXTENSION,
    }
    told = decision.notices if decision.enabled else ()
    return Reply.ok(data, notices=(*told, *islice(_complaints(asked or {}, used), MOST_COMPLAINTS)))


def _complaints(asked: Settings, used: str) -> Iterable[Notice]:
    """A warning for each capability that is not known and each version that is not used."""
    for name, value in asked.items():
        if name != CONTRACT:
            yield _unknown_notice("capability", name, (CONTRACT,))
        elif used not in (str(one).removeprefix("response-") for one in _as_list(value)):  # as `meta.version` has it
            message = f"{CONTRACT} {str(value)[:60]!r} was asked for; {used} is used"
            switch = f"The flag {RESPONSE_CONTRACT_V2.name} decides between {' and '.join(VERSIONS)}"
            yield Notice(message, "UNSUPPORTED_CAPABILITY", "warning", switch)
