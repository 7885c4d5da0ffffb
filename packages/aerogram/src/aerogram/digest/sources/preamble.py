"""Preambles: what a document says about itself before it begins; no part of its canonical text.

YAML between two lines of `---`, of which the second may be `...`, or TOML between two lines of `+++`. A block is told
from a text between two rules by its look alone, so that a document has one text whatever is installed to read the block
with.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

__all__ = ["LICENSES", "STATED", "Preamble", "split_preamble"]

LICENSES: Final = ("license", "licence", "licenses", "licences", "spdx-license-identifier", "rights")
"""Names under which a document states its licence."""
STATED: Final = re.compile(
    rf"""^[ \t{{-]*(?P<apart>\?[ \t]+)?["']?(?:dc(?:terms)?[ \t]*[.:][ \t]*)?(?:{"|".join(LICENSES)})["']?[ \t]*"""
    r"""(?(apart)\n?[ \t]*)[:=][ \t]*(?P<value>.*)$""",
    re.MULTILINE | re.IGNORECASE,
)
"""A line that names a licence."""
_OPENS: Final = re.compile(r"\ufeff?\s*+(?:---|\+\+\+)")
_FENCED: Final = re.compile(
    r"\ufeff?(?:\s*\n)?(?P<mark>(?P<yaml>---)|\+\+\+)[ \t]*\n(?P<block>.*?)"
    r"(?:^(?:(?P=mark)|(?(yaml)\.\.\.|(?!)))[ \t]*(?:\n|\Z)|(?P<open>\Z))",
    re.DOTALL | re.MULTILINE,
)
_PAIRS: Final = re.compile(
    r"""(?:(?:["']?[\w.-]+["']?[ \t]*[:=](?:[ \t][^\n]*)?|[ \t]+\S[^\n]*|-[ \t][^\n]*)(?:\n|\Z))+"""
)
_COMMENTS: Final = r"\s*+(?:\#[^\n]*\n\s*+)*+"
_BEGINS: Final = {
    "---": re.compile(_COMMENTS + r"""(?:\?[ \t]+\S|(?:\{\s*)?["']?[\w.-]*["']?[ \t]*:(?=\s))"""),
    "+++": re.compile(_COMMENTS + r"""(?:["']?[\w.-]+["']?[ \t]*=|\[[^\n]*\])"""),
}
"""How the first name of a block looks."""
_NAMES_OF_WORDS: Final = re.compile(r"(?:[^\s:#-][^:\n]*:(?:[ \t][^\n]*)?\n|[ \t]+\S[^\n]*\n|[#-][ \t][^\n]*\n)+")


class Preamble(NamedTuple):
    """The mark around it, what stands between, and whether a line ends it."""

    mark: str
    block: str
    is_closed: bool = True


def split_preamble(text: str) -> tuple[Preamble | None, str]:
    """A document's preamble, if it has one, and its text."""
    if _OPENS.match(text) is None:
        return None, text
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    found = _FENCED.match(lines)
    if found is None:
        return None, text
    if found["open"] is not None:
        return _split_unclosed(lines, found)
    if not _is_preamble(found["mark"], found["block"]):
        return None, text
    return Preamble(found["mark"], found["block"]), lines[found.end() :]


def _split_unclosed(text: str, found: re.Match[str]) -> tuple[Preamble | None, str]:
    """A document that begins like a preamble which never ends: a rule, unless names and values follow."""
    block = _PAIRS.match(text, found.start("block"))
    if block is None or not STATED.search(block[0]):
        return None, text
    return Preamble(found["mark"], block[0], is_closed=False), text[block.end() :]


def _is_preamble(mark: str, block: str) -> bool:
    """Whether a block was meant as a preamble, well written or not, and is not a text between two rules."""
    if _BEGINS[mark].match(block) or STATED.search(block):
        return True
    return mark == "---" and _NAMES_OF_WORDS.fullmatch(block) is not None
