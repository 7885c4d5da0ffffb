"""Negotiation: which of its two envelopes an API answers in, by what the client asks for.

    ?envelope=v2                            first, and then the header is not consulted
    Accept: application/vnd.acme.v2+json    second, with its q-values
    neither                                 the default of the day, by the schedule

Failures are problem details for those who name `application/problem+json` in Accept and no envelope in the query.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from email.utils import format_datetime
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from aerogram.dialects import dialect as dialect_named
from aerogram.dialects.protocol import Dialect
from aerogram.errors import InvalidReply, ReplyError

__all__ = [
    "CURRENT",
    "LEGACY",
    "VERSIONS",
    "EnvelopeChoice",
    "HttpRefusal",
    "Match",
    "Ranges",
    "Schedule",
    "Stage",
    "Version",
    "Versions",
    "parse_accept",
]

_WORD: Final = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_RANGE: Final = re.compile(rf"({_WORD})/({_WORD})")
_QUALITY: Final = re.compile(r"0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?")
_EVERYTHING: Final = ("*", "*")


class Match(NamedTuple):
    """How well a media type is taken: its quality, and how precisely it was named (2 exactly, 0 by `*/*`)."""

    quality: float
    precision: int


_REFUSED: Final = Match(0.0, 0)


class Ranges:
    """The media ranges of an Accept header; without any, everything is welcome."""

    __slots__ = ("_qualities",)

    def __init__(self, ranges: Iterable[tuple[str, str, float]]) -> None:
        self._qualities: dict[tuple[str, str], float] = {}
        for kind, subtype, quality in ranges:
            held = self._qualities.get((kind, subtype), 0.0)
            self._qualities[kind, subtype] = max(held, quality)
        if not self._qualities:
            self._qualities[_EVERYTHING] = 1.0

    def match(self, media_type: str) -> Match:
        """How well a media type is taken; the most precise range that covers it decides."""
        kind, _, subtype = media_type.partition("/")
        for precision, key in ((2, (kind, subtype)), (1, (kind, "*")), (0, _EVERYTHING)):
            if key in self._qualities:
                return Match(self._qualities[key], precision)
        return _REFUSED

    def names(self, media_type: str) -> bool:
        """Whether this very type is asked for, not merely covered by a wildcard."""
        quality, precision = self.match(media_type)
        return quality > 0 and precision == 2  # noqa: PLR2004 - as `Match` says


def parse_accept(header: str) -> Ranges:
    """The ranges of an Accept header (several headers joined with commas)."""
    return Ranges(found for part in header.split(",") if (found := _range(part)) is not None)


def _range(part: str) -> tuple[str, str, float] | None:
    """Type, subtype and quality of one range; parameters other than q do not narrow it."""
    name, *parameters = part.split(";")
    found = _RANGE.fullmatch(name.strip(" \t").lower())
    if found is None or (found[1] == "*" and found[2] != "*"):
        return None
    for parameter in parameters:
        word, _, value = parameter.partition("=")
        if word.strip(" \t").lower() == "q":
            value = value.strip(" \t")
            return (found[1], found[2], float(value)) if _QUALITY.fullmatch(value) else None
    return found[1], found[2], 1.0


Stage: TypeAlias = Literal["before", "opt_in", "flipped", "removed"]
"""Where in a schedule a moment lies."""
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The dates of a migration; `documentation` is a page about it, linked from deprecated answers.

    The legacy shape goes after its `removal`: at that moment, or after that day where it is a date.
    """

    opt_in: dt.date
    flip: dt.date
    removal: dt.date
    documentation: str | None = None
    _moments: tuple[dt.datetime, dt.datetime, dt.datetime] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        opt_in, flip, removal = _moment(self.opt_in), _moment(self.flip), _moment(self.removal)
        if not opt_in <= flip < removal:
            raise InvalidReply("a schedule goes from opt_in over flip to removal")
        end = removal if isinstance(self.removal, dt.datetime) else removal + _DAY
        object.__setattr__(self, "_moments", (opt_in, flip, end))

    def stage(self, now: dt.datetime) -> Stage:
        """Where a moment lies."""
        return STAGES[sum(moment <= now for moment in self._moments)]

    def headers(self, successor: str) -> list[tuple[bytes, bytes]]:
        """What an answer in the legacy shape says about its end (RFC 9745, RFC 8594)."""
        _, flip, removal = self._moments
        links = [f'<{successor}>; rel="successor-version"']
        if self.documentation is not None:
            links += [f'<{self.documentation}>; rel="{relation}"' for relation in ("deprecation", "sunset")]
        return [
            (b"deprecation", b"@%d" % flip.timestamp()),
            (b"sunset", format_datetime(removal, usegmt=True).encode()),
            (b"link", ", ".join(links).encode("ascii", "replace")),
        ]


_DAY: Final = dt.timedelta(days=1)


def _moment(given: dt.date) -> dt.datetime:
    if not isinstance(given, dt.datetime):
        return dt.datetime(given.year, given.month, given.day, tzinfo=dt.UTC)
    if given.tzinfo is None:
        raise InvalidReply(f"{given.isoformat()} needs a time zone")
    return given.astimezone(dt.UTC)


Version: TypeAlias = Literal["v1", "v2"]
LEGACY: Final = "v1"
CURRENT: Final = "v2"
VERSIONS: Final[tuple[Version, ...]] = (LEGACY, CURRENT)
JSON: Final = "application/json"
PROBLEM: Final = "application/problem+json"
PARAMETER: Final = "envelope"
_LONGEST_REMEMBERED: Final = 512
_MOST_REMEMBERED: Final = 1_000
_VENDOR: Final = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")


Words: TypeAlias = tuple[bytes, bytes, Stage | None, Version | None]
"""What a choice depends on: a query, an Accept header, the stage of the schedule, and the default of the route."""


class HttpRefusal(ReplyError):
    """The layer itself refuses a request, with a status that no error code stands for alone."""

    def __init__(self, status: int, code: str, message: str, remediation: str, **details: object) -> None:
        super().__init__(message, code=code, remediation=remediation, details=details)
        self.status = status


@dataclass(frozen=True, slots=True)
class EnvelopeChoice:
    """What a client gets: the envelope, its media type, and how failures are said.

    `acceptable`: whether the client takes JSON at all. `refusal`: why it gets nothing else.
    """

    version: Version
    media_type: str = JSON
    as_problem: bool = False
    acceptable: bool = True
    refusal: HttpRefusal | None = None


_PLAIN_LEGACY: Final = EnvelopeChoice(LEGACY)
_PLAIN_CURRENT: Final = EnvelopeChoice(CURRENT)


@dataclass(frozen=True, kw_only=True)
class Versions:
    """The two envelopes of an API, which routes have both, and how the newer one takes over.

    `migrated` names routes as `/tasks/{id}` or `GET /tasks/{id}`. Without a `schedule`, `default` is the envelope for
    those who do not choose. `controls` lets callers shape replies (`response_mode`, `fields`, `max_tokens`, `cursor`,
    `page_size`): by all of them, or by those that are named. `rate_limit_headers` adds the older `X-RateLimit-*`.
    """

    vendor: str = "aerogram"
    legacy: str | Dialect = "bare"
    current: str | Dialect = "standard-v2"
    problem: str | Dialect = "problem"
    migrated: Literal["all"] | Collection[str] = "all"
    schedule: Schedule | None = None
    default: Version = LEGACY
    controls: bool | Collection[str] = False
    rate_limit_headers: bool = False
    clock: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)
    choices: dict[Words, EnvelopeChoice] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not _VENDOR.fullmatch(self.vendor):
            raise InvalidReply(f"{self.vendor!r} cannot stand in a media type: use lower-case letters, digits, . and -")
        if isinstance(self.migrated, str) and self.migrated != "all":
            raise InvalidReply("migrated is 'all', or a list of routes")
        if self.default not in VERSIONS:
            raise InvalidReply(f"default is one of {', '.join(VERSIONS)}")

    def media_type(self, version: Version) -> str:
        """The media type that names a version."""
        return _vendor_type(self.vendor, version)

    @cached_property
    def legacy_is_bare(self) -> bool:
        """Whether legacy callers get what the framework makes of a value or an error."""
        return dialect_named(self.legacy).is_bare

    @property
    def stage(self) -> Stage:
        """Where in its schedule the migration stands; always in its first part when there is none."""
        return "opt_in" if self.schedule is None else self.schedule.stage(self.clock())

    def default_in(self, stage: Stage, own: Version | None = None) -> Version:
        """The envelope for those who do not choose, on a route that may have a default of its `own`."""
        if own is not None and stage != "removed":
            return own
        if self.schedule is None:
            return self.default
        return CURRENT if stage in ("flipped", "removed") else LEGACY

    def migrates(self, path: str, methods: Collection[str]) -> bool:
        """Whether a route with this path template has both envelopes."""
        if self.migrated == "all":
            return True
        return path in self.migrated or any(f"{method} {path}" in self.migrated for method in methods)

    def with_migrated(self, path: str) -> Versions:
        """The same with one more route that has both envelopes."""
        return self if self.migrated == "all" else replace(self, migrated=frozenset({*self.migrated, path}))

    def with_dialect(self, own: Dialect) -> Versions:
        """The same in the very dialect of a contract, which may have settings, where it is one of these."""
        names = ("legacy", "current", "problem")
        same = {name: own for name in names if getattr(self, name) == own.name}
        return replace(self, **same) if same else self  # type: ignore[arg-type]  # names of fields that hold dialects

    def media_types(self) -> list[str]:
        """Everything a migrated route can answer in today."""
        newer = [] if self.stage == "before" else [self.media_type(CURRENT)]
        older = [] if self.stage == "removed" else [self.media_type(LEGACY)]
        return [JSON, *newer, *older, PROBLEM]

    def choose(self, words: Words, asked: Sequence[str]) -> EnvelopeChoice:
        """The choice for a query, an Accept header, a stage and the default of a route, which is known from then on.

        `asked` are the values of `?envelope=` in the query.
        """
        query, accept, _, own = words
        found = self.negotiate(asked, accept.decode("latin-1"), own)
        if found.refusal is None and len(query) + len(accept) <= _LONGEST_REMEMBERED:
            if len(self.choices) >= _MOST_REMEMBERED:
                self.choices.clear()
            self.choices[words] = found
        return found

    def negotiate(self, asked: Sequence[str], accept: str, own: Version | None = None) -> EnvelopeChoice:
        """The choice for the values of `?envelope=` and the Accept header of a request; a route may have its `own`."""
        stage = self.stage
        if stage == "before":
            return _PLAIN_LEGACY
        if asked:
            return self._choose_by_query(asked, accept, stage)
        choice = _choose_by_accept(accept, self.vendor, self.default_in(stage, own), stage == "removed")
        if not choice.acceptable and stage == "removed" and parse_accept(accept).names(self.media_type(LEGACY)):
            return EnvelopeChoice(CURRENT, refusal=_gone_refusal())
        return choice

    def _choose_by_query(self, asked: Sequence[str], accept: str, stage: Stage) -> EnvelopeChoice:
        version = asked[0]
        if version not in VERSIONS or (len(asked) > 1 and set(asked) != {version}):
            return EnvelopeChoice(self.default_in(stage), refusal=_unclear_refusal(asked))
        if version == LEGACY and stage == "removed":
            return EnvelopeChoice(CURRENT, refusal=_gone_refusal())
        plain = _PLAIN_LEGACY if version == LEGACY else _PLAIN_CURRENT
        vendored = self.media_type(plain.version)
        is_named = vendored in accept and parse_accept(accept).names(vendored)
        return EnvelopeChoice(plain.version, vendored) if is_named else plain


def _choose_by_accept(accept: str, vendor: str, default: Version, legacy_is_gone: bool) -> EnvelopeChoice:
    """The best of plain JSON and the vendor's types; of equals, the one that was named, then the newer."""
    ranges = parse_accept(accept)
    offers: list[tuple[str, Version]] = [(JSON, default)]
    offers += [(_vendor_type(vendor, one), one) for one in VERSIONS if one == CURRENT or not legacy_is_gone]
    ranked = [(_rank(ranges, offers[place][0], place), *offers[place]) for place in range(len(offers))]
    (quality, _, _), media_type, version = max(ranked)
    as_problem = ranges.names(PROBLEM) and ranges.match(PROBLEM).quality >= quality
    if quality > 0:
        return EnvelopeChoice(version, media_type, as_problem)
    return EnvelopeChoice(default, as_problem=as_problem, acceptable=as_problem)


def _vendor_type(vendor: str, version: Version) -> str:
    return f"application/vnd.{vendor}.{version}+json"


def _rank(ranges: Ranges, media_type: str, place: int) -> tuple[float, int, int]:
    quality, precision = ranges.match(media_type)
    named = precision == 2  # noqa: PLR2004 - exactly, as `Match` says
    return quality, precision, place if named else -place


def _unclear_refusal(asked: Sequence[str]) -> HttpRefusal:
    seen = ", ".join(dict.fromkeys(value[:40] for value in asked[:5]))
    return HttpRefusal(
        400,
        "VALIDATION_ERROR",
        f"envelope is one of {', '.join(VERSIONS)}, and only one of them; received {seen!r}",
        f"Send envelope={CURRENT}, or leave it out",
        field=PARAMETER,
        allowed=list(VERSIONS),
    )


def _gone_refusal() -> HttpRefusal:
    return HttpRefusal(
        410,
        "GONE",
        f"The envelope {LEGACY} is no longer served",
        f"Ask for envelope={CURRENT}, or leave the choice out",
        field=PARAMETER,
        allowed=[CURRENT],
    )
