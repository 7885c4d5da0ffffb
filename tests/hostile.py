"""Documents that are small and take much: each is made here, byte by byte."""

from __future__ import annotations

import zlib

_FONTS = b"<< /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"


def pdf_of_operators(count: int, words: bytes = b"a", pages: int = 1) -> bytes:
    """A PDF whose pages share one content stream: a few kilobytes that unpack to so many text operators."""
    stream = zlib.compress(b"BT /F1 11 Tf 50 780 Td " + b"(%s) Tj " % words * count + b"ET", 9)
    page = (
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R /Resources << /Font << /F1 %s >> >> >>"
    )
    kids = b" ".join(b"%d 0 R" % number for number in range(4, 4 + pages))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, kids),
        b"<< /Filter /FlateDecode /Length %d >> stream\n%s\nendstream" % (len(stream), stream),
        *[page % _FONTS] * pages,
    ]
    numbered = b"".join(b"%d 0 obj %s endobj\n" % (number, one) for number, one in enumerate(objects, 1))
    return b"%PDF-1.4\n" + numbered + b"trailer << /Root 1 0 R >>\n"


def html_of_tags(count: int) -> bytes:
    """A page of as many pieces of text as there can be: each is an object of its own while it is read."""
    return b"<html>" + "<b>\N{GRINNING FACE}".encode() * count


def front_matter_of_aliases(levels: int, width: int = 10) -> str:
    """A document whose front matter merges a mapping into itself, so that each line is ten times the one before."""
    lines = ['"#0": &a0 {key: value}']
    for level in range(1, levels + 1):
        several = ",".join([f"*a{level - 1}"] * width)
        lines.append(f'"#{level}": &a{level} {{<<: [{several}]}}')
    return "\n".join(["---", "license: MIT", *lines, "---", "# Harvest", "", "The harvest begins in May.", ""])
