"""Encodings: bytes to text when nobody says how they were written.

A byte order mark decides, then what the document declares, then UTF-8. Bytes that are
UTF-8 but for a few strays keep it, and the strays are read as Windows-1252. Everything
else is tried against the encodings that still occur in the wild.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from aerogram.digest.limits import UnreadableSource

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(
    rb"""<(?:meta|\?xml)\b[^>]{0,200}?(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9._:-]{2,40})""", re.IGNORECASE
)
_DOCUMENTS = re.compile(
    r"utf-8(?:-sig)?|iso8859-\d+|cp\d+|koi8-\w|mac[_-]\w+|tis-620|"
    r"shift_jis\w*|euc_\w+|iso2022_\w+|gb\w+|big5\w*|johab|hz"
)
_EAST_ASIAN = ("cp932", "euc_jp", "gb18030", "big5", "cp949")
_JAPANESE = re.compile("[\u3040-\u30ff]")
_HAN_OR_HANGUL = re.compile("[\u4e00-\u9fff\uac00-\ud7a3]")
_STOPS = re.compile("[\u3001\u3002]")
_EAST_ASIAN_PROSE = re.compile("[\n\r\x20-\x7e\u2010-\u203b\u3000-\u30ff\u3400-\u9fff\uff01-\uff5e]")
_ODD = re.compile("[\x80-\x9f\ue000-\uf8ff\uff61-\uff9f\ufffd]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_BEYOND_ASCII = re.compile("[^\x00-\x7f]")
_STRAY = re.compile("[\udc80-\udcff]")
_HIGH = re.compile(rb"[\x80-\xff]")
_CYRILLIC = re.compile(rb"[\xc0-\xff]")
_MULTIBYTE = re.compile(rb"[\xc2-\xf4][\x80-\xbf]+")
_SAMPLE = 1 << 16
# the share of strays that UTF-8 may have, and of high bytes above which a text is not in Latin letters
_TOLERATED = 0.1
_DENSE = 0.25
# the share of blanks, line ends and digits that any prose in UTF-16 has at least
_BLANKS = 0.02


def decode(content: bytes) -> tuple[str, str]:
    """The text of some bytes and the encoding they were in; `UnreadableSource` when they are not text."""
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return _as_text(content.decode(encoding, "replace")), encoding
    for encoding in _candidates(content):
        try:
            return _as_text(content.decode(encoding)), encoding
        except (UnicodeDecodeError, LookupError):
            continue
    text, encoding = _guess(content)
    return _as_text(text), encoding


def is_text(content: bytes) -> bool:
    """Whether bytes can be read as text, by their beginning."""
    try:
        return bool(decode(content[:_SAMPLE]))
    except UnreadableSource:
        return False


def _as_text(text: str) -> str:
    """The same text, unless it is noise: text has next to no control characters."""
    if _is_noise(text[:_SAMPLE]):
        raise UnreadableSource("binary", "the source is binary data, not text")
    return text


def _is_noise(sample: str) -> bool:
    return len(_CONTROLS.findall(sample)) > 0.02 * len(sample)


def _candidates(content: bytes) -> Iterator[str]:
    declared = _DECLARED.search(content, 0, 2048)
    if declared:
        yield from _usable_encoding(declared[1].decode("ascii"))
    if content.startswith(b"\x1b$") or b"\x1b$B" in content[:_SAMPLE]:
        yield "iso2022_jp"
    yield from _wide(content[:_SAMPLE])
    yield "utf-8"


def _usable_encoding(declared: str) -> Iterator[str]:
    """A declared encoding, if it is one that documents are written in.

    Whoever can read the declaration byte by byte does not read UTF-16, and what calls
    itself Latin-1 is Windows-1252 on the web.
    """
    try:
        name = codecs.lookup(declared).name
    except LookupError:
        return
    if name in ("ascii", "iso8859-1"):
        yield "cp1252"
    elif _DOCUMENTS.fullmatch(name):
        yield name


def _wide(sample: bytes) -> Iterator[str]:
    """UTF-16 without a mark shows by zeros in every other byte, or by what it says when it is not UTF-8."""
    half = len(sample) // 2
    clean = _is_clean(sample)
    for encoding, filled, other in (("utf-16-le", sample[1::2], sample[::2]), ("utf-16-be", sample[::2], sample[1::2])):
        zeros, misplaced = filled.count(0), other.count(0)
        blanks = misplaced == 0 and zeros >= _BLANKS * half
        if zeros > 0.4 * half > misplaced or (not clean and _is_wide(sample[: 2 * half], encoding, blanks)):
            yield encoding


def _is_clean(sample: bytes) -> bool:
    """Whether a sample is UTF-8 without noise, zeros apart; it may have been cut within a letter.

    A few zeros are strays in it. Where they are what tells UTF-16, its other bytes are not clean without them.
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return False
    return not _is_noise(text.replace("\0", ""))


def _is_wide(sample: bytes, encoding: str, blanks: bool) -> bool:
    """Whether a sample is prose in UTF-16: letters with blanks between them, or East Asian with its kana and stops."""
    text = sample.decode(encoding, "replace")
    if not text or len(_ODD.findall(text)) > 0.01 * len(text):
        return False
    if blanks:
        return sum(letter.isprintable() or letter.isspace() for letter in text) >= 0.98 * len(text)
    telling = len(_JAPANESE.findall(text)) >= 0.2 * len(text) or len(_STOPS.findall(text)) >= 0.01 * len(text)
    return telling and len(_EAST_ASIAN_PROSE.findall(text)) >= 0.95 * len(text)


def _guess(content: bytes) -> tuple[str, str]:
    """A reading for bytes that are neither declared nor clean UTF-8."""
    sample = content[:_SAMPLE]
    high = len(_HIGH.findall(sample))
    if sum(map(len, _MULTIBYTE.findall(sample))) >= (1 - _TOLERATED) * high:
        return _STRAY.sub(_decode_stray, content.decode("utf-8", "surrogateescape")), "utf-8 with windows-1252"
    if high < _DENSE * len(sample):
        return content.decode("cp1252", "replace"), "windows-1252"
    if len(_CYRILLIC.findall(sample)) > 0.85 * high and sample.count(b" ") > 0.06 * len(sample):
        return content.decode("cp1251", "replace"), "windows-1251"
    best = max(_EAST_ASIAN, key=lambda encoding: _plausibility(sample, encoding))
    if _plausibility(sample, best) > 0:
        return content.decode(best, "replace"), best
    return content.decode("cp1252", "replace"), "windows-1252"


def _plausibility(sample: bytes, encoding: str) -> float:
    """How much a sample looks like East Asian prose when read in an encoding; at most 0 when it does not."""
    text = sample.decode(encoding, "replace")
    beyond_ascii = len(_BEYOND_ASCII.findall(text))
    known = len(_HAN_OR_HANGUL.findall(text)) + 2 * len(_JAPANESE.findall(text))
    return (known - 0.6 * beyond_ascii - 4 * len(_ODD.findall(text))) / (len(text) or 1)


def _decode_stray(byte: re.Match[str]) -> str:
    """A byte that is not UTF-8, read as Windows-1252."""
    return bytes([ord(byte[0]) - 0xDC00]).decode("cp1252", "replace")
