"""A PDF made of plain lines: just enough of the format to print any script and have it read back."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Iterable, Sequence

_EAST_ASIAN = "\u3000"


def write_pdf(pages: Sequence[str], *, width: int = 88) -> bytes:
    """A PDF with one page for each text; lines are wrapped at `width`, half of that for East Asian text."""
    letters = sorted({letter for page in pages for letter in page if letter != "\n"} | {" "})
    codes = {letter: number for number, letter in enumerate(letters, 1)}
    bodies = [b"<< /Type /Catalog /Pages 2 0 R >>", _tree(len(pages)), _FONT, _DESCENDANT, _stream(_to_unicode(codes))]
    for number, page in enumerate(pages):
        first = 6 + 2 * number
        bodies.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {first + 1} 0 R "
            f"/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        bodies.append(_stream(_show(page, codes, width)))
    return _file(bodies)


_FONT = (
    b"<< /Type /Font /Subtype /Type0 /BaseFont /Plain /Encoding /Identity-H "
    b"/DescendantFonts [4 0 R] /ToUnicode 5 0 R >>"
)
_DESCENDANT = (
    b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Plain /DW 600 "
    b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>"
)


def _tree(count: int) -> bytes:
    kids = " ".join(f"{6 + 2 * number} 0 R" for number in range(count))
    return f"<< /Type /Pages /Count {count} /Kids [{kids}] >>".encode()


def _to_unicode(codes: dict[str, int]) -> bytes:
    lines = [f"<{code:04x}> <{letter.encode('utf-16-be').hex()}>" for letter, code in codes.items()]
    blocks = (lines[i : i + 100] for i in range(0, len(lines), 100))
    maps = "\n".join(f"{len(block)} beginbfchar\n" + "\n".join(block) + "\nendbfchar" for block in blocks)
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapType 2 def /CMapName /Plain def\n"
        f"1 begincodespacerange <0000> <ffff> endcodespacerange\n{maps}\nendcmap end end"
    ).encode()


def _show(page: str, codes: dict[str, int], width: int) -> bytes:
    rows = ["".join(f"{codes[letter]:04x}" for letter in line) for line in _wrapped(page, width)]
    return ("BT /F1 7 Tf 40 810 Td 9 TL\n" + "".join(f"<{row}> Tj T*\n" for row in rows) + "ET").encode()


def _wrapped(page: str, width: int) -> Iterable[str]:
    for line in page.split("\n"):
        if any(letter >= _EAST_ASIAN for letter in line):
            yield from (line[i : i + width // 2] for i in range(0, len(line), width // 2))
        else:
            yield from textwrap.wrap(line, width) or [""]


def _stream(content: bytes) -> bytes:
    packed = zlib.compress(content)
    return f"<< /Length {len(packed)} /Filter /FlateDecode >>\nstream\n".encode() + packed + b"\nendstream"


def _file(bodies: Sequence[bytes]) -> bytes:
    out = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, body in enumerate(bodies, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n".encode() + body + b"\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    start = len(out)
    out += f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n{table}".encode()
    out += f"trailer\n<< /Size {len(bodies) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)
