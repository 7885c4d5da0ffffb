"""Call: what is known about one request while it is answered."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from aerogram.channels import Payload, Sizer, Writer
from aerogram.contract import Contract
from aerogram.limits import Allowance
from aerogram.reply import Notice, Problem, Reply, new_request_id
from aerogram.shape.advice import Levers
from aerogram.shape.modes import RecordType
from aerogram.telemetry import Observation
from aerogram.tokens import Budget

__all__ = ["Call"]


@dataclass(frozen=True)
class Call:
    """What is known about one request: what it is promised, who asks for what, how the reply is to be shaped.

    A control that is None was not asked for. `schema` is the JSON Schema that the data must satisfy, `payload` how the
    data is sent when it is sent alone, `writer` what is sent in place of the data. `resource` tells
    operations of one name apart, such as routes, and `apart` the calls of callers whom nobody knows: a digest of
    what they show, or None where they share no answers. With `pages`, whoever asks could ask for a page, and is told
    that a whole answer is whole. With `is_done`, the call has changed something: no control turns its success into a
    failure. `notices` are what its caller is told besides.
    """

    contract: Contract = field(default_factory=Contract)
    _: KW_ONLY
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
    notices: tuple[Notice, ...] = ()
    observation: Observation | None = None
    """Where it is reported what was answered, if anybody observes."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def is_plain(self) -> bool:
        """Whether nothing about this call changes its reply."""
        shaping = (self.response_mode, self.fields, self.max_tokens, self.cursor, self.page_size, self.allowance)
        return not self.pages and not self.notices and all(one is None for one in shaping)

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

    @property
    def budget(self) -> Budget | None:
        """Its budget: the operation's or the server's, and the caller's if that is smaller."""
        held = self.contract.own_limit(self.operation)
        asked = None if self.max_tokens is None else Budget.of(self.max_tokens)
        return held.within(asked) if held and asked else held or asked

    @property
    def most_tokens(self) -> int | None:
        """The tokens that its server allows, where its caller has asked for more."""
        held = self.contract.own_limit(self.operation)
        is_less = held is not None and held.counter.unit == "tokens" and held.limit < (self.max_tokens or 0)
        return held.limit if held is not None and is_less else None

    @property
    def kind(self) -> RecordType | None:
        """The type of the records that its operation gives, where that is declared."""
        return self.contract.kinds.get(self.operation)

    @property
    def wants_whole_rows(self) -> bool:
        """Whether its rows are shown as they are or not at all: in the mode that was asked for, or by a schema."""
        is_closed = self.payload is not None and self.payload.is_closed
        return is_closed or self.response_mode is not None or self.fields is not None

    @property
    def is_ranked(self) -> bool:
        """Whether its rows come best first."""
        return self.operation in self.contract.ranked or (self.kind is not None and self.kind.is_ranked)

    def sizer(self, budget: Budget | None = None) -> Sizer:
        """What measures its replies as they are sent, by the counter of a budget."""
        contract = self.contract
        known = {} if budget is None else {"counter": budget.counter}
        read = None if budget is None or contract.count != "larger" else budget.reads
        return Sizer(
            contract.speaker,
            contract.channels,
            payload=self.payload,
            writer=self.writer,
            counted=contract.count if read is None or read == "either" else read,
            **known,
        )
