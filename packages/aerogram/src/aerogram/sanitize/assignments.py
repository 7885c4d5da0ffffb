"""Assignments: values that a text gives to something that is called like a secret.

    DB_PASSWORD=…      "apiKey": "…"      --token …      ?access_token=…&x=1      <password>…</password>
    password: …        the password is …                 Cookie: …                Server=db;Pwd=…;
    password: |        api_keys:                   name: password      <add key="ApiKey" value="…"/>
      …                  - …                       value: …

In prose and in code most of what follows such a name is no secret: a word, a type, a variable, a placeholder. So it
depends on how the value is written, and how it looks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

from aerogram.sanitize.names import bare_name, is_password, is_secret_name, may_be_secret, plain_spelling, test_of

__all__ = ["STEMS", "AssignedSecret", "AssignmentFinder"]

STEMS: Final = (
    *("pass", "pwd", "secret", "token", "cred", "cookie", "auth", "key"),
    *("kennwort", "wachtwoord", "contrase", "senha", "ароль", "密码", "パスワード", "비밀번호"),
)
"""What stands in every name that may be a secret's, in small letters."""
_LONGEST_NAME: Final = 64
_LONGEST_LOOK: Final = 256
"""So much of a value tells whether it is a secret."""
_NAME: Final = re.compile(r"[\w.\-$\[\]]*+")
_WORDS_BEFORE: Final = re.compile(r"(?:[A-Za-z]{2,20} ){1,2}\Z")
_LONGEST_WORDS: Final = 42
_LINE_BEFORE: Final = re.compile(
    r"(?:^|\n)[ \t]*(?:[-*#>][ \t]+|export[ \t]+|set[ \t]+|env[ \t]+)*[\"'\\]{0,4}\Z", re.IGNORECASE
)
_JOINT: Final = (
    r"(?P<name>[\w.\-]{0,40}+)(?:\\{0,7}[\"'`]|\]){0,2}+(?P<joint>[ \t]{0,4}+"
    r"(?::[ \t]?[a-z][\w.|\[\]]{0,30}[ \t]{1,2}=(?=[ \t])|[=-]>|:=|={1,3}|[:\uff1a\uff1d]|>|\s{0,40}+value[:=])"
    r"[ \t]{0,4}+|[ ](?:is|was)[ ])"
)
"""The rest of a name, and what joins it to a value."""
_FLAG: Final = r"(?P<name>[\w.\-]{0,40}+)(?P<joint>[ ](?=\S))"
_PLAIN: Final = r"[^\s\"'`<>,;&|\\]"
_GOES_ON: Final = r"[,;&|](?!\s|\Z|[\w.\- ]{1,40}[=:])"
_BARE: Final = rf"(?={_PLAIN}|{_GOES_ON}){_PLAIN}{{0,128}}+(?:{_GOES_ON}{_PLAIN}{{0,32}}+){{0,4}}+"
"""As much of a value without quotes as tells whether it is a secret."""
_VALUE: Final = re.compile(
    rf"(?i:(?:bearer|basic|digest|token|apikey|negotiate)[ ]{{1,4}}+)?+"
    rf"(?:(?P<open>\"{{3}}|'{{3}}|\\{{0,7}}[\"'`])|(?P<bare>{_BARE}))"
)
_REST: Final = re.compile(rf"(?:{_PLAIN}++|{_GOES_ON})*+")
_LONG_QUOTES: Final = ('"""', "'''")
"""Between two of these a text may have several lines."""
_TO_LINE_END: Final = re.compile(r"[^\r\n\"]*+")
_PAIR: Final = re.compile(r"[\w.\-]{1,80}=[^\s;<$]++(?<!…)")
_END_OF_SENTENCE: Final = ".,;:!?)]}"
_LINE_END: Final = re.compile(r"[ \t]*+(?:[\r\n]|\\n|\Z)")
_REFERENCE: Final = re.compile(
    r"\$\{?\{?[A-Za-z_(]|\{\{|\{[\w.]*\}?$|%\(|%s|%[A-Z_]+%|<|\.\.\.|\*+$|x+$|•+$|\[redacted:"
    r"|[A-Za-z_][\w.]*[(\[]|(?:os|env|self|this|args|config|settings|process|var|vars|secrets|data|local|module)\.\w"
    r"|(?:https?|file)://",
    re.IGNORECASE,
)
_JARGON: Final = re.compile(
    r"(?:base|sha|md|utf|oauth|aes|rsa|ed|ecdsa|hs|rs|es|ps|bcrypt|scrypt|argon|pbkdf|x|http|tls|ssl|v|p|l|s|ec|k8s|i18n)"
    r"[-_]?\d[\w.\-]*",
    re.IGNORECASE,
)
_BLOCK: Final = re.compile(r"(?P<mark>[|>][+\-0-9]{0,2}+)?[ \t]*+\r?\n(?P<indent>[ \t]*+)(?P<dash>-[ ]++)?(?=\S)")
_LINE: Final = re.compile(r"[^\n]*+")
_NEXT_LINE: Final = re.compile(r"\n(?P<indent>[ \t]*+)(?:(?P<dash>-[ ])|(?=\S))")
_WORDS_TEXT: Final = (
    "none null nil true false yes no on off str string text bool boolean int integer bytes object any optional "
    "required mandatory needed missing invalid valid wrong incorrect expired empty unset undefined changed "
    "unchanged reset set hidden redacted masked protected encrypted hashed enabled disabled basic bearer digest "
    "default unknown rotated revoked removed deleted created updated given secretstr n/a tbd todo value input "
    "stdin prompt ask see the a an your my include omit same-origin await new"
)
_WORDS: Final = frozenset(_WORDS_TEXT.split())
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]+")
_LONGEST_WORD: Final = 3
_SHORTEST_NUMBER: Final = 6


class AssignedSecret(NamedTuple):
    """Where a text gives a secret to something: the value stands from `start` to `end`."""

    start: int
    end: int


class _Mention(NamedTuple):
    """A name in a text, what joins it to a value, and where the value begins."""

    name: str
    start: int
    joint: str
    end: int


class AssignmentFinder:
    """Finds them; `names` are further names of secrets, `shown` those that are none."""

    def __init__(self, names: Iterable[str] = (), shown: Iterable[str] = ()) -> None:
        self._names = frozenset(map(bare_name, names))
        self._shown = frozenset(map(bare_name, shown))
        stems = (*STEMS, *(plain_spelling(name).lower() for name in names))
        self._mentions = tuple(re.compile(re.escape(stem) + _JOINT) for stem in dict.fromkeys(stems))
        self._flag = re.compile(rf"--[a-z0-9_.\-]{{0,40}}?(?:{'|'.join(map(re.escape, stems))})" + _FLAG)

    def is_secret(self, name: str) -> bool:
        """Whether a name is a secret's."""
        bare = bare_name(name)
        return bare in self._names or (bare not in self._shown and is_secret_name(name))

    def test_of(self, name: str) -> Callable[[object], bool] | None:
        """What tells whether a value of a doubtful name is a secret; none for any other name."""
        return None if bare_name(name) in self._shown else test_of(name)

    def may_be_secret(self, name: str) -> bool:
        """Whether a name is a secret's, or a doubtful one."""
        return self.is_secret(name) or self.test_of(name) is not None

    def is_assigned(self, name: str, value: str) -> bool:
        """Whether a value is a secret by the name of its column."""
        test = self.test_of(name)
        is_secret = self.is_secret(name) or (test is not None and test(value))
        return is_secret and bool(value) and not _is_reference(value, name)

    def find(self, text: str) -> Iterator[AssignedSecret]:
        """Every secret that is assigned, from left to right."""
        lowered = _lower(text)
        patterns = (*self._mentions, self._flag) if "--" in text else self._mentions
        ends = {match.end(): match for one in patterns for match in one.finditer(lowered)}
        position = 0
        for _, match in sorted(ends.items()):
            found = self._judge(text, match) if match.end("name") > position else None
            if found is not None:
                yield found
                position = found.end

    def _judge(self, text: str, match: re.Match[str]) -> AssignedSecret | None:
        mention = _read_mention(text, match)
        joint = mention.joint.strip() or " "
        if joint == ">" and text[mention.start - 1 : mention.start] != "<":
            return None
        name = mention.name
        is_secret = self.is_secret(name) or (joint != " " and self._is_secret_with_words(text, mention))
        if not is_secret and self.test_of(name) is None:
            return None
        value = _VALUE.match(text, mention.end)
        if value is None:
            return _read_block(text, mention) if joint == ":" and is_secret else None
        if value["open"] is not None:
            return self._read_quoted(text, value, mention, is_secret=is_secret)
        return self._bare(text, value, mention, joint, is_secret=is_secret)

    def _is_secret_with_words(self, text: str, mention: _Mention) -> bool:
        """Whether the words before belong to the name, as in `api key: …` and `mot de passe : …`."""
        before = _WORDS_BEFORE.search(text, max(0, mention.start - _LONGEST_WORDS), mention.start)
        return before is not None and self.is_secret(before[0] + mention.name)

    def _read_quoted(
        self, text: str, value: re.Match[str], mention: _Mention, *, is_secret: bool
    ) -> AssignedSecret | None:
        start, mark = value.end(), value["open"]
        end = text.find(mark, start)
        while end > start and mark[0] != "\\" and text[end - 1] == "\\":
            end = text.find(mark, end + 1)
        is_one_line = mark not in _LONG_QUOTES
        if end < 0 or (is_one_line and "\n" in text[start:end]):  # cut off, or this was the end of another text
            rest = _REST.match(text, start)
            end = rest.end() if rest is not None else start
        said = text[start : min(end, start + _LONGEST_LOOK)]
        if not said.strip() or _is_reference(said, mention.name):
            return None
        test = self.test_of(mention.name)
        return AssignedSecret(start, end) if is_secret or (test is not None and test(said)) else None

    def _bare(
        self, text: str, value: re.Match[str], mention: _Mention, joint: str, *, is_secret: bool
    ) -> AssignedSecret | None:
        start = value.start("bare")
        if (
            joint in (":", "\uff1a")
            and bare_name(mention.name).endswith(("cookie", "cookies"))
            and _PAIR.match(text, start)
        ):
            return AssignedSecret(start, _TO_LINE_END.match(text, start).end())  # type: ignore[union-attr]  # it always does
        said = value["bare"].rstrip(_END_OF_SENTENCE)
        if _is_reference(said, mention.name):
            return None
        if is_secret:
            is_found = self._is_value(text, said, value, mention, joint)
        else:
            test = self.test_of(mention.name)
            is_found = test is not None and test(said) and _JARGON.fullmatch(said) is None
        if not is_found:
            return None
        end = _REST.match(text, value.end()).end()  # type: ignore[union-attr]  # it always does
        return AssignedSecret(start, start + len(text[start:end].rstrip(_END_OF_SENTENCE)))

    def _is_value(self, text: str, said: str, value: re.Match[str], mention: _Mention, joint: str) -> bool:
        """Whether what a secret's name is joined to is the secret: in prose it must look like one."""
        is_line = _LINE_END.match(text, value.end()) is not None and (
            joint == " " or _LINE_BEFORE.search(text[max(0, mention.start - 40) : mention.start]) is not None
        )
        if joint == " " and said.isupper() and said.isalpha():  # what the usage of a program says
            return False
        # in `a = b` the second may be anything that code has; in `a=b` it is what it says
        is_tight = joint[-1] in "=\uff1d>" and not mention.joint.endswith(" ")
        if is_tight or (is_line and said.isascii()):  # a whole sentence may have no spaces
            return len(said) > _LONGEST_WORD
        if _JARGON.fullmatch(said) or _EMAIL.fullmatch(said):
            return False
        is_number = said.isdecimal() and len(said) >= _SHORTEST_NUMBER
        return is_number or is_password(said) or (len(said) >= _SHORTEST_NUMBER and _is_symbolic(said))


def _read_mention(text: str, match: re.Match[str]) -> _Mention:
    """The whole name, of which the end was found."""
    backwards = text[max(0, match.start() - _LONGEST_NAME) : match.start()][::-1]
    start = match.start() - len(_NAME.match(backwards)[0])  # type: ignore[index]  # it always matches
    return _Mention(text[start : match.end("name")], start, match["joint"], match.end())


def _read_block(text: str, mention: _Mention) -> AssignedSecret | None:
    """What stands below a name in lines that are further in, as YAML has it: a text, or a list of values."""
    begin = _BLOCK.match(text, mention.end)
    if begin is None:
        return None
    line = text.rfind("\n", 0, mention.start) + 1
    outer = len(text[line : mention.start]) - len(text[line : mention.start].lstrip())
    depth = len(begin["indent"]) + (begin["dash"] is not None)  # items of a list may stand as far out as their name
    start = end = begin.end()
    while depth > outer:
        line_end = _LINE.match(text, end).end()  # type: ignore[union-attr]  # it always matches
        said = text[end : min(line_end, end + _LONGEST_LOOK)].strip("\"' \r")
        if (end == start and _is_reference(said, mention.name)) or not (
            begin["mark"] or _is_symbolic_or_password(said)
        ):
            return None
        end, below = line_end, _NEXT_LINE.match(text, line_end)
        if below is None or len(below["indent"]) + (below["dash"] is not None) < depth:
            break
        end = below.end()
    return AssignedSecret(start, end) if end > start else None


def _is_symbolic_or_password(said: str) -> bool:
    return is_password(said) or (_is_symbolic(said) and len(said.split()) == 1)


def _lower(text: str) -> str:
    """The text in small letters, each in its place; some have a small letter that is two."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(one.lower()[:1] for one in text)


def _is_reference(said: str, name: str) -> bool:
    """Whether a value only says where a secret is, or stands for one."""
    if said.lower() in _WORDS or _REFERENCE.match(said) or said == name or "…" in said:
        return True
    # a variable, as in `password=args.password`, or a placeholder, as in `YOUR_API_KEY`
    if said.isidentifier() and bare_name(name).endswith(bare_name(said)):
        return True
    is_name = re.fullmatch(r"[A-Za-z_][A-Za-z_]*(?:[.\-_][A-Za-z_]+)+", said) is not None
    return is_name and (may_be_secret(said) or test_of(said) is not None)


def _is_symbolic(said: str) -> bool:
    return any(mark in said for mark in "!@#$%^&*~") and any(map(str.isalpha, said))
