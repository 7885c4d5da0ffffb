"""Call: what is known about one request while it is answered."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from aerogram.channels import Payload, Writer
from aerogram.limits import Allowance
from aerogram.normalize.plain import is_plain
from aerogram.reply import Notice, Problem, QueryEcho, Reply, is_generated_id, new_request_id
from aerogram.shape.advice import Levers

__all__ = ["Call", "echo_arguments"]


@dataclass(frozen=True, kw_only=True)
class Call:
    """What is known about one request: who asks for what, and how the reply is to be shaped.

    A control that is None was not asked for. `schema` is the JSON Schema that the data must satisfy, `payload` how the
    data is sent when it is sent alone, `writer` what is sent in place of the data. `resource` tells
    operations of one name apart, such as routes, and `apart` the calls of callers whom nobody knows: a digest of
    what they show, or None where they share no answers. With `pages`, whoever asks could ask for a page, and is told
    that a whole answer is whole. With `is_done`, the call has changed something: no control turns its success into a
    failure.
    """

    operation: str = "unknown"
    resource: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    request_id: str = field(default_factory=new_request_id)
    principal: str | None = None
    apart: str | None = ""
    client_tag: str | None = None
    response_mode: str | None = None
    fields: Sequence[str] | None = None
    max_tokens: int | None = None
    cursor: str | None = None
    page_size: int | None = None
    pages: bool = False
    is_done: bool = False
    schema: Mapping[str, Any] | None = None
    payload: Payload | None = None
    writer: Writer | None = None
    allowance: Allowance | None = None
    levers: Levers | None = None
    """What its caller can change about it, where that is known."""
    started: float = field(default_factory=time.perf_counter)
    fitted: Reply[Any] | None = field(default=None, init=False, repr=False, compare=False)
    """The reply that is fitted to it already, if there is one."""

    @property
    def is_plain(self) -> bool:
        """Whether nothing about this call changes its reply."""
        shaping = (self.response_mode, self.fields, self.max_tokens, self.cursor, self.page_size, self.allowance)
        return not self.pages and all(one is None for one in shaping)

    @property
    def is_paged(self) -> bool:
        """Whether the caller asked for a page."""
        return self.cursor is not None or self.page_size is not None

    def succeeds_despite(self, reply: Reply[Any], problem: Problem) -> bool:
        """Whether a reply is sent although its controls have failed; a cursor is never passed over."""
        return self.is_done and reply.problem is None and problem.code != "INVALID_CURSOR"

    def without_controls(self, reply: Reply[Any], problem: Problem) -> tuple[Reply[Any], Call]:
        """The reply with word that no control was used on it, and why; and the call without them."""
        notice = Notice(
            f"The request was carried out; its controls were not used: {problem.message}",
            "CONTROL_IGNORED",
            "warning",
            "Do not send the request again for this",
            {"code": problem.code},
        )
        plain: dict[str, Any] = dict.fromkeys(("response_mode", "fields", "max_tokens", "cursor", "page_size"))
        return reply.replace(notices=(*reply.notices, notice)), replace(self, **plain, is_done=False)

    def add_id_and_duration(self, reply: Reply[Any], elapsed: float) -> Reply[Any]:
        """The reply with the id and the duration of this call for an id made on the way and a time that nobody took."""
        changes: dict[str, Any] = {}
        own, cost = reply.request_id, reply.telemetry
        if own is not None and own != self.request_id and is_generated_id(own):
            changes["request_id"] = self.request_id
        if cost is not None and cost.duration_ms == 0:
            changes["telemetry"] = replace(cost, duration_ms=max(elapsed, 0.001))
        return reply.replace(**changes) if changes else reply

    def mark_fitted(self, reply: Reply[Any]) -> Reply[Any]:
        """The reply, noted as one that is fitted to this call."""
        object.__setattr__(self, "fitted", reply)
        return reply


LONGEST_ECHO: Final = 500
"""How many bytes of arguments are worth repeating to those who sent them."""


def echo_arguments(reply: Reply[Any], arguments: Mapping[str, Any]) -> Reply[Any]:
    """The reply with the arguments of its call, unless it says itself how they were understood."""
    echo = reply.query_echo or QueryEcho()
    if echo.normalized_input:
        return reply
    filters = echo.applied_filters or {}
    said = {name: value for name, value in arguments.items() if name != "body" and name not in filters}
    # in a query every parameter might have come several times; it is told as its caller wrote it
    said = {name: one[0] if isinstance(one, list) and len(one) == 1 else one for name, one in said.items()}
    if not is_plain(said, LONGEST_ECHO):
        return reply
    return reply.replace(query_echo=replace(echo, normalized_input=said))
