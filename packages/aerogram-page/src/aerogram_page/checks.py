"""Checking: whatever is pasted, judged: what it is, whether it keeps its contract, and where it does not."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ValidationError

from aerogram.dialects import dialect as dialect_named
from aerogram.digest.payload import payload_of
from aerogram.errors import ContractError, ReplyError
from aerogram_page import asks
from aerogram_page.digests import DigestView
from aerogram_page.opening import OpenedReply, open_reply
from aerogram_page.violations import Fault, faults_of, model_faults
from aerogram_page.work import compute, load

__all__ = ["Checker"]

_MARK: Final = "\ufeff"
"""What some editors put before a text, to say in which order its bytes are."""
_SIGNS_OF_DIGEST: Final = frozenset({"evidence_snippets", "source_text_hash", "query_hash"})


class Checker:
    """Judges what a person pastes; nothing that is pasted is an error of the page."""

    def __init__(self, digests: DigestView) -> None:
        self._digests = digests

    async def check(self, ask: asks.Check, principal: str | None) -> dict[str, Any]:
        """What it is, and what is wrong with it."""
        if ask.dialect is not None:
            dialect_named(ask.dialect)
        try:
            value = await compute(load, ask.text.removeprefix(_MARK))
        except ContractError as error:
            return _report("none", None, (Fault("", error.rule),))
        digest = await compute(_as_digest, value)
        if digest is not None:
            return await self._digest(digest, ask.document, principal)
        return await compute(_reply, ask)

    async def _digest(self, value: Any, document: str | None, principal: str | None) -> dict[str, Any]:
        try:
            payload = await compute(payload_of, value)
        except ValidationError as error:
            return _report("digest", None, tuple(model_faults(error, value)))
        shown = await self._digests.render(payload, document, principal)
        faults = tuple(Fault(_pointer(one["field"]), one["message"], one["found"]) for one in shown["mismatches"])
        told = _report("digest", None, faults)
        return {**told, "digest": {"source_file": None, "title": None, **shown}, "message": _about_digest(shown)}


def _as_digest(value: Any) -> Any:
    """The payload in a value that is a digest: itself, or the content of a source."""
    if not isinstance(value, dict):
        return None
    if _SIGNS_OF_DIGEST & value.keys():
        return value
    content = value.get("content")
    if value.get("content_type") != "digest/v1" or not isinstance(content, (str, dict)):
        return None
    try:
        return load(content) if isinstance(content, str) else content
    except ContractError:
        return {"content": content}


def _reply(ask: asks.Check) -> dict[str, Any]:
    try:
        opened = open_reply(ask.text)
    except ReplyError as error:
        if error.error_code == "CONTENT_TOO_LARGE":
            raise
        return _report("none", None, (Fault("", error.message),))
    if ask.dialect is not None:
        return _of_reply("reply", ask.dialect, faults_of(opened.body, ask.dialect), opened)
    if opened.recognised == "bare" and opened.claimed is None:
        return _of_reply("json", None, (), opened)
    what = "tool_result" if opened.recognised.startswith("mcp:") else "reply"
    return _of_reply(what, opened.claimed or opened.dialect, opened.faults, opened)


def _pointer(field: str) -> str:
    """The pointer of a field that is written as `evidence_snippets[1].text`."""
    return "/" + field.replace("[", "/").replace("]", "").replace(".", "/")


def _of_reply(what: str, dialect: str | None, faults: tuple[Fault, ...], opened: OpenedReply) -> dict[str, Any]:
    told = _report(what, dialect, faults)
    said = opened.as_json()
    return {**told, "reply": {name: said[name] for name in ("status", "items", "problem", "operation")}}


def _report(what: str, dialect: str | None, faults: tuple[Fault, ...]) -> dict[str, Any]:
    return {
        "what": what,
        "dialect": dialect,
        "valid": not faults and what not in ("none", "json"),
        "faults": [one.as_json() for one in faults],
        "reply": None,
        "digest": None,
        "message": _message(what, dialect, len(faults)),
    }


def _message(what: str, dialect: str | None, count: int) -> dict[str, str]:
    if what == "none":
        return {"en": "This is not JSON.", "ja": "これは JSON ではありません。"}
    if what == "json":
        return {
            "en": "This is JSON, but no reply in any dialect: all of it is data.",
            "ja": "JSON ですが、どの方言の応答でもありません。全体がデータです。",
        }
    name = {"en": dialect or "a digest", "ja": dialect or "ダイジェスト"}
    if not count:
        return {
            "en": f"This is {name['en']}, and it keeps every rule.",
            "ja": f"これは {name['ja']} で、すべての規則を守っています。",
        }
    places = "one place" if count == 1 else f"{count} places"
    return {
        "en": f"This is {name['en']}, and it breaks its contract in {places}.",
        "ja": f"これは {name['ja']} ですが、{count} か所で契約に反しています。",
    }


def _about_digest(shown: dict[str, Any]) -> dict[str, str]:
    if shown["verified"] is None:
        return {
            "en": "This is a digest in good form. Its document is not known here; paste it to check the quotations.",
            "ja": "形式の正しいダイジェストです。文書が見つからないため、引用を確かめるには文書を貼り付けてください。",
        }
    if shown["verified"] and (count := len(shown["not_from_text"])):
        return {
            "en": "The document has this hash, and every quotation stands where it says. Not checked, because not from "
            f"the document: {count} sentence{'s' * (count > 1)} of the summary and key points.",
            "ja": "文書のハッシュも、すべての引用の位置も一致しています。要約と要点のうち "
            f"{count} 文は文書にない文なので、確かめていません。",
        }
    if shown["verified"]:
        return {
            "en": "This digest holds: the document has this hash, every quotation stands where it says, and the "
            "summary and key points are from the document.",
            "ja": "このダイジェストは正しく、文書のハッシュも、すべての引用の位置も一致し、要約と要点も文書の文です。",
        }
    count = len(shown["mismatches"])
    return {
        "en": f"This digest does not hold: {count} of its statements do not match the document.",
        "ja": f"このダイジェストは {count} か所で文書と一致しません。",
    }
