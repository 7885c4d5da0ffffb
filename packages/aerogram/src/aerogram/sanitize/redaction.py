"""Redaction: secrets are taken out of what is sent.

A secret is known by its looks, by the name of the member that it stands in or below, or by what a text assigns it to.
Whatever is done to a text takes time in proportion to its length.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

from aerogram.content.datatext import read_python
from aerogram.content.jsontext import begins_as_json, dumps, dumps_loosely, find_json, loads_loosely
from aerogram.errors import ContractError
from aerogram.reply import Notice, Reply
from aerogram.sanitize.assignments import STEMS, AssignedSecret, AssignmentFinder
from aerogram.sanitize.kinds import SECRET_KINDS, USUAL_BODIES, SecretKind
from aerogram.sanitize.names import ODD_LETTERS, bare_name, is_plural, plain_spelling
from aerogram.sanitize.tables import Cell, columns_of, find_cells
from aerogram.sanitize.walking import Place, pointer_to, walk

__all__ = ["Redaction"]

MOST_PLACES: Final = 20
NAMED: Final = "by_name"
SPEAKING: Final = frozenset(
    {"data", "problem", "notices", "citations", "actions", "query_echo", "retry_with", "message", "extra"}
)
"""The fields of a reply that may hold somebody's text; cursors, hashes and stamps are Aerogram's own."""
_WHERE, _RECEIVED = "loc", "input"
"""The members in which pydantic says what was wrong with a value, and repeats the value."""
_PEM_BEGIN: Final = "-----BEGIN "
_PEM_END: Final = "-----END "
_DASHES: Final = "-----"
_CREDENTIALS: Final = re.compile(r"(://)(?!\[redacted:\w+\]@)[^\s/:@?#\"'<>]*+:[^\s/?#\"'<>]+(?=@)")
_LONE_CREDENTIAL: Final = re.compile(r"(://)(?=[^\s/:@?#]*?[0-9])[^\s/:@?#\"'<>]{16,}+(?=@)")
_HEADERS: Final = tuple(
    (clue, re.compile(pattern), kind)
    for clue, pattern, kind in (
        # what begins with one of two letters is found fast
        ("bearer ", r"([Bb](?<![A-Za-z0-9][Bb])(?i:earer {1,4}+))[A-Za-z0-9._~+/=-]{16,}+", "authorization"),
        ("basic ", r"([Bb](?<![A-Za-z0-9][Bb])(?i:asic {1,4}+))[A-Za-z0-9._~+/=-]{16,}+", "authorization"),
        (
            "curl ",
            r"(curl(?=\s)[^\r\n]{0,200}?\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,64}:)(?!\$)[^\s\"']++",
            "authorization",
        ),
        ("sig", r"([?&](?:[\w-]{0,20}-)?(?i:sig|signature)=)[^&\s#\"'<>]{20,}+", "signature"),
    )
)
"""What is secret by the words before it, which are shown."""
_REFERENCE: Final = re.compile(r"\$\{\w+\}|\$[A-Z_]+|\{\{[^{}]*\}\}|\*+|•+|\[redacted:\w+\]|")
"""What stands where a secret would, and is none."""
_PATH: Final = re.compile(r"(?:~|[A-Za-z]:)?[/\\]")
_PAIR_NAMES: Final = ("name", "key", "header", "field", "parameter", "parameterkey", "variable", "property", "k")
_PAIR_VALUES: Final = frozenset(("value", "v", "val", "content", "default", "data", "parametervalue"))
_LOGIN_NAMES: Final = frozenset(("user", "username", "login", "email", "account", "userid"))
_REACH: Final = 512
"""So far from a letter what belongs to a secret may stand, before the line that it is in begins or ends."""
_DEEPEST_TEXT: Final = 3
"""How many texts of JSON may stand inside one another."""

# What a schema says about a secret is no secret, unless it says a value.
_SCHEMA_TEXT: Final = (
    "type title description format minLength maxLength pattern writeOnly readOnly nullable deprecated anyOf oneOf "
    "allOf items $ref minimum maximum examples example default const enum x-order"
)
_SCHEMA: Final = frozenset(_SCHEMA_TEXT.split())
_SCHEMA_VALUES: Final = frozenset(("default", "example", "examples", "const", "enum"))
_SCHEMA_MARKS: Final = frozenset(("type", "$ref", "anyOf", "oneOf", "allOf"))


@dataclass(frozen=True)
class Redaction:
    """Takes secrets out: texts that look like one, and values of members that are called like one.

    `kinds` are the secrets to look for; `names` are further members whose values are never sent, `shown` members
    that are sent although they are called like a secret.
    """

    kinds: tuple[SecretKind, ...] = SECRET_KINDS
    names: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    is_for_words: ClassVar[bool] = True
    """Whether it is for words of any kind, such as those of a link, and not for texts alone."""
    _assignments: AssignmentFinder = field(init=False, repr=False, compare=False)
    _clues: _Clues = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_assignments", AssignmentFinder(self.names, self.shown))
        object.__setattr__(self, "_clues", _Clues(self))

    def __call__(self, reply: Reply[Any], /) -> Reply[Any]:
        """The reply without secrets."""
        mender = _SecretMender(self)
        changes: dict[str, Any] = {}
        for name, held in reply.present_fields().items():
            mender.clues = self._clues.find(held) if name == "data" else ALL_CLUES
            if name in SPEAKING and mender.clues:
                changes[name] = walk(held, "", (None, name), mender)
        if not mender.found:
            return reply
        changes["notices"] = (*changes.get("notices", reply.notices), _redaction_notice(mender.found))
        return reply.replace(**changes)

    def holds_back(self, name: str) -> bool:
        """Whether the value of a member is secret by the member's name."""
        return self._assignments.is_secret(name)

    def clean(self, text: str, told: Callable[[str], None]) -> str:
        """The text with its secrets masked; `told` hears the kind of each."""
        return self._clean(text, told, ALL_CLUES)

    def _clean(self, text: str, told: Callable[[str], None], clues: frozenset[str]) -> str:
        """The text without the secrets that there are clues to."""
        clean = self._clean_spelled(text, told, clues)
        if SPELLING not in clues or clean.isascii():
            return clean
        parts = list(_near_odd_spelling(clean))
        if any(_PEM_BEGIN in plain_spelling(clean[start:end]) for start, end in parts):
            parts = [(0, len(clean))]  # a private key is longer than what is near
        pieces: list[str] = []
        position = 0
        for start, end in parts:
            pieces += (clean[position:start], self._clean_odd(clean[start:end], told))
            position = end
        return "".join((*pieces, clean[position:]))

    def _clean_odd(self, text: str, told: Callable[[str], None]) -> str:
        """A text with other spellings, which is shown in plain letters if there is a secret in them."""
        plain = plain_spelling(text)
        clean = self._clean_spelled(plain, told, ALL_CLUES)
        return text if clean == plain else clean

    def _clean_spelled(self, text: str, told: Callable[[str], None], clues: frozenset[str]) -> str:
        if KIND in clues:
            for kind, pattern in self._clues.kinds_in(text):
                text = pattern.sub(lambda _, name=kind.name: _mask(name, told), text)  # type: ignore[misc]
        if URL in clues and "://" in text:
            for pattern in (_CREDENTIALS, _LONE_CREDENTIAL):
                text = pattern.sub(lambda match: match[1] + _mask("url_credentials", told), text)
        if KIND in clues and _PEM_BEGIN in text:
            text = "".join(_without_private_keys(text, told))
        if HEADER in clues:
            lowered = text.lower()
            for clue, pattern, kind_name in _HEADERS:
                if clue not in lowered:
                    continue
                text = pattern.sub(lambda match, name=kind_name: match[1] + _mask(name, told), text)  # type: ignore[misc]
        if COLUMN in clues and "\n" in text:
            cells = find_cells(text, self._assignments.may_be_secret)
            secret = (one for one in cells if self._assignments.is_assigned(one.name, text[one.start : one.end]))
            text = _without(text, secret, told)
        return _without(text, self._assignments.find(text), told) if ASSIGNMENT in clues else text


class _SecretMender:
    """Masks what is secret, and notes where it stood."""

    def __init__(self, redaction: Redaction) -> None:
        self.found: list[tuple[str, Place]] = []
        self._redaction = redaction
        self._names = redaction._assignments
        self._depth = 0
        self._text: Place = None  # where the text is whose JSON is being looked at
        self.clues: frozenset[str] = ALL_CLUES

    def mend(self, value: Any, name: str | None, place: Place) -> Any:
        """The value, or a mask in its place; of a text, all but its secrets."""
        if value is True or value is False:
            return value

        def note(kind: str) -> None:
            self.found.append((kind, self._text or place))

        if name and self._is_secret(value, name, place):
            return _mask(NAMED, note)
        if not isinstance(value, str):
            return value
        if name is not None and ("{" in value or "[" in value):
            value, is_all = self._mend_json(value, place)
            if is_all:
                return value
        return self._redaction._clean(value, note, self.clues)

    def _is_secret(self, value: Any, name: str, place: Place) -> bool:
        if self._names.is_secret(name):
            if isinstance(value, str):
                is_folder = bare_name(name) == "pwd" and _PATH.match(value) is not None
                return not is_folder and _REFERENCE.fullmatch(value) is None
            return not (is_plural(name) and place is not None and place[1] == name)
        test = self._names.test_of(name)
        return test is not None and test(value)

    def _mend_json(self, text: str, place: Place) -> tuple[str, bool]:
        """A text with the members of the JSON in it made clean, and whether that is all there is in the text."""
        if self._depth >= _DEEPEST_TEXT or not self._redaction._clues.has_stem(text.lower()):
            return text, False
        self._depth += 1
        outer, self._text = self._text, self._text or place
        known, self.clues = self.clues, ALL_CLUES  # what is escaped in it was not looked at
        try:
            return self._mend_whole(text, place) or (self._mend_pieces(text, place), False)
        except RecursionError:
            return text, False
        finally:
            self._depth -= 1
            self._text, self.clues = outer, known

    def _mend_whole(self, text: str, place: Place) -> tuple[str, bool] | None:
        held = read_python(text)
        if held is not None:
            clean = walk(held.value, "", place, self)
            return text if clean is held.value else held.write(clean), True
        if not begins_as_json(text):
            return None
        try:
            data, _ = loads_loosely(text)
        except ContractError:
            return None
        clean = walk(data, "", place, self)
        return text if clean is data else dumps_loosely(clean).decode(), True

    def _mend_pieces(self, text: str, place: Place) -> str:
        """The text around pieces of JSON as it is: lines of it, or what stands in a sentence."""
        pieces: list[str] = []
        position = 0
        for start, end, data in find_json(text):
            clean = walk(data, "", place, self)
            if clean is not data:
                pieces += (text[position:start], dumps_loosely(clean).decode())
                position = end
        return "".join((*pieces, text[position:])) if pieces else text

    def name_of(self, member: str, members: Mapping[str, Any], above: str) -> str:
        """What a value goes by: what it stands below, what a pair names it, or the member's own name."""
        if above.endswith(_SCHEMA_MARK):
            return above.removesuffix(_SCHEMA_MARK) if member in _SCHEMA_VALUES else member
        if above and self._names.is_secret(above):
            return above
        if member == _RECEIVED:
            return _fault_of(members)
        if member.lower() in _PAIR_VALUES:
            return self._pair_name(members) or member
        if bare_name(member) == "pass" and not _LOGIN_NAMES.isdisjoint(map(bare_name, members)):
            return "password"
        return member + _SCHEMA_MARK if above == "properties" and _is_schema(members[member]) else member

    def name_of_pair(self, first: str, above: str) -> str:
        """What the second of a pair goes by: the first, if that is the name of a secret."""
        if above and self._names.is_secret(above):
            return above
        return first if self._names.may_be_secret(first) else above

    def name_after(self, item: Any, above: str) -> str:
        """What stands after an option of a command goes by the option, as in `--password`, `…`."""
        if not (isinstance(item, str) and item.startswith("-")) or (above and self._names.is_secret(above)):
            return above
        name = item.lstrip("-")
        return name if "=" not in name and self._names.may_be_secret(name) else above

    def columns_of(self, table: Sequence[Any] | Mapping[str, Any], above: str) -> Sequence[str]:
        """The names of the columns of a table, where one of them may be a secret's."""
        return () if above and self._names.is_secret(above) else columns_of(table, self._names.may_be_secret)

    def _pair_name(self, members: Mapping[str, Any]) -> str | None:
        """The name in a mapping that has a name and a value."""
        said = [value for name, value in members.items() if name.lower() in _PAIR_NAMES and isinstance(value, str)]
        return next(filter(self._names.may_be_secret, said), None)


_SCHEMA_MARK: Final = "\0schema"


def _is_schema(value: Any) -> bool:
    return isinstance(value, Mapping) and value.keys() <= _SCHEMA and not _SCHEMA_MARKS.isdisjoint(value)


def _fault_of(members: Mapping[str, Any]) -> str:
    """Whose value was received, where a framework says what is wrong with its input and repeats it."""
    where = members.get(_WHERE)
    steps = [step for step in where if isinstance(step, str)] if isinstance(where, (list, tuple)) else []
    return steps[-1] if steps else _RECEIVED


KIND, URL, HEADER, ASSIGNMENT, NAME, SPELLING = "kind", "url", "header", "assignment", "name", "spelling"
COLUMN: Final = "column"
ALL_CLUES: Final = frozenset((KIND, URL, HEADER, ASSIGNMENT, NAME, SPELLING, COLUMN))
"""What there may be in some data: each is looked for in its own way."""


class _Clues:
    """What is worth looking for in some data: a quick look at its JSON, which never misses a secret."""

    def __init__(self, redaction: Redaction) -> None:
        self._names = redaction._assignments
        found = [(kind, re.compile(kind.pattern())) for kind in redaction.kinds]
        self._usual = tuple(one for one in found if one[0].is_usual)
        self._unusual = tuple(one for one in found if not one[0].is_usual)
        self._unusual_in_json = tuple(_in_json(kind) for kind, _ in self._unusual)
        self._begins = tuple(kind.begin for kind, _ in self._usual)
        self._begins_in_json = tuple(dumps(begin)[1:-1] for begin in self._begins)
        stems = tuple(dict.fromkeys((*STEMS, *(plain_spelling(name).lower() for name in redaction.names))))
        self._stems = stems
        self._stems_in_json = tuple(_compile_stem_in_json(dumps(stem)[1:-1]) for stem in stems)
        self._columns_in_json = tuple(re.compile(re.escape(dumps(stem)[1:-1]) + _COLUMN_END) for stem in stems)

    def find(self, data: Any) -> frozenset[str]:
        """What there may be in some data."""
        try:
            body = dumps(data)
        except ContractError:
            return ALL_CLUES
        is_odd = not body.isascii() and _ODD_SPELLING.search(body) is not None
        if is_odd:
            body = plain_spelling(body.decode()).encode()
        lowered = body.lower()
        return frozenset(
            clue
            for clue, is_there in (
                (KIND, self._has_kind(body)),
                (URL, _URL_CLUE.search(body)),
                (HEADER, any(one.search(lowered) for one in _HEADERS_IN_JSON)),
                (ASSIGNMENT, _FLAG.search(lowered) or any(one.search(lowered) for one in self._stems_in_json)),
                (NAME, self._has_name(body, lowered)),
                (COLUMN, b"\\n" in body and any(one.search(lowered) for one in self._columns_in_json)),
            )
            if is_there
        ).union((SPELLING,) if is_odd else ())

    def _has_kind(self, body: bytes) -> bool:
        if _PEM_BEGIN.encode() in body:
            return True
        # a text is found much faster than an expression that begins with it
        if any(begin in body and one.search(body) for begin, one in self._unusual_in_json):
            return True
        ends = (match.end() for one in _USUAL_IN_JSON for match in one.finditer(body))
        return any(body.endswith(self._begins_in_json, 0, end) for end in ends)

    def _has_name(self, body: bytes, lowered: bytes) -> bool:
        """Whether a member or the name in a pair is called like a secret."""
        names = {piece[piece.rfind(b'"') + 1 :] for piece in body.split(b'":')}
        if any(map(self._is_telling, names)) or _ESCAPED_NAME.search(body):
            return True
        if b"\\\\u" in body:  # a text may be JSON in which names are escaped
            return True
        has_pairs = (
            b"[[" in body
            or b'"-' in body
            or b'"{\\"' in body
            or b'"[{' in body
            or b'"[[' in body
            or not _PAIR_CLUES.isdisjoint(map(bytes.lower, names))
        )
        return has_pairs and any(stem.encode() in lowered for stem in self._stems)

    def _is_telling(self, name: bytes) -> bool:
        text = name.decode("utf-8", "replace")
        return text == _WHERE or self._names.is_secret(text) or self._names.test_of(text) is not None

    def kinds_in(self, text: str) -> Iterator[tuple[SecretKind, re.Pattern[str]]]:
        """The kinds of secrets that may stand in a text."""
        missing = self._begins
        for end in (match.end() for one in _USUAL_BODIES for match in one.finditer(text)):
            if text.endswith(missing, 0, end):
                missing = tuple(begin for begin in missing if not text.endswith(begin, 0, end))
        if missing is not self._begins:
            yield from (one for one in self._usual if one[0].begin not in missing)
        yield from (one for one in self._unusual if one[0].begin in text)

    def has_stem(self, lowered: str) -> bool:
        """Whether a part of a secret's name stands in a text."""
        return "\\u" in lowered or any(stem in lowered for stem in self._stems)


def _in_json(kind: SecretKind) -> tuple[bytes, re.Pattern[bytes]]:
    """What a kind begins with in JSON, where some of it may be escaped, and the expression that finds it."""
    begin = dumps(kind.begin)[1:-1]
    return begin, re.compile(replace(kind, begin=begin.decode(), glued=True).pattern().encode())


def _near_odd_spelling(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text in which a secret may be spelled in another way: from line to line, as far as one reaches."""
    begin = end = -1
    for match in ODD_LETTERS.finditer(text):
        if match.end() <= end:
            continue
        start = text.rfind("\n", 0, max(match.start() - _REACH, 0)) + 1
        if start > end:
            if end >= 0:
                yield begin, end
            begin = start
        end = text.find("\n", match.end() + _REACH)
        end = len(text) if end < 0 else end
    if end >= 0:
        yield begin, end


_USUAL_BODIES: Final = tuple(re.compile(one) for one in USUAL_BODIES)
_USUAL_IN_JSON: Final = tuple(re.compile(one.encode()) for one in USUAL_BODIES)
_HEADERS_IN_JSON: Final = (
    re.compile(rb"bearer {1,4}[a-z0-9._~+/=-]{16}"),
    re.compile(rb"basic {1,4}[a-z0-9._~+/=-]{16}"),
    re.compile(rb"curl "),
    re.compile(rb"sig(?:nature)?="),
)
_URL_CLUE: Final = re.compile(rb"://[^/?#@]*+@")
_ODD_SPELLING: Final = re.compile(
    rb"\xef\xbc[\x90-\xba]|\xef\xbd[\x81-\x9a]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xef\xbb\xbf|\xc2\xad"
    rb"|\xf0\x9d[\x90-\x9f]"
)
_FLAG: Final = re.compile(rb"--[a-z0-9_.-]{0,40}?(?:" + "|".join(STEMS).encode() + rb")[a-z0-9_.-]{0,40}+[ ]")
_ESCAPED_NAME: Final = re.compile(rb'\\"[^"\\]*":')
_COLUMN_END: Final = rb"[a-z0-9_. \x80-\xff-]{0,40}+(?:\\{1,15}\")?+[ ]{0,99}+(?:[,;|]|\\{1,15}[tnr])"
"""What follows a name in the header of a table."""
_PAIR_CLUES: Final = frozenset(name.encode() for name in _PAIR_VALUES)


def _compile_stem_in_json(stem: bytes) -> re.Pattern[bytes]:
    """A name with a stem in it and what may join it to a value, in a text in JSON; the name of a member is none."""
    return re.compile(
        re.escape(stem)
        + rb"[a-z0-9_.\-\x80-\xff]{0,40}+(?:\\{1,15}[\"'`]|['`\]]){0,2}+"
        + rb"(?:[ ]{0,4}+-?(?:\\t)?(?:[=:>]|\xef\xbc[\x9a\x9d])|(?:\\[nrt])*+[ ]{0,40}+value[=:]|[ ](?:is|was)[ ])"
    )


def _without(text: str, found: Iterable[AssignedSecret | Cell], told: Callable[[str], None]) -> str:
    """The text with masks in some places."""
    pieces: list[str] = []
    position = 0
    for one in found:
        pieces += (text[position : one.start], _mask(NAMED, told))
        position = one.end
    return "".join((*pieces, text[position:])) if pieces else text


def _mask(kind: str, told: Callable[[str], None]) -> str:
    told(kind)
    return f"[redacted:{kind}]"


def _without_private_keys(text: str, told: Callable[[str], None]) -> Iterator[str]:
    """The text around PEM blocks of private keys; a block whose end was cut off takes the rest with it."""
    position = 0
    while (begin := text.find(_PEM_BEGIN, position)) >= 0:
        inside = begin + len(_PEM_BEGIN)
        if "PRIVATE KEY" not in text[inside : inside + 40]:
            yield text[position:inside]
            position = inside
            continue
        yield text[position:begin] + _mask("private_key", told)
        end = text.find(_PEM_END, inside)
        close = text.find(_DASHES, end + len(_PEM_END)) if end >= 0 else -1
        position = close + len(_DASHES) if close >= 0 else len(text)
    yield text[position:]


def _redaction_notice(found: list[tuple[str, Place]]) -> Notice:
    kinds = sorted({kind for kind, _ in found})
    places = list(dict.fromkeys(pointer_to(place) for _, place in found[:MOST_PLACES]))
    what = "1 secret was" if len(found) == 1 else f"{len(found)} secrets were"
    return Notice(
        f"{what} taken out of this reply",
        "CONTENT_REDACTED",
        "warning",
        "Take the value from where secrets are kept; asking again gives the same",
        {"count": len(found), "kinds": kinds, "places": places},
    )
