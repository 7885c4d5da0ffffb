"""Links: where an answer leads to. The Link field (RFC 8288), and addresses relative to that of the answer."""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urljoin

__all__ = ["address_of", "leading_to", "resolved"]

_TEXT: Final = r'"(?:[^"\\]|\\.)*"'
_PARAMETER: Final = re.compile(rf';\s*([^\s=;,"<>]+)\s*(?:=\s*({_TEXT}|[^\s;,"]*))?\s*')
_LINK: Final = re.compile(rf"<([^<>]*)>\s*((?:{_PARAMETER.pattern})*)")


def leading_to(relation: str, field: str) -> str | None:
    """The address of the first link in a Link field that has this relation to the answer it came with."""
    for link in _LINK.finditer(field):
        said: dict[str, str] = {}
        for name, value in _PARAMETER.findall(link[2]):
            said.setdefault(name.lower(), value.strip('"'))  # of several relations the first one counts
        if relation in said.get("rel", "").lower().split() and "anchor" not in said:
            return link[1].strip()
    return None


def address_of(response: Any) -> str:
    """The address that a response answered at; empty when it is not known."""
    try:
        return str(getattr(response, "url", None) or "")
    except RuntimeError:  # of httpx, for a response without a request
        return ""


def resolved(address: str, reference: str) -> str:
    """An address that an answer names, seen from the address of that answer; it may have a method before it."""
    method, space, path = reference.rpartition(" ")
    try:
        return f"{method}{space}{urljoin(address, path)}"
    except ValueError:  # no address at all, which whoever asks for it will say
        return reference
