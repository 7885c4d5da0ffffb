"""Documents: files as the index reads them: canonical text, sections, and what they say of themselves.

A file is one document; a JSONL file is one document for each of its lines. Dates, publisher, licence, category and
title come from front matter, the category otherwise from the folder, the title from the first heading or the name.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any, Final

from aerogram.content.jsontext import loads
from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.sources import encoding, packed, read
from aerogram.digest.sources.pdf import is_pdf
from aerogram.digest.sources.records import LINE_END
from aerogram.digest.text import CanonicalText
from aerogram.errors import ContractError
from aerogram_knowledge.documents.front import (
    ADDRESSES,
    CATEGORIES,
    DATES,
    LANGUAGES,
    PUBLISHERS,
    TITLES,
    UNKNOWN_LICENSE,
    FrontMatter,
    date_of,
    front_of_html,
    in_lower_case,
    license_of,
    split_front,
    stated_licenses,
    text_of,
)
from aerogram_knowledge.documents.language import language_of
from aerogram_knowledge.documents.sections import Layout, Section, Span, layout_of

__all__ = ["READ_KINDS", "SUFFIXES", "Document", "File", "read_file", "suffix_of"]

READ_KINDS: Final = "Markdown, HTML, text, reStructuredText, PDF, notebooks (.ipynb), JSON and JSONL"
"""The kinds of files that are read, in words."""
SUFFIXES: Final = {
    ".htm": "html",
    ".html": "html",
    ".ipynb": "markdown",
    ".json": "plain",
    ".jsonl": "jsonl",
    ".markdown": "markdown",
    ".md": "markdown",
    ".ndjson": "jsonl",
    ".pdf": "pdf",
    ".rst": "rst",
    ".text": "plain",
    ".txt": "plain",
    ".xhtml": "html",
}
_TEXTS: Final = ("text", "content", "body", "chunk_text", "markdown")
_NAMES: Final = ("id", "slug", "key", "name")
MOST_LINES: Final = 5
"""So many lines that cannot be read are told one by one."""
_SITE: Final = re.compile("\\s[\u2014\u2013|·»:-]+\\s*$|::\\s*$")
"""Where the name of a site ends before a title; read backwards, where it begins after one."""
_LANGUAGE_CODE: Final = re.compile(r"([A-Za-z]{2,3})(?![^\W_])")
_TITLE_LINE: Final = re.compile(r"\S[^\n]{0,119}")


@dataclass(frozen=True, slots=True)
class File:
    """A file as it was found: its path below the folder, size, time of change, and what it holds."""

    path: str
    size: int
    changed_ns: int
    content: bytes = b""

    @property
    def checksum(self) -> str:
        """The sha256 of its bytes."""
        return "sha256:" + hashlib.sha256(self.content).hexdigest()

    def unpack(self, limits: ReadLimits) -> File:
        """The file with what was packed in it, if anything was."""
        return replace(self, content=packed.unpack(self.content, limits)) if packed.is_packed(self.content) else self


@dataclass(frozen=True, slots=True)
class Document:
    """One document: its words and what is known about them."""

    path: str
    file: str
    kind: str
    title: str
    source: CanonicalText
    sections: tuple[Section, ...]
    language: str
    category: str | None = None
    publisher: str | None = None
    license: str | None = None
    dated: str | None = None
    url: str | None = None
    said: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    blocks: tuple[Span, ...] = ()


def suffix_of(name: str) -> str:
    """The ending that says of which kind a file is; of a packed one, that of what was packed.

    Sites show the source of a page as text: `modes.rst.txt` is what `modes.rst` is.
    """
    path = PurePosixPath(packed.unpacked_name(name).lower())
    inner = PurePosixPath(path.stem).suffix
    return inner if path.suffix == ".txt" and SUFFIXES.get(inner) in ("markdown", "rst") else path.suffix


def read_file(file: File, limits: ReadLimits | None = None) -> list[Document]:
    """The documents of a file; `UnreadableSource` says why there are none."""
    limits = limits or ReadLimits()
    limits.check_bytes(file.size, file.path)
    kind = SUFFIXES.get(suffix_of(file.path), "plain")
    file = file.unpack(limits)
    if is_pdf(file.content):
        kind = "pdf"
    if kind == "jsonl":
        return _records(file, limits)
    if kind == "pdf":
        text = read(file.content, kind="pdf", name=file.path, limits=limits)
        return [_document(file, kind, FrontMatter({}, ""), text)]
    decoded, _ = encoding.decode(file.content)
    return [_read_text(file, kind, decoded, limits)]


def _read_text(file: File, kind: str, decoded: str, limits: ReadLimits) -> Document:
    # by its name alone, as whoever checks a digest of the file reads it
    text = read(decoded, name=file.path, limits=limits)
    front = split_front(decoded)
    if text.extractor == "notebook":  # it says of itself in its first cell what others say before they begin
        cell = split_front(text.text)
        front = FrontMatter(in_lower_case(front.said, cell.said), cell.body, (*front.notes, *cell.notes))
    if text.extractor == "html":
        page = front._replace(said=in_lower_case(front.said, front_of_html(front.body)))
        return _document(file, "html", page, text, front.body)
    if suffix_of(file.path) == ".json":
        front = front._replace(said={**front.said, **_licenses_of_json(decoded)})
    return _document(file, kind, front, text)


def _licenses_of_json(decoded: str) -> Mapping[str, Any]:
    """The licences that a JSON object states; what else it says is no more than its text."""
    try:
        record = loads(decoded)
    except ContractError:
        return {}
    return stated_licenses(in_lower_case(record)) if isinstance(record, dict) else {}


def _document(file: File, kind: str, front: FrontMatter, text: CanonicalText, markup: str = "") -> Document:
    layout = layout_of(text.text, kind, markup)
    return _build_document(file.path, file.path, kind, front.said, text, layout, front.notes)


def _build_document(
    path: str,
    file: str,
    kind: str,
    said: Mapping[str, Any],
    text: CanonicalText,
    layout: Layout,
    notes: tuple[str, ...] = (),
) -> Document:
    stated = text_of(said, *TITLES)
    return Document(
        path,
        file,
        kind,
        title=_without_site(stated, layout) if stated else _title(file, text.text, layout.sections),
        source=text,
        sections=layout.sections,
        blocks=layout.blocks,
        language=_stated_language(said) or language_of(text.text),
        category=text_of(said, *CATEGORIES) or _category(file),
        publisher=text_of(said, *PUBLISHERS),
        license=license_of(said),
        dated=date_of(said, *DATES),
        url=text_of(said, *ADDRESSES),
        said=said,
        notes=(*notes, *_odd_license(said), *text.notes),
    )


def _stated_language(said: Mapping[str, Any]) -> str | None:
    """The language that is stated by its code; of `en-GB`, the language."""
    code = _LANGUAGE_CODE.match(text_of(said, *LANGUAGES) or "")
    return code[1].lower() if code else None


def _odd_license(said: Mapping[str, Any]) -> tuple[str, ...]:
    """What is to be told of a licence that is stated and is not the name of one."""
    if license_of(said) != UNKNOWN_LICENSE or said.get("license") == UNKNOWN_LICENSE:
        return ()
    is_text = all(isinstance(value, str) for value in stated_licenses(said).values())
    reason = (
        "the licences that it states differ, or are no names" if is_text else "the licence that it states is no text"
    )
    return (f"{reason}, so its licence is unknown",)


def _without_site(title: str, layout: Layout) -> str:
    """A title without the name of the site before or after it, if what remains is a heading of the document."""
    headings = {step for one in layout.sections for step in one.trail if step in title}
    for heading in sorted(headings, key=len, reverse=True):
        before, _, after = title.partition(heading)
        if all(not one or _SITE.search(one) for one in (before, after[::-1])):
            return heading
    return title


def _title(path: str, text: str, sections: tuple[Section, ...]) -> str:
    """The first heading, the first short line, or the file's name."""
    for section in sections:
        if section.trail and not section.trail[0].startswith("page "):
            return section.trail[0]
    line = _TITLE_LINE.search(text)
    if line and (line.end() == len(text) or text[line.end()] == "\n") and not line[0].endswith((".", "。")):
        return line[0].strip("# *=-") or PurePosixPath(path).stem
    return PurePosixPath(path).stem.replace("-", " ").replace("_", " ")


def _category(path: str) -> str | None:
    """The first folder that a file lies in."""
    parts = PurePosixPath(path).parts
    return parts[0] if len(parts) > 1 else None


def _records(file: File, limits: ReadLimits) -> list[Document]:
    """A document for each line of JSON; lines that are none are told with the first of the others."""
    found: list[Document] = []
    aside: list[str] = []
    seen: set[str] = set()
    for number, line in enumerate(LINE_END.split(encoding.decode(file.content)[0]), 1):
        if not line.strip():
            continue
        try:
            found.append(_record(file, number, line, seen, limits))
        except UnreadableSource as error:
            aside.append(f"line {number} is set aside: {error}")
    told = "; ".join([*aside[:MOST_LINES], *([f"and {len(aside) - MOST_LINES} more"] if aside[MOST_LINES:] else [])])
    if aside and not found:
        raise UnreadableSource("broken", told)
    return [replace(found[0], notes=(told, *found[0].notes)), *found[1:]] if aside else found


def _record(file: File, number: int, line: str, seen: set[str], limits: ReadLimits) -> Document:
    """The document in a line, which says of itself what its members do, then its front matter; notes say in which."""
    try:
        record = loads(line)
    except ContractError as error:
        reason = re.sub(r"( at)+ line 1, column", " at column", error.rule.removeprefix("not JSON: "))
        raise UnreadableSource("broken", f"it is not JSON: {reason}") from error
    words = text_of_record(record)
    if words is None:
        raise UnreadableSource("broken", f"it has no text: one of {', '.join(_TEXTS)}")
    text = read(words, kind="markdown", limits=limits)
    layout = layout_of(text.text, "markdown")
    front = split_front(words)
    said = in_lower_case(record if isinstance(record, dict) else {}, front.said)
    name = _name(record, number, seen)
    document = _build_document(f"{file.path}#{name}", file.path, "jsonl", said, text, layout, front.notes)
    return replace(document, notes=tuple(f"line {number}: {note}" for note in document.notes))


def text_of_record(record: Any) -> str | None:
    """The words of a record."""
    if isinstance(record, str):
        return record
    if not isinstance(record, dict):
        return None
    return next((record[name] for name in _TEXTS if isinstance(record.get(name), str)), None)


def _name(record: Any, number: int, seen: set[str]) -> str:
    """What a record is called below its file: by its own id if that is one of a kind, else by its line."""
    own = text_of(record, *_NAMES) if isinstance(record, dict) else None
    own = own and own.replace("\0", "\ufffd")  # which no database takes, and which no caller could send back
    name = own if own and own not in seen else str(number)
    while name in seen:
        name += "'"
    seen.add(name)
    return name
