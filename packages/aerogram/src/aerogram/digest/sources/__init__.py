"""Sources: any document to its canonical text. One file per kind, peers behind `read`.

What is packed or large is read in a process of its own, within limits. What is small and not packed is read here: that
takes time and memory in proportion to its size, so there is nothing to be afraid of.
"""

from __future__ import annotations

import re
import stat
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Final, Literal, get_args

from aerogram.digest.limits import ReadLimits, UnreadableSource
from aerogram.digest.reader import run as read_apart
from aerogram.digest.sources import encoding, html, notebook, packed, pdf, records
from aerogram.digest.sources.preamble import split_preamble
from aerogram.digest.text import NORMALISATION, CanonicalText, normalise

Kind = Literal["plain", "markdown", "html", "pdf", "notebook"]

SMALL: Final = 256 * 1024
"""Up to so many bytes or characters are read here."""

_BY_SUFFIX: dict[str, Kind] = {
    ".htm": "html",
    ".html": "html",
    ".ipynb": "notebook",
    ".markdown": "markdown",
    ".md": "markdown",
    ".pdf": "pdf",
    ".xhtml": "html",
}
# atomic and possessive, so that a row of comments is read once
_HTML_START = re.compile(
    r"\s*+(?:(?><!--.{0,2000}?-->|<\?xml[^>]{0,200}>)\s*+)*+<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)


def read(
    source: str | bytes | bytearray | memoryview | PurePath,
    *,
    kind: Kind | None = None,
    name: str = "",
    limits: ReadLimits | None = None,
    preamble: bool = False,
) -> CanonicalText:
    """The canonical text of a document: a path, its bytes, or text that is already in hand.

    What the content says about itself wins over the name: a PDF called `notes.txt` is
    read as a PDF, and what gzip has packed is read as what it was before. `kind` decides
    for text in hand that could be either. Front matter is no part of the text, unless
    `preamble` asks for it.
    """
    limits = limits or ReadLimits()
    if kind is not None and kind not in get_args(Kind):
        raise UnreadableSource("unknown_kind", f"{kind!r} is not a kind of source: {', '.join(get_args(Kind))}")
    if isinstance(source, PurePath):
        name = name or source.name
        source = _load(Path(source), limits)
    if isinstance(source, (bytes, bytearray, memoryview)):
        limits.check_bytes(len(source), name or "the source")
        content = bytes(source)
        is_harmless = len(content) <= SMALL and not packed.is_packed(content) and not _is_pdf(content, kind, name)
        return (_read_bytes if is_harmless else _read_apart)(content, kind, name, limits, preamble)
    if not isinstance(source, str):
        raise UnreadableSource("unknown_kind", f"a source is text, bytes or a path, not {type(source).__name__}")
    limits.check_chars(len(source))
    return (_read_text if len(source) <= SMALL else _read_apart)(source, kind, name, limits, preamble)


def reread(
    source: str | bytes | bytearray | memoryview | PurePath,
    source_text_hash: str,
    *,
    kind: Kind | None = None,
    name: str = "",
    limits: ReadLimits | None = None,
) -> CanonicalText:
    """The text of a document that a digest speaks of, by its hash; if no reading has that hash, the usual one.

    A digest may be of the whole file, front matter and all, or of a record in a line of it; the text then says so in
    its notes.
    """
    limits = limits or ReadLimits()
    if isinstance(source, PurePath):
        name = name or source.name
        source = _load(Path(source), limits)
    text = read(source, kind=kind, name=name, limits=limits)
    if text.hash == source_text_hash or text.extractor == "pdfium":
        return text
    whole = read(source, kind=kind, name=name, limits=limits, preamble=True)
    if whole.hash == source_text_hash:
        return replace(whole, notes=(*whole.notes, "read with its front matter"))
    for number, words in records.texts(_decode(source, limits)) if records.are_in(name) else ():
        record = _read_text(words, "markdown", "", limits, preamble=False)
        if record.hash == source_text_hash:
            return replace(record, notes=(f"it is the record in line {number}",))
    return text


def _decode(source: str | bytes | bytearray | memoryview, limits: ReadLimits) -> str:
    if isinstance(source, str):
        return source
    content = bytes(source)
    return encoding.decode(packed.unpack(content, limits) if packed.is_packed(content) else content)[0]


def _load(path: Path, limits: ReadLimits) -> bytes:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):  # a device or a pipe may have no end
            raise UnreadableSource("missing", "it is not a regular file")
        limits.check_bytes(found.st_size, path.name)
        return path.read_bytes()
    except OSError as error:
        raise UnreadableSource("missing", f"the file cannot be read: {error.strerror}") from error


def _read_apart(source: str | bytes, kind: Kind | None, name: str, limits: ReadLimits, preamble: bool) -> CanonicalText:
    """The same text, made in a process of its own."""
    read_here = _read_text if isinstance(source, str) else _read_bytes
    asked = source, kind, name, limits, preamble
    found: CanonicalText = read_apart(read_here, *asked, limits=limits, size=len(source), returns=[CanonicalText])
    return found


def _is_pdf(content: bytes, kind: Kind | None, name: str) -> bool:
    return pdf.is_pdf(content, kind == "pdf" or _kind_by_name(name) == "pdf")


def _read_bytes(content: bytes, kind: Kind | None, name: str, limits: ReadLimits, preamble: bool) -> CanonicalText:
    if packed.is_packed(content):
        content, name = packed.unpack(content, limits), packed.unpacked_name(name)
    if _is_pdf(content, kind, name):
        return _read_pdf(content, limits)
    if kind == "pdf":
        raise UnreadableSource("broken", "the source is not a PDF")
    text, used = encoding.decode(content)
    found = _read_text(text, kind, name, limits, preamble)
    return found if used == "utf-8" else replace(found, notes=(f"read as {used}",))


def _read_pdf(content: bytes, limits: ReadLimits) -> CanonicalText:
    raw, notes = pdf.extract(content, limits, limits.deadline())
    return CanonicalText(normalise(raw), "pdfium", pdf.version(), paged=True, notes=notes)


def _read_text(text: str, kind: Kind | None, name: str, limits: ReadLimits, preamble: bool) -> CanonicalText:
    limits.check_chars(len(text))
    body = text if preamble else split_preamble(text)[1]
    found = kind or _kind_of(body, name)
    if found == "html":
        return CanonicalText(normalise(html.extract(body)), "html", html.VERSION)
    if found == "notebook":
        return CanonicalText(normalise(notebook.extract(body)), "notebook", notebook.VERSION)
    # Markdown is text that people read as it stands, so its canonical text is the document itself
    return CanonicalText(normalise(body), found, NORMALISATION.partition("/")[2])


def _kind_by_name(name: str) -> Kind:
    return _BY_SUFFIX.get(PurePath(packed.unpacked_name(name)).suffix.lower(), "plain")


def _kind_of(text: str, name: str) -> Kind:
    named = _kind_by_name(name)
    if named == "html" or _HTML_START.match(text):
        return "html"
    return "plain" if named == "pdf" else named
