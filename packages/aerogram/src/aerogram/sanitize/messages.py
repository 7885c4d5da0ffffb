"""Messages: what a server says in the words of the protocol, without what may not be said, wherever it says it.

    texts and data       of results and of resources: after each of the steps
    everything else      links, prompts, questions, news, errors, `_meta`, members that nobody knows: after those steps
                         that are for words of any kind, as redaction is; marks around an address would make another one

What is sent as it is:

    of itself            a server's lists of tools, prompts, resources and templates, and how it introduces itself
    to ask               the form of what it wants of the client, whose words are looked at, and where a person is to go
    of the protocol      annotations, and in `_meta` the members under its own name
    handles              by which a client comes back: cursors, states, ids, the address of a resource that has changed
    binary               pictures, sounds, blobs
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from aerogram.content.jsontext import begins_as_json
from aerogram.errors import ReplyError
from aerogram.reply import Notice, Reply
from aerogram.sanitize.steps import (
    UNREADABLE,
    Step,
    for_words,
    sanitize,
    sanitize_text,
    sanitize_texts,
    sanitize_value,
)

__all__ = ["Cleaner", "sanitize_blocks", "sanitize_contents", "sanitize_result"]

Message = dict[str, Any]

_OF_ITSELF: Final = frozenset(
    (
        "initialize",
        "server/discover",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "notifications/subscriptions/acknowledged",  # which repeats the client's own words
    )
)
_HANDLES: Final = ("nextCursor", "requestState", "taskId", "progressToken", "requestId", "elicitationId")
_ASKED: Final = "inputRequests"
_FORMS: Final = ("requestedSchema", "tools", "toolChoice", "modelPreferences")
"""What is not text in a question to the client: its members have names of their own."""
_META: Final = "_meta"
_OF_PROTOCOL: Final = "io.modelcontextprotocol/"
_KEPT: Final = frozenset(("annotations", *_HANDLES))
_PARTS: Final = frozenset(
    ("content", "contents", "messages", "resource", "task", "tasks", "result", "error", "elicitations", "text")
)
"""Members that the protocol has parts in, with members of their own; what stands elsewhere is data."""
_MEDIA: Final = ("image", "audio")
_USUAL: Final = frozenset(("type", "text", "annotations"))
"""The members of a block of text."""
_URL_ELICITATION_REQUIRED: Final = -32042
_PLACE: Final = re.compile(r"^/data/(\d+)")


class Cleaner:
    """Takes out of messages what may not be said; without steps that are for words, they are the same objects.

    A message is what the protocol writes, or a model of a framework.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = for_words(steps)

    def __bool__(self) -> bool:
        return bool(self._steps)

    def clean_answer(self, method: str, result: Message) -> Message:
        """What a server answers to a request."""
        return result if not self._steps or method in _OF_ITSELF else self.clean_members(result)

    def clean_news(self, method: str, params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """A notification."""
        if params is None or not self._steps or method in _OF_ITSELF:
            return params
        return self.clean_members(params, ("uri",) if method == "notifications/resources/updated" else ())

    def clean_question(self, params: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        """What a server asks the client; a form keeps its members, whatever they are called."""
        if params is None or not self._steps:
            return params
        forms = {name: self._clean_words(params[name]) for name in _FORMS if name in params}
        return {**self.clean_members(params, _FORMS), **forms}

    def clean_failure(self, error: BaseException) -> None:
        """An exception whose words are sent, an error of the protocol or another one."""
        if not self._steps:
            return
        told: Any = getattr(error, "error", None)
        if hasattr(told, "message") and hasattr(told, "data"):
            said = {"code": told.code, "message": told.message, "data": told.data}
            clean = self.clean_members(said)
            told.message, told.data = clean.get("message", UNREADABLE), clean.get("data")
            error.args = (told.code, told.message, told.data)
            return
        error.args = tuple(sanitize_value(one, *self._steps) if isinstance(one, str) else one for one in error.args)
        for name in ("message", "remediation", "user_message", "details") if isinstance(error, ReplyError) else ():
            setattr(error, name, sanitize_value(getattr(error, name), *self._steps))

    def clean_besides(self, result: Message) -> Message:
        """The answer of a tool, but for the texts of its blocks and its structured content.

        These the path of every result makes clean, and says so where there is a place for it.
        """
        if not self._steps:
            return result
        content, structured = result.get("content"), result.get("structuredContent")
        spared = {"content"} | ({"structuredContent"} if isinstance(structured, dict) else set())
        clean = self.clean_members(result, spared)
        if isinstance(content, list):
            clean["content"] = [self.clean_block(one) if isinstance(one, dict) else one for one in content]
        return clean

    def clean_block(self, block: Message) -> Message:
        """A block but for its text, which it has in itself or in the resource that it holds."""
        if not self._steps or block.keys() <= _USUAL:
            return block
        held = block.get("resource")
        if isinstance(held, dict):
            return {**self.clean_members(block, ("resource",)), "resource": self._clean_beside_text(held)}
        return self._clean_beside_text(block)

    def clean(self, part: Any, spared: Collection[str] = ()) -> Any:
        """A part of a message, or the whole of it, but for members that are `spared` wherever they stand in it."""
        if not self._steps:
            return part
        if isinstance(part, str):
            return sanitize_text(part, *self._steps)
        if isinstance(part, (list, tuple)):
            return [self.clean(one, spared) for one in part]
        if isinstance(part, Mapping):
            return self.clean_members(part, spared, spared)
        return self._clean_model(part, spared) if _is_model(part) else part

    def _clean_model(self, model: Any, spared: Collection[str]) -> Any:
        words = {name: one.alias or name for name, one in type(model).model_fields.items()}
        held = {word: getattr(model, name) for name, word in words.items()}
        clean = self.clean_members(held, spared, spared)
        changed = {name: clean[word] for name, word in words.items() if clean[word] != held[word]}
        return model.model_copy(update=changed) if changed else model

    def _clean_words(self, value: Any) -> Any:
        """The texts in a value, and nothing by its name."""
        if isinstance(value, dict):
            return {name: self._clean_words(one) for name, one in value.items()}
        if isinstance(value, list):
            return [self._clean_words(one) for one in value]
        return sanitize_text(value, *self._steps) if isinstance(value, str) else value

    def _clean_beside_text(self, block: Message) -> Message:
        return self.clean_members(block, ("text",) if isinstance(block.get("text"), str) else ())

    def clean_members(
        self, members: Mapping[str, Any], spared: Collection[str] = (), further_in: Collection[str] = ()
    ) -> Message:
        """A part of a message: its own parts, and everything else in it as data, in the order that it had.

        Members that are `spared` are sent as they are, and `further_in` those of its parts.
        """
        kept = _KEPT.union(spared, _find_spared(members))
        parts = _PARTS | {"data"} if members.get("code") == _URL_ELICITATION_REQUIRED else _PARTS
        found = {name for name, one in members.items() if name in parts or name == _META or _holds_models(one)}
        made = self._clean_data(members, kept | found)
        for name in found - kept:
            made[name] = self._clean_meta(members[name]) if name == _META else self.clean(members[name], further_in)
        if isinstance(members.get(_ASKED), dict):
            made[_ASKED] = {key: self._clean_asked(one) for key, one in members[_ASKED].items()}
        return made

    def _clean_meta(self, meta: Any) -> Any:
        if not isinstance(meta, Mapping):
            return self.clean(meta)
        return self._clean_data(meta, [name for name in meta if name in _HANDLES or name.startswith(_OF_PROTOCOL)])

    def _clean_asked(self, asked: Any) -> Any:
        if not isinstance(asked, dict) or not isinstance(asked.get("params"), dict):
            return self.clean(asked)
        return {**self.clean_members(asked, ("method", "params")), "params": self.clean_question(asked["params"])}

    def _clean_data(self, members: Mapping[str, Any], kept: Collection[str]) -> Message:
        """Members clean by their names but for those that are `kept`; none where nobody can look at what lies so deep.

        A name that is a secret itself becomes another one.
        """
        data = {name: value for name, value in members.items() if name not in kept and value is not None}
        if not data:
            return dict(members)
        texts = {name: sanitize_text(one, *self._steps) for name, one in data.items() if _is_json(one)}
        try:
            clean = sanitize(Reply({**data, **texts}), *self._steps).data
        except RecursionError:
            clean = dict.fromkeys(data, UNREADABLE)
        cleaned = iter(clean.items())
        return dict(next(cleaned) if name in data else (name, value) for name, value in members.items())


def sanitize_contents(contents: Sequence[Mapping[str, Any]], *steps: Step) -> list[dict[str, Any]]:
    """Content blocks or contents of a resource, as the protocol writes them, with their texts clean."""
    return sanitize_blocks(contents, *steps)[0]


def sanitize_blocks(blocks: Sequence[Any], *steps: Step) -> tuple[list[dict[str, Any]], tuple[Notice, ...]]:
    """Content blocks with their texts clean, and what there is to say about it, for whoever has a place for it."""
    shown = [
        block.model_dump(mode="json", by_alias=True, exclude_none=True) if _is_model(block) else dict(block)
        for block in blocks
    ]
    if not steps:  # nothing is read that nobody asked to look at, and so nothing is written anew
        return shown, ()
    texts = {at: text for at, block in enumerate(shown) if isinstance(text := _inner(block).get("text"), str)}
    clean, notices = sanitize_texts(list(texts.values()), *steps)
    for (at, text), new in zip(texts.items(), clean, strict=True):
        if new is not text:
            shown[at] = _with_text(shown[at], new)
    cleaner = Cleaner(steps)
    return [cleaner.clean_block(block) for block in shown], tuple(_in_blocks(one, list(texts)) for one in notices)


def sanitize_result(wire: dict[str, Any], *steps: Step) -> dict[str, Any]:
    """The finished result of a tool, as the protocol writes it, with its texts and its structured content clean."""
    if not steps or not wire:
        return wire
    besides = Cleaner(steps).clean_members(wire, ("content", "structuredContent")) if for_words(steps) else wire
    clean = {**besides, "content": sanitize_contents(wire["content"], *steps)}
    if isinstance(wire.get("structuredContent"), (dict, list)):
        clean["structuredContent"] = sanitize(Reply(wire["structuredContent"]), *steps).data
    return clean


def _find_spared(members: Mapping[str, Any]) -> Collection[str]:
    """What is sent as it is of one kind of part: what it asks for, where a person is to go, what is binary."""
    if isinstance(members.get(_ASKED), dict):
        return (_ASKED,)  # question by question
    if "elicitationId" in members:
        return ("url",)
    return ("data",) if members.get("type") in _MEDIA else ("blob",) if "uri" in members else ()


def _is_json(value: Any) -> bool:
    return isinstance(value, str) and begins_as_json(value)


def _is_model(value: Any) -> bool:
    return isinstance(getattr(type(value), "model_fields", None), Mapping)


def _holds_models(value: Any) -> bool:
    return any(map(_is_model, value)) if isinstance(value, (list, tuple)) else _is_model(value)


def _inner(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where a block has its text: in itself, or in the resource that it holds."""
    held = block.get("resource")
    return held if isinstance(held, Mapping) else block


def _with_text(block: dict[str, Any], text: str) -> dict[str, Any]:
    inner = _inner(block)
    return {**block, "text": text} if inner is block else {**block, "resource": {**inner, "text": text}}


def _in_blocks(notice: Notice, numbers: list[int]) -> Notice:
    """A notice about the texts of blocks, with the blocks for its places."""
    places = (notice.context or {}).get("places")
    if places is None:
        return notice
    told = [_PLACE.sub(lambda match: f"/content/{numbers[int(match[1])]}/text", place) for place in places]
    return replace(notice, context={**(notice.context or {}), "places": told})
