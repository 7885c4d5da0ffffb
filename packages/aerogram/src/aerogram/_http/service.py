"""Service: what a contract does for an HTTP exchange. It makes a `Call` of what the exchange knows.

Sizes hold where the envelope can say what is missing: a legacy answer that is the payload alone is not cut.
"""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import hashlib
import uuid
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from pydantic import BaseModel

from aerogram._http.exchange import SAFE_METHODS, Exchange, Scope
from aerogram._http.negotiation import CURRENT, LEGACY, Version, Versions
from aerogram._http.routes import CONTROLS
from aerogram.answer import UNOBSERVED, Call, ReplyDraft, finish, forgive, normalize, run
from aerogram.answer.retrieval import Retrieval, retrieve_for
from aerogram.content import canonical_json
from aerogram.contract import Contract
from aerogram.contract.callers import ADDRESS, names_caller
from aerogram.errors import ValidationFailed
from aerogram.normalize.signals import contain
from aerogram.reply import Reply, ResumablePage, new_request_id
from aerogram.sanitize import sanitize
from aerogram.shape.controls import Levers
from aerogram.shape.modes import allowed_mode

__all__ = ["HttpService", "Principal", "Uncacheable", "caller_key"]

_SPELT: Final = (uuid.UUID, dt.date, dt.time, dt.timedelta, decimal.Decimal, enum.Enum)
"""Values that a text tells apart, together with their type."""
_PLAIN: Final = (str, int, float, bool, type(None))


def caller_key(
    headers: Mapping[bytes, bytes], reads: Collection[bytes], values: Mapping[str, Any], *, anyone: bool
) -> str | None:
    """A digest of what tells a request from those of others, or "" when there is nothing; None if it cannot be told.

    `reads` are the headers that the handler is known to read, `values` what was found out for it before it runs.
    `anyone`: nobody has found out who asks, so that the credentials have to tell.
    """
    told = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers.items()
        if name in reads or (anyone and names_caller(name.decode("latin-1")))
    }
    if not told and not values:
        return ""
    try:
        return hashlib.sha256(canonical_json([told, _distinct_json(dict(values))])).hexdigest()
    except (TypeError, ValueError, RecursionError):
        return None


def _distinct_json(value: Any) -> Any:
    """A value as JSON in which no two values are the same; what may hide something from it is a TypeError."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, _SPELT):
        return [type(value).__qualname__, str(value)]
    if type(value) is dict:
        return {"dict": [[_distinct_json(name), _distinct_json(held)] for name, held in value.items()]}
    if type(value) in (list, tuple):
        return [type(value).__name__, [_distinct_json(one) for one in value]]
    if isinstance(value, BaseModel) and not value.__pydantic_private__:
        return [type(value).__qualname__, [[name, _distinct_json(held)] for name, held in value]]
    raise TypeError(f"{type(value).__qualname__} cannot be told apart")


Principal: TypeAlias = Callable[[Scope], str | None]
Refuses: TypeAlias = Callable[[Exception, Scope], bool]
_SIZES: Final = ("max_tokens", "page_size")
_CONTROLS: Final = frozenset(CONTROLS)
_MOST_PLACES: Final = 100
_NO_CONTROLS: Final[Mapping[str, Any]] = {}


class Uncacheable(NamedTuple):
    """What a handler returned, with more around it than a cache could give again, or how it refused to answer."""

    value: Any


class HttpService:
    """Lets a contract admit, run, answer and observe exchanges.

    `finished` is the type of a framework's responses, which are given on as they are and not kept in a cache.
    `refuses` tells exceptions that are answers from those that are failures, which an old answer may cover.
    """

    def __init__(
        self, contract: Contract, versions: Versions, principal: Principal, finished: type, refuses: Refuses
    ) -> None:
        self._principal = principal
        self._refuses = refuses
        self._finished = finished
        self._contract = contract
        spoken = replace(contract, channels="text")
        legacy, current = replace(spoken, dialect=versions.legacy), replace(spoken, dialect=versions.current)
        self._sized: dict[Version, Contract] = {LEGACY: legacy, CURRENT: current}
        self._legacy_has_size = not legacy.speaker.is_bare
        if not self._legacy_has_size:
            legacy = replace(legacy, budget=None, budgets={})
        self._contracts: dict[Version, Contract] = {LEGACY: legacy, CURRENT: current}
        self._problems = replace(spoken, dialect=versions.problem)
        """The contract of failures that are told as problem details, whichever envelope there would be."""
        self._elsewhere: dict[tuple[int, str], Contract] = {}
        """The same contracts for callers to whom the application stands below a prefix."""
        self.named = contract.envelope
        self.is_observed = contract.observer is not None
        self.has_cache = contract.cache is not None
        self.is_idle = contract.limits is None and not self.has_cache
        """Whether there is nothing to do around a handler."""
        self.clean = (lambda reply: sanitize(reply, *contract.sanitizers)) if contract.sanitizers else None
        """What takes out of a reply what may not be said, if the contract has such a thing."""

    def observe(self, operation: str, request_id: str, carrier: Mapping[str, str]) -> AbstractContextManager[Any]:
        """An exchange under observation; `carrier` may hold the caller's trace, which goes on in it."""
        observer = self._contract.observer
        return UNOBSERVED if observer is None else observer.observe(operation, request_id=request_id, carrier=carrier)

    def check(self, exchange: Exchange) -> None:
        """Raise what is wrong with the controls of a request, as far as it can be known before there is an answer."""
        asked = exchange.controls(exchange.terms.controls if exchange.terms else ())
        if "response_mode" in asked:
            allowed_mode(asked["response_mode"])
        for name in _SIZES:
            if asked.get(name) == 0:
                raise ValidationFailed(
                    f"{name} is at least 1", remediation=f"Send a larger {name}", details={"field": name, "received": 0}
                )

    async def admit(self, exchange: Exchange) -> None:
        """Take from the caller's limits, once; one that is used up raises what the caller must be told."""
        limits, terms = self._contract.limits, exchange.terms
        if limits is not None and exchange.allowance is None:
            operation = terms.operation if terms else exchange.scope["path"]
            exchange.allowance = await limits.take(self._principal(exchange.handler_scope), operation)

    async def run(self, exchange: Exchange, handler: Callable[[], Awaitable[Any]]) -> Any:
        """What the handler returns, or what the cache holds for it; only what changes nothing is kept."""
        call = self._cacheable_call(exchange)
        try:
            if call is None:
                outcome = await handler()
            else:
                heard = partial(self._run_handler, exchange.scope, handler)
                outcome = await run(call, heard, finished=(self._finished, Uncacheable))
        except BaseException as error:  # noqa: BLE001 - contained here, because a task of its own may run this
            outcome = error
        outcome = outcome.value if isinstance(outcome, Uncacheable) else outcome
        if isinstance(outcome, BaseException):
            raise contain(outcome)
        return outcome

    async def _run_handler(self, scope: Scope, handler: Callable[[], Awaitable[Any]]) -> Any:
        """What the handler returns; a refusal is an answer as well, which nothing old may take the place of."""
        try:
            return await handler()
        except Exception as error:
            if not self._refuses(error, scope):
                raise
            return Uncacheable(error)

    def _cacheable_call(self, exchange: Exchange) -> Call | None:
        """The call as a cache tells it from others; None where its answer is not to be kept."""
        terms = exchange.terms
        if (
            terms is None
            or terms.operation not in self._contract.cached
            or exchange.scope["method"] not in SAFE_METHODS
            or _has_body(exchange)
            or exchange.has_too_many_parameters
        ):
            return None
        call = self._call(self._contract, exchange)
        apart = caller_key(exchange.headers, terms.reads, exchange.found_out, anyone=call.principal is None)
        asked = f"{exchange.scope['method']} {_address_of(exchange)} {terms.source}"
        return None if apart is None else replace(call, apart=f"{apart} {asked}")

    async def forgive(self, exchange: Exchange) -> None:
        """Give back what a call has taken that failed without a reply of ours."""
        if exchange.allowance is not None:
            await forgive(Call(self._contract, allowance=exchange.allowance))

    async def answer(self, outcome: Any, exchange: Exchange, known: Mapping[str, Any]) -> ReplyDraft:
        """The finished reply to an outcome; `known` is what describes the call."""
        has_failed = isinstance(outcome, BaseException) or (isinstance(outcome, Reply) and outcome.problem is not None)
        try:
            who = self._principal(exchange.handler_scope)
        except Exception as error:  # noqa: BLE001 - every request gets an answer
            who = new_request_id()  # nobody, so that nobody is given what belongs to whoever it is
            outcome, has_failed = outcome if has_failed else error, True
        sized = self._sized if _says_loss(outcome, exchange) else self._contracts
        spoken = self._problems if has_failed and exchange.tells_problems else sized[exchange.version]
        contract = self._contract_for(spoken, exchange)
        shaping = _NO_CONTROLS if has_failed else self._shaping(contract, outcome, exchange)
        call = self._call_of(contract, who, exchange, known, shaping)
        done = await finish(call, await normalize(call, outcome))
        page = done.reply.page
        if page is not None and done.rows is not None and not page.has_more and not call.is_paged:
            return done._replace(reply=done.reply.replace(page=None))  # all of it, of which nobody asked for a page
        return done

    async def retrieve(
        self,
        exchange: Exchange,
        hash: str,
        *,
        ids: Sequence[str] = (),
        path: str = "",
        as_text: bool = False,
        offset: int = 0,
        query: str | None = None,
    ) -> ResumablePage:
        """What a reply left out; the query says how it is to be shown."""
        asked = exchange.controls(CONTROLS)
        size = asked.pop("max_tokens", None)
        wanted = Retrieval(hash, ids, path, as_text=as_text, offset=offset, query=query, splits_ids=True, **asked)
        return await self.fetch(wanted, exchange, size)

    async def fetch(self, wanted: Retrieval, exchange: Exchange, max_tokens: int | None) -> ResumablePage:
        """What a reply left out, as its handler returns it."""
        call = self._call(self._contract_for(self._contracts[exchange.version], exchange), exchange)
        return (await retrieve_for(call, wanted))._replace(max_tokens=max_tokens)

    def _contract_for(self, contract: Contract, exchange: Exchange) -> Contract:
        """A contract that names the address of what was left out as the caller of an exchange reaches it."""
        if not exchange.root or contract.archive is None or not (contract.retrieve or "").startswith("/"):
            return contract
        key = id(contract), exchange.prefix
        if key not in self._elsewhere:
            if len(self._elsewhere) >= _MOST_PLACES:
                self._elsewhere.clear()
            self._elsewhere[key] = replace(contract, retrieve=f"{exchange.prefix}{contract.retrieve}")
        return self._elsewhere[key]

    def _controls_of(self, exchange: Exchange) -> Mapping[str, Any]:
        terms = exchange.terms
        if terms is None or not terms.controls:
            return _NO_CONTROLS
        asked = exchange.controls(terms.controls)
        if exchange.version == LEGACY and not self._legacy_has_size:
            asked.pop("max_tokens", None)
            return asked
        is_read = exchange.scope["method"] in SAFE_METHODS and "cursor" in terms.controls
        if is_read and self._sized[exchange.version].speaker.has_pages:
            asked["pages"] = True
        size = self._contract.page_sizes.get(terms.operation)
        if size is not None and "page_size" in terms.controls and "cursor" not in asked:
            asked.setdefault("page_size", size)
        return asked

    def _shaping(self, contract: Contract, outcome: Any, exchange: Exchange) -> Mapping[str, Any]:
        """How a reply is to be shaped, and where that may fail, what its caller can change about it."""
        asked, terms = self._controls_of(exchange), exchange.terms
        if isinstance(outcome, ResumablePage):
            asked = _NO_CONTROLS if outcome.is_archived else asked  # its handler has used them
            asked = asked if outcome.max_tokens is None else {**asked, "max_tokens": outcome.max_tokens}
        most = None if terms is None else contract.own_limit(terms.operation)
        if terms is None or (most is None and "max_tokens" not in asked):
            return asked
        return {**asked, "levers": Levers.of(terms.parameters, dict(exchange.query), most)}

    def _call(self, contract: Contract, exchange: Exchange) -> Call:
        return self._call_of(contract, self._principal(exchange.handler_scope), exchange, exchange.describe_call())

    def _call_of(
        self,
        contract: Contract,
        who: str | None,
        exchange: Exchange,
        known: Mapping[str, Any],
        shaping: Mapping[str, Any] = _NO_CONTROLS,
    ) -> Call:
        is_done = not _CONTROLS.isdisjoint(shaping) and exchange.scope["method"] not in SAFE_METHODS
        home = self._sized[CURRENT].speaker
        return Call(
            contract,
            principal=who,
            is_done=is_done,
            may_repeat=exchange.may_repeat,
            home=home,
            **known,
            **shaping,
        )


def _says_loss(outcome: Any, exchange: Exchange) -> bool:
    """Whether a page of the handler may be cut in any shape, because its route says in fields what it lacks."""
    if exchange.terms is None or exchange.terms.shapes.headers is None or not isinstance(outcome, ResumablePage):
        return False
    return outcome.is_archived or outcome.max_tokens is not None


def _has_body(exchange: Exchange) -> bool:
    """Whether a request brings more than its address says, on which the answer may depend."""
    headers = exchange.headers
    return headers.get(b"content-length", b"0").strip() != b"0" or b"transfer-encoding" in headers


def _address_of(exchange: Exchange) -> str:
    """What a handler may make links of: under which address the caller knows the application."""
    told = (exchange.headers.get(name.encode(), b"").decode("latin-1") for name in ADDRESS)
    return "\n".join((exchange.scope.get("scheme", ""), exchange.root, *told))
