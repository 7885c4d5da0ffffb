"""HTML: its words in reading order, one paragraph per block, one line per table row, code as written.

A tokenizer after the HTML standard's own rules, without a tree: words need none,
depth costs nothing, and the text never changes because a parser did. It is kinder than
the standard in one thing: a "<" that begins no whole tag is a sign like any other, so
that `a<b and 3<4` loses no words.

On its way it notes where headings, tables, code, definitions and navigation stand, and how
far each heading reaches: to the end of the section element that it is in, wherever that ends.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from html import unescape as unescape_all
from itertools import accumulate
from typing import Final, NamedTuple, cast

VERSION = "2"

_BULLET = "\n- "
_BLOCKS = re.compile(
    "address|article|aside|blockquote|body|caption|center|details|dialog|div|dl|dt|fieldset|"
    "figcaption|figure|footer|form|h1|h2|h3|h4|h5|h6|header|hgroup|hr|html|legend|main|"
    "menu|nav|ol|optgroup|option|p|pre|search|section|summary|table|title|ul"
)
_SILENT = frozenset(("script", "style"))
_RAW = frozenset(("textarea", "title", "xmp", "iframe", "noembed", "noframes"))
_CELLS = frozenset(("td", "th"))
# elements that browsers do not set in the line they stand in
_APART = frozenset(("desc", "noscript", "svg", "template", "text"))
_TAG_START = re.compile(r"<(?:(/?)([a-zA-Z][\w:.\-]*+)(?=[\s/>])|(!--)|[!?][a-zA-Z\[])")
# quoted attribute values may hold "<" and ">"; possessive, so that a tag is read once whatever it holds
_ATTRIBUTES = re.compile(r"""(?:[^<>"'=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+|["'])*+""")
_DECLARATION = re.compile("[^>]*+")
_ALT = re.compile(r"""\salt\s*=\s*(?:"([^"]*)"|'([^']*)')""", re.IGNORECASE)
_SPACES = re.compile(r"[ \t\n\r\f]+")
_COMMENT_END = re.compile(r"--!?>")
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_SECTIONS: Final = frozenset(
    ("article", "aside", "blockquote", "details", "dialog", "figure", "footer", "nav", "section")
)
_WHOLE: Final = frozenset(("pre", "table"))
_NOTED: Final = _HEADINGS | _SECTIONS | _WHOLE | {"div", "dl", "dt", "dd"}
_ATTRIBUTE: Final = re.compile(
    # possessive, and from the beginning of a name only: an attribute may be as long as a page
    r"""(?<![a-z:-])([a-z:-]++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))""",
    re.IGNORECASE,
)
_SECTION_CLASS: Final = re.compile(r"(?<![\w-])(?:appendix|chapter|preface|sect[1-5]|section)(?![\w-])", re.IGNORECASE)
"""What tools that know no `section` element write on a `div` that is one."""
_NAVIGATION_CLASS: Final = re.compile(r"(?<![\w-])(?:navheader|navfooter|sphinxsidebar)(?![\w-])", re.IGNORECASE)
"""What DocBook and Sphinx write on a `div` that leads elsewhere."""
_NAVIGATION_ROLE: Final = re.compile(r"\s*navigation(?![\w-])", re.IGNORECASE)
_NOTHING: Final = 2
"""Signs between a heading and the end of what it is in, if there are no words."""


_LONG_NUMBER: Final = re.compile(r"(?<=&#)[0-9]{8,}+")


def unescape(text: str) -> str:
    """The text with its references read; a number of more digits than Python reads is no letter either."""
    return unescape_all(_LONG_NUMBER.sub(lambda digits: digits[0].lstrip("0")[:8] or "0", text))


class Element(NamedTuple):
    """A heading, a `table`, `pre`, `nav`, or a `dt` with its definition: where its words stand in what was extracted.

    `reach` is where that ends which a heading is above.
    """

    name: str
    start: int
    end: int
    reach: int


class Extract(NamedTuple):
    """The words of a document, ready to be normalised, and its elements in the order in which they end."""

    text: str
    elements: tuple[Element, ...]


def extract(markup: str) -> str:
    """The words of an HTML document, ready to be normalised."""
    return outline(markup).text


@lru_cache(maxsize=1)
def outline(markup: str) -> Extract:
    """The words and the elements of an HTML document; whoever asks for both in turn has them read once."""
    reader = _TextExtractor(markup.replace("\f", " "))
    text = reader.read()
    ends = [0, *accumulate(map(len, reader.parts))]
    notes = _Outline(len(text))
    for name, place in reader.noted:
        notes.take(name, ends[place])
    return Extract(text, notes.finish())


class _Section(NamedTuple):
    """An element that is open: its name, the headings of what it is, and where it begins if it is navigation."""

    name: str
    headings: list[int]
    start: int | None = None


class _Outline:
    """Makes elements of the tags that were noted; each tag costs the same, however many are open."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.elements: list[Element] = []
        self.heading: tuple[str, int] | None = None
        self.sections = [_Section("", [])]
        self.open: Counter[str] = Counter()
        self.starts: dict[str, int] = {}
        self.has_definition = False

    def take(self, name: str, place: int) -> None:
        """Note a tag; the name of one that closes begins with a slash."""
        closed = name.removeprefix("/")
        if closed in _HEADINGS:
            self.end_heading(place)
            if closed == name:
                self.heading = (name, place)
        elif closed in _SECTIONS:
            self.end_section(closed, place) if closed != name else self.start_section(name, [], place)
        elif closed in ("div", "section div", "nav div"):
            self.take_div(name, place)
        elif closed in _WHOLE:
            self.count(name, place)
        elif closed == "dl":
            self.end_definition(place)
        elif name == "dt" and (self.has_definition or "dt" not in self.starts):
            self.end_definition(place)
            self.starts["dt"] = place
        elif name == "dd":
            self.has_definition = True

    def take_div(self, name: str, place: int) -> None:
        last = self.sections[-1]
        if name == "nav div":
            self.start_section("div", [], place, is_navigation=True)
        elif name != "/div":  # the headings in a plain one are those of what it is in
            self.start_section("div", last.headings if name == "div" else [], place)
        elif last.name == "div":
            self.end_section("div", place)

    def end_heading(self, place: int) -> None:
        if self.heading is not None:
            self.sections[-1].headings.append(len(self.elements))
            self.elements.append(Element(*self.heading, place, self.length))
            self.heading = None

    def start_section(self, name: str, headings: list[int], place: int, *, is_navigation: bool = False) -> None:
        self.open[name] += 1
        self.sections.append(_Section(name, headings, place if is_navigation or name == "nav" else None))

    def end_section(self, name: str, place: int) -> None:
        self.end_heading(place)
        while self.open[name]:
            last, headings, start = self.sections.pop()
            self.open[last] -= 1
            outer = self.sections[-1].headings
            if last == name and start is not None:  # one that nothing ends might be all of the page
                self.elements.append(Element("nav", start, place, place))
            if last == "div" and len(headings) == 1 and place - self.elements[headings[0]].end <= _NOTHING:
                outer += headings if headings is not outer else []  # it is above what comes after it
            elif headings is not outer:
                for one in headings:
                    self.elements[one] = self.elements[one]._replace(reach=place)
            if last == name:
                break

    def count(self, name: str, place: int) -> None:
        """A table in a table is a part of it."""
        closed = name.removeprefix("/")
        if closed == name:
            self.open[name] += 1
            self.starts.setdefault(name, place)
        elif self.open[closed]:
            self.open[closed] -= 1
            if not self.open[closed]:
                self.elements.append(Element(closed, self.starts.pop(closed), place, place))

    def end_definition(self, place: int) -> None:
        start = self.starts.pop("dt", None)
        if start is not None and self.has_definition:
            self.elements.append(Element("dt", start, place, place))
        self.has_definition = False

    def finish(self) -> tuple[Element, ...]:
        self.end_heading(self.length)
        return tuple(self.elements)


class _TextExtractor:
    """One pass over the markup; `parts` is the text so far."""

    def __init__(self, markup: str) -> None:
        self.markup = markup
        self.parts: list[str] = []
        self.noted: list[tuple[str, int]] = []
        self.open_pre = 0
        self.cells = 0
        self.at_line_start = True

    def read(self) -> str:
        position = 0
        while (tag := _TAG_START.search(self.markup, position)) is not None:
            self.add_words(self.markup[position : tag.start()])
            position = self.read_tag(tag)
        self.add_words(self.markup[position:])
        return "".join(self.parts)

    def read_tag(self, tag: re.Match[str]) -> int:
        """Act on a tag or comment and say where reading goes on."""
        closing, name, comment = tag.groups()
        if comment:
            return self.skip_comment(tag.end())
        inside = cast("re.Match[str]", (_ATTRIBUTES if name else _DECLARATION).match(self.markup, tag.end())).end()
        if not self.markup.startswith(">", inside):
            # no tag after all; what was looked at is not looked at again, or many of these would take for ever
            self.add_words(self.markup[tag.start() : inside])
            return inside
        end = inside + 1
        if not name:
            return end
        name = name.lower()
        if closing:
            self.close(name)
            return end
        self.open(name, self.markup[tag.end() : end])
        return self.read_raw(name, end) if name in _SILENT or name in _RAW else end

    def skip_comment(self, start: int) -> int:
        if self.markup.startswith((">", "->"), start):
            return self.markup.index(">", start) + 1
        end = _COMMENT_END.search(self.markup, start)
        return end.end() if end else len(self.markup)

    def read_raw(self, name: str, start: int) -> int:
        """Read on to the end tag of an element that holds no tags; its text is words unless it is silent."""
        end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(self.markup, start)
        stop = end.start() if end else len(self.markup)
        if name not in _SILENT:
            self.add_words(self.markup[start:stop])
        return stop

    def open(self, name: str, attributes: str) -> None:
        if name in _CELLS:
            self.parts.append(" | " if self.cells else "")
            self.cells += 1
            self.at_line_start = self.cells == 1
        elif name == "li":
            self.start_line(_BULLET)
        elif name == "tr":
            self.cells = 0
            self.start_line("" if self.at_line_start else "\n")
        elif name in ("br", "dd"):
            self.start_line(" " if self.cells else "\n")
        elif name == "img" and (alt := _ALT.search(attributes)):
            self.add_words(f" {alt[1] or alt[2] or ''} ")
        elif name in _APART:
            self.add_words(" ")
        elif _BLOCKS.fullmatch(name):
            self.start_block()
        if name == "pre":
            self.open_pre += 1
        self.note(name, _kind_of_div(attributes) if name == "div" and attributes != ">" else name)

    def close(self, name: str) -> None:
        self.note(name, f"/{name}")
        if name == "pre":
            self.open_pre = max(0, self.open_pre - 1)
        if name == "table":
            self.cells = 0
        if name == "tr":
            self.cells = 0
            self.start_line("\n")
        elif name in _APART:
            self.add_words(" ")
        elif _BLOCKS.fullmatch(name):
            self.start_block()

    def note(self, name: str, said: str) -> None:
        # the rows of a table are lines, and what is inside a cell is only a part of one
        if name in _NOTED and (not self.cells or name == "table"):
            self.noted.append((said, len(self.parts)))

    def start_block(self) -> None:
        # a block inside a cell must not tear its row apart, and none stands between a bullet and its words
        if self.cells:
            self.start_line("" if self.at_line_start else " ")
        elif not (self.parts and self.parts[-1] == _BULLET):
            self.start_line("\n\n")

    def start_line(self, mark: str) -> None:
        self.parts.append(mark)
        self.at_line_start = True

    def add_words(self, raw: str) -> None:
        text = unescape(raw) if "&" in raw else raw
        if not self.open_pre:
            text = _SPACES.sub(" ", text)
            if self.at_line_start:
                text = text.lstrip(" ")
        elif self.cells:
            text = text.replace("\n", " ")
        if text:
            self.parts.append(text)
            self.at_line_start = False


def attributes_of(inside: str) -> dict[str, str]:
    """The attributes of an element by their names in lower case; of two that are called alike, HTML takes the first."""
    found = reversed(_ATTRIBUTE.findall(inside))
    return {name.lower(): unescape(a or b or c) for name, a, b, c in found}


def _kind_of_div(inside: str) -> str:
    attributes = attributes_of(inside)
    named = attributes.get("class", "")
    if _NAVIGATION_ROLE.match(attributes.get("role", "")) or _NAVIGATION_CLASS.search(named):
        return "nav div"
    return "section div" if _SECTION_CLASS.search(named) else "div"


class HeadElement(NamedTuple):
    """A `meta`, `link` or `title` of a page: its attributes as they are written, and the text in it."""

    name: str
    attributes: str
    text: str


def head_elements(markup: str) -> list[HeadElement]:
    """What a page says of itself before its body begins; what stands in comments, scripts and texts is no element."""
    return _HeadReader(markup).find()


class _HeadReader(_TextExtractor):
    """The same pass, as far as the body, for elements instead of words."""

    def __init__(self, markup: str) -> None:
        super().__init__(markup)
        self.found: list[HeadElement] = []
        self.is_over = False

    def find(self) -> list[HeadElement]:
        position = 0
        while not self.is_over and (tag := _TAG_START.search(self.markup, position)) is not None:
            position = self.read_tag(tag)
        return self.found

    def open(self, name: str, attributes: str) -> None:
        self.is_over = name == "body"
        if name in ("meta", "link"):
            self.found.append(HeadElement(name, attributes, ""))

    def close(self, name: str) -> None:
        """An end tag says nothing."""

    def read_raw(self, name: str, start: int) -> int:
        stop = super().read_raw(name, start)
        if name == "title":
            self.found.append(HeadElement(name, "", self.markup[start:stop]))
        return stop

    def add_words(self, raw: str) -> None:
        """Words are not looked for."""
