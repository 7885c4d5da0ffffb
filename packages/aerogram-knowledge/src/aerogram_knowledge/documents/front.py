"""Front matter: what a document says about itself before it begins.

YAML between two lines of `---`, TOML between two lines of `+++`, or the `<meta>` elements of an HTML page. A broken
preamble is no reason to lose a document: it is told in a note, and the document goes without. Its licence is read from
the one line that names it; where there is none to be read, the licence is unknown, which is not the same as free.
"""

from __future__ import annotations

import datetime as dt
import math
import re
import tomllib
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from aerogram.digest.sources.html import HeadElement, attributes_of, head_elements, unescape
from aerogram.digest.sources.preamble import LICENSES, STATED, split_preamble
from aerogram.errors import MissingExtra
from aerogram.normalize.forms import base64_text, encode_text

__all__ = [
    "ADDRESSES",
    "CATEGORIES",
    "DATES",
    "LANGUAGES",
    "LONGEST",
    "PUBLISHERS",
    "TITLES",
    "UNKNOWN_LICENSE",
    "FrontMatter",
    "date_of",
    "front_of_html",
    "in_lower_case",
    "license_of",
    "split_front",
    "stated_licenses",
    "text_of",
]

TITLES: Final = ("title", "name", "subject")
CATEGORIES: Final = ("category", "section", "topic")
PUBLISHERS: Final = ("publisher", "organization", "author")
DATES: Final = ("updated", "last_updated", "modified", "date", "published", "created")
ADDRESSES: Final = ("url", "source_url", "source", "link")
LANGUAGES: Final = ("language", "lang")
LARGEST: Final = 64 * 1024
DEEPEST: Final = 100
TOO_LARGE: Final = 10**4300
"""The first integer that Python does not write in decimal digits, though it reads it in others."""
LONGEST: Final = 300
"""So much is read of what a document says in one line; a licence of that length is not the name of one."""
UNKNOWN_LICENSE: Final = "NOASSERTION"
"""The licence of a document that may state one which cannot be read; the name is that of SPDX."""
_PLAIN: Final = re.compile(r"""(["']?)([^"'\s\[{&*!|>][^"'\n]*?)\1""")
_DEEP_NAME: Final = re.compile(r"(?<![^\s.=])(?:[^\s.=]++[ \t]*+\.[ \t]*+){100}")
_HTML_NAMES: Final = {
    **{name: name for name in (*TITLES, *CATEGORIES, *PUBLISHERS, *DATES, *ADDRESSES, *LANGUAGES)},
    "article:section": "category",
    "article:modified_time": "date",
    "article:published_time": "date",
    "dc.date": "date",
    "dc.publisher": "publisher",
    "og:site_name": "publisher",
    "og:title": "title",
    "og:url": "url",
}
_DUBLIN_CORE: Final = re.compile(r"\Adc(?:-?terms)?[.:]")
_LINKED: Final = {"canonical": "url", "license": "license"}


class FrontMatter(NamedTuple):
    """What was said, the text after it, and what could not be read."""

    said: Mapping[str, Any]
    body: str
    notes: tuple[str, ...] = ()


def split_front(text: str) -> FrontMatter:
    """A document's front matter and its text."""
    found, body = split_preamble(text)
    if found is None:
        return FrontMatter({}, text)
    if not found.is_closed:
        return _unreadable(found.block, body, "no line ends it")
    try:
        _check_length(found.block)
        said = _yaml(found.block) if found.mark == "---" else _toml(found.block)
        if isinstance(said, dict):
            return FrontMatter(in_lower_case(_storable(said)), body)
    except (ValueError, RecursionError) as error:
        return _unreadable(found.block, body, str(error).splitlines()[0][:120])
    return _unreadable(found.block, body, "it is no list of names and values")


def _storable(value: Any, deepest: int = DEEPEST) -> Any:
    """What was said, as a store takes it: YAML can spell half a letter, and a number that nobody can write."""
    if not deepest:
        raise ValueError(f"it is more than {DEEPEST} levels deep")
    if isinstance(value, str):
        return encode_text(value)
    if isinstance(value, bytes):
        return base64_text(value)
    if isinstance(value, int) and abs(value) >= TOO_LARGE:
        raise ValueError("a number has more than 4,300 digits")
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {_storable(name, deepest - 1): _storable(held, deepest - 1) for name, held in value.items()}
    if isinstance(value, set):
        value = sorted(value, key=str)
    kind = tuple if isinstance(value, tuple) else list  # a tuple may be a name
    return kind(_storable(one, deepest - 1) for one in value) if isinstance(value, (list, tuple)) else value


def license_of(said: Mapping[str, Any]) -> str | None:
    """The licence that is stated; `UNKNOWN_LICENSE` when something is that is not a name, or two that differ.

    What is said of rights besides stands behind it: both hold.
    """
    stated = stated_licenses(said)
    texts = {name: text_of(stated, name) for name in stated}
    if not all(one is not None and len(one) < LONGEST for one in texts.values()):
        return UNKNOWN_LICENSE
    licenses, rights = ({}, {})  # type: tuple[dict[str, str], dict[str, str]]
    for name, text in texts.items():
        kind = rights if name.endswith("rights") else licenses
        kind.setdefault(str(text).lower(), str(text))
    if len(licenses) > 1:
        return UNKNOWN_LICENSE
    both = " AND ".join((licenses | rights).values())
    return (both if len(both) < LONGEST else UNKNOWN_LICENSE) or None


def in_lower_case(*said: Mapping[Any, Any]) -> dict[str, Any]:
    """What is said, first and after that, by names in lower case.

    What was said first counts. Of a licence that is stated again, and otherwise, nothing is known.
    """
    lower: dict[str, Any] = {}
    for name, value in chain.from_iterable(one.items() for one in said):
        _add(lower, str(name).lower(), value)
    return lower


def _add(said: dict[str, Any], name: str, value: Any) -> None:
    is_other = name in said and str(said[name]).strip().lower() != str(value).strip().lower()
    said[name] = UNKNOWN_LICENSE if is_other and _names_license(name) else said.get(name, value)


def stated_licenses(said: Mapping[str, Any]) -> dict[str, Any]:
    """All that is said of a licence, under whichever of its names."""
    return {name: value for name, value in _with_dublin_core(said) if value and _names_license(name)}


def _with_dublin_core(said: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What is said, and what is said in a table of Dublin Core: in TOML, `dc.rights` is a member of `dc`."""
    for name, value in said.items():
        yield name, value
        if isinstance(value, Mapping) and _DUBLIN_CORE.fullmatch(f"{name}.".lower().replace("_", "-")):
            yield from ((f"{name}.{inner}", held) for inner, held in value.items())


def _names_license(name: str) -> bool:
    """Whether a member is a document's licence, also by its name in Dublin Core."""
    return _DUBLIN_CORE.sub("", str(name).strip().lower().replace("_", "-")) in LICENSES


def front_of_html(markup: str) -> dict[str, Any]:
    """What an HTML page says of itself in its head; two licences that differ are none that is known."""
    found: dict[str, dict[str, str]] = {"link": {}, "meta": {}, "title": {}}
    for element in head_elements(markup):
        for name, value in _members_of(element):
            _add(found[element.name], name, value)
    said = found["link"] | found["meta"] | found["title"]
    linked = found["link"].get("license")
    if linked and not _is_address_of(linked, said["license"]):
        said["dc.rights"] = linked
    return said


def _members_of(element: HeadElement) -> Iterator[tuple[str, str]]:
    """What an element says of its page, by the names of front matter; one element may say several things."""
    attributes = attributes_of(element.attributes)
    named = attributes.get("property", "").lower().split()
    value: str | None
    found: list[str | None]
    if element.name == "title":
        value, found = _one_line(unescape(element.text[:500])), ["title"]
    elif element.name == "link":
        value, relations = attributes.get("href"), attributes.get("rel", "").lower().split()
        found = [*map(_LINKED.get, relations), *map(_kind_of_license, named)]
    else:
        value, named = attributes.get("content"), [attributes.get("name", "").lower(), *named]
        found = [_HTML_NAMES.get(one) or _kind_of_license(one) for one in named]
    if value:
        yield from ((name, value) for name in found if name)


def _kind_of_license(name: str) -> str | None:
    """The member that holds what a page says under a name, if that is a licence, or rights besides one."""
    return None if not _names_license(name) else "rights" if name.strip().endswith("rights") else "license"


def _is_address_of(link: str, license_: str) -> bool:
    """Whether a link says nothing but what a licence says, as `…/licenses/MIT` does of MIT."""
    try:
        address = urlsplit(link.lower())
    except ValueError:
        return False
    path = PurePosixPath(address.path)
    is_named = license_.strip().lower() in (path.name, path.stem) and not address.query + address.fragment
    return link == license_ or (is_named and {*path.parts[:-1]} <= {"/", *LICENSES})


def text_of(said: Mapping[str, Any], *names: str) -> str | None:
    """The first of several members that is a text or a number, as one line."""
    for name in names:
        value = said.get(name)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and (line := _one_line(value)):
            return line
    return None


def _one_line(value: str | float) -> str:
    return " ".join(str(value).split())[:LONGEST]


def date_of(said: Mapping[str, Any], *names: str) -> str | None:
    """The first of several members that is a date, as `YYYY-MM-DD`."""
    for name in names:
        value = said.get(name)
        if isinstance(value, dt.datetime):
            return value.date().isoformat()
        if isinstance(value, dt.date):
            return value.isoformat()
        if isinstance(value, str) and (found := _parse_date(value.strip())):
            return found
    return None


def _check_length(block: str) -> None:
    if len(block) > LARGEST:
        raise ValueError(f"it is longer than {LARGEST:,} characters")


def _unreadable(block: str, rest: str, reason: str) -> FrontMatter:
    """A document without what it says of itself, apart from the licence that one line of it names."""
    stated = {one["value"].partition(" #")[0].strip().rstrip(",}") for one in STATED.finditer(block)}
    plain = [found[2] for one in stated if (found := _PLAIN.fullmatch(_close_quote(one)))]
    known = plain[0] if len(plain) == 1 == len(stated) else UNKNOWN_LICENSE
    told = "its licence is unknown" if known == UNKNOWN_LICENSE else f"its licence is taken to be {known}"
    return FrontMatter({"license": known}, rest, (f"the front matter cannot be read: {reason}; {told}",))


def _close_quote(value: str) -> str:
    """A value with the quotation mark that somebody forgot."""
    return value + value[0] if value[:1] in ("'", '"') and value.count(value[0]) == 1 else value


def _parse_date(text: str) -> str | None:
    try:
        return dt.date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return None


def _toml(text: str) -> Any:
    if _DEEP_NAME.search(text):
        raise ValueError("a name has too many parts")  # the time to read it is that number squared
    return tomllib.loads(text)


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError as error:
        raise MissingExtra("knowledge", "pyyaml") from error

    class Loader(yaml.SafeLoader):
        def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            if getattr(event, "anchor", None) is not None:  # a few lines of them can stand for gigabytes
                raise ValueError("anchors and aliases are not read")
            return super().compose_node(parent, index)

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            names = [str(name.value).lower() for name, _ in node.value if isinstance(name, yaml.ScalarNode)]
            if any(names.count(name) > 1 for name in set(names) if _names_license(name)):
                raise ValueError("a licence is stated twice")  # the last one would hide the others
            found: dict[Any, Any] = super().construct_mapping(node, deep)
            return found

    try:
        return yaml.load(text, Loader)  # noqa: S506  # a safe loader, and safer
    except yaml.MarkedYAMLError as error:
        line = f" in line {error.problem_mark.line + 2}" if error.problem_mark else ""
        raise ValueError(f"{error.problem}{line}") from error
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError) as error:  # what its constructors did not foresee
        raise ValueError("a value is not what it is said to be") from error
