"""Tools: a sweep over an MCP server, in memory, in both eras of the protocol: every tool, every resource."""

from __future__ import annotations

import asyncio
import base64
import itertools
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, Final

from aerogram._mcp.negotiation import EXTENSION
from aerogram._mcp.results import INVALID_PARAMS, PREFIX
from aerogram.client.client import ARCHIVE
from aerogram.codes import TABLE
from aerogram.errors import MissingExtra
from aerogram.reply import Reply
from aerogram.shape.controls import CONTROLS
from aerogram.testing.inputs import example_of, number_near, spoil_arguments
from aerogram.testing.leaks import InjectedFault, leaks_in
from aerogram.testing.observation import UNREADABLE, Complaint
from aerogram.testing.report import Report
from aerogram.testing.results import ResultCheck
from aerogram.testing.settings import SweepSettings
from aerogram.testing.trails import LIMITED, PAGE_SIZES, FollowUpChecks
from aerogram.tokens import Budget

__all__ = ["sweep_server"]

ERAS: Final = {"2026-07-28": "auto", "2025-11-25": "legacy"}
UNKNOWN: Final = "aerogram_sweep_unknown"
NOWHERE: Final = "aerogram-sweep://nowhere"
FAULTY: Final = "aerogram_sweep_fault"


async def sweep_server(server: Any, settings: SweepSettings) -> Report:
    """Visit every tool and resource of a FastMCP server or one of the MCP SDK."""
    report, offer = Report(), await _offer(server, settings)
    for era, mode in ERAS.items():
        async with _session(server, mode, settings) as session:
            sweep = _ServerSweep(session, settings, report, era, offer)
            await sweep.run()
            async with _session(server, mode, settings) as again:
                await sweep.check_listings(again)
    await _probe_faults(server, settings, report, offer)
    return report


async def _offer(server: Any, settings: SweepSettings) -> Mapping[str, Any]:
    """What the extension of the server advertises, in the era that has extensions."""
    async with _session(server, "auto", settings) as session:
        return session.offer


# sessions


class _Session:
    """A client of either framework, in words that both have."""

    def __init__(self, client: Any, patience: float) -> None:
        self._client = client
        self._patience = patience
        self._is_fastmcp = hasattr(client, "call_tool_mcp")

    async def call(self, name: str, arguments: Mapping[str, Any], meta: Mapping[str, Any]) -> Any:
        call_tool = self._client.call_tool_mcp if self._is_fastmcp else self._client.call_tool
        async with asyncio.timeout(self._patience):
            return await call_tool(name, dict(arguments), meta=dict(meta))

    async def read(self, uri: str) -> Any:
        read_resource = self._client.read_resource_mcp if self._is_fastmcp else self._client.read_resource
        async with asyncio.timeout(self._patience):
            return await read_resource(uri)

    async def list_all(self, what: str) -> list[Any]:
        """All pages of a listing: tools, resources or resource_templates."""
        found = await getattr(self._client, f"list_{what}")()
        if isinstance(found, list):
            return found
        items = list(getattr(found, what))
        while found.next_cursor:
            found = await getattr(self._client, f"list_{what}")(cursor=found.next_cursor)
            items += getattr(found, what)
        return items

    @property
    def offer(self) -> Mapping[str, Any]:
        """What the extension of the server advertises."""
        capabilities = self._client.server_capabilities
        return ((capabilities.extensions if capabilities is not None else None) or {}).get(EXTENSION) or {}


@asynccontextmanager
async def _session(server: Any, mode: str, settings: SweepSettings) -> AsyncIterator[_Session]:
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(_client(server, mode))
        yield _Session(client, settings.patience)


def _client(server: Any, mode: str) -> Any:
    """The framework's own client, which remembers no listing."""
    try:
        if is_fastmcp(server):
            import fastmcp

            return fastmcp.Client(server, mode=mode, cache=False)
        import mcp
    except ImportError:
        raise MissingExtra("mcp", "mcp") from None
    return mcp.Client(server, mode=mode, cache=None)


def is_fastmcp(server: Any) -> bool:
    """Whether a server is one of FastMCP."""
    return any(cls.__module__.split(".")[0] == "fastmcp" for cls in type(server).__mro__)


# tools


class _ServerSweep:
    """One era of a server."""

    _numbers = itertools.count(1)

    def __init__(
        self, session: _Session, settings: SweepSettings, report: Report, era: str, offer: Mapping[str, Any]
    ) -> None:
        self.session, self.settings, self.report, self.era = session, settings, report, era
        self.dialects: list[Any] = [settings.dialect] if settings.dialect else list(offer.get("dialects", ()))
        said = offer.get("budget")
        self.advertised = Budget.of(f"{said['limit']} {said['unit']}") if said else None
        self.tools: dict[str, Any] = {}

    async def run(self) -> None:
        """Every tool, every resource, and what is not there."""
        self.tools = {tool.name: tool for tool in await self.session.list_all("tools")}
        self.report.ignore(self.settings.strays(self.tools, await self._addresses(), "tool or resource"))
        await self._probe_unknown()
        foreign: str | None = None
        for name in self.tools:
            if name not in self.settings.skip:
                foreign = await _Tool(self, name).visit(foreign) or foreign
        await self._visit_resources()

    async def check_listings(self, again: _Session) -> None:
        """What is listed stays the same, for another client too."""
        for what in ("tools", "resources", "resource_templates"):
            once, twice = await self.session.list_all(what), await again.list_all(what)
            self.report.visit(what, f"listing, {self.era}", f"{len(once)}", succeeded=True)
            if [one.model_dump() for one in once] != [one.model_dump() for one in twice]:
                names = [one.name for one in once], [one.name for one in twice]
                self.report.fail(what, f"listing, {self.era}", "listing", f"first {names[0]}, then {names[1]}")

    async def _probe_unknown(self) -> None:
        for what, ask in (
            ("unknown tool", self.session.call(UNKNOWN, {}, {})),
            ("unknown resource", self.session.read(NOWHERE)),
        ):
            error = await _catch(ask)
            self.report.visit(what, self.era, _describe(error), succeeded=True)
            if not hasattr(error, "error"):
                self.report.fail(what, self.era, "plane", f"the answer is no protocol error but {_describe(error)}")
            elif error.error.code != INVALID_PARAMS:
                self.report.fail(what, self.era, "plane", f"the error code is {error.error.code}, not {INVALID_PARAMS}")
            for leak in leaks_in(str(error), self.settings.secrets):
                self.report.fail(what, self.era, "leak", leak)

    # calls

    async def call(self, name: str, probe: str, arguments: Mapping[str, Any], dialect: Any = None) -> Reply[Any]:
        """One call, its answer checked; in the dialect that is asked for, if one is."""
        probe = f"{probe}, {self.era}"
        request_id = f"sweep-{next(self._numbers)}"
        meta: dict[str, Any] = {PREFIX + "request_id": request_id}
        if dialect is not None:
            meta[EXTENSION] = {"dialect": dialect}
        try:
            result = await self.session.call(name, arguments, meta)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is evidence
            self.report.visit(name, probe, _describe(error))
            self.report.fail(name, probe, *_blame(error))
            return Reply.failed("INTERNAL_ERROR", UNREADABLE)
        answer = ResultCheck(result, self.tools.get(name), dialect or (self.dialects[0] if self.dialects else None))
        outcome = answer.reply.problem.code if answer.reply.problem else "content" if answer.is_content else "ok"
        self.report.visit(name, probe, outcome, succeeded=answer.reply.problem is None)
        limit = self.settings.limit(name, arguments, self.advertised)
        for promise, evidence in answer.complaints(request_id, limit, self.settings):
            self.report.fail(name, probe, promise, evidence)
        return answer.reply

    async def send(self, target: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        """What a reply leads to: a tool, or a resource."""
        if "://" not in target:
            return await self.call(target, "retrieval", arguments)
        try:
            result = await self.session.read(target)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is evidence
            return Reply.failed("NOT_FOUND", _describe(error))
        contents = result.contents[0]
        return Reply(contents.text if hasattr(contents, "text") else base64.b64decode(contents.blob))

    # resources

    async def _addresses(self) -> set[str]:
        """The names under which resources can be spoken of."""
        templates = await self.session.list_all("resource_templates")
        patterns = {name for one in templates for name in (one.name, str(one.uri_template))}
        return patterns | {str(one.uri) for one in await self.session.list_all("resources")}

    async def _visit_resources(self) -> None:
        for resource in await self.session.list_all("resources"):
            await self._read(str(resource.uri), str(resource.uri), is_certain=True)
        for template in await self.session.list_all("resource_templates"):
            pattern = str(template.uri_template)
            given = self.settings.examples_of(template.name, pattern)
            for arguments in given or [{}]:
                uri = re.sub(r"\{[?&]?(\w+)[^}]*\}", lambda found: str(arguments.get(found[1], "example")), pattern)  # noqa: B023
                await self._read(pattern, uri, is_certain=bool(given))

    async def _read(self, name: str, uri: str, *, is_certain: bool) -> None:
        if name in self.settings.skip:
            return
        error = await _catch(self.session.read(uri))
        self.report.visit(name, f"reading, {self.era}", _describe(error), succeeded=error is None)
        if error is None:
            return
        data = getattr(getattr(error, "error", None), "data", None)
        if is_certain:
            self.report.fail(name, f"reading, {self.era}", "resource", f"it cannot be read: {_describe(error)}")
        elif not isinstance(data, Mapping) or data.get("code") not in TABLE:
            self.report.fail(
                name, f"reading, {self.era}", "resource", f"no code says what is wrong: {_describe(error)}"
            )
        for leak in leaks_in(f"{error} {data}", self.settings.secrets):
            self.report.fail(name, f"reading, {self.era}", "leak", leak)


class _Tool:
    """A tool, and an example of its arguments."""

    def __init__(self, sweep: _ServerSweep, name: str) -> None:
        self.sweep, self.name = sweep, name
        self.schema: Mapping[str, Any] = sweep.tools[name].input_schema
        self.given = sweep.settings.examples_of(name)
        self.arguments: Mapping[str, Any] = self.given[0] if self.given else example_of(self.schema)
        self.controls = frozenset(CONTROLS) & self.schema.get("properties", {}).keys()

    def page_size_near(self, wanted: int) -> int | None:
        """The nearest page size that the input schema allows."""
        return number_near(self.schema["properties"]["page_size"], wanted, PAGE_SIZES, self.schema)

    async def ask(self, probe: str, arguments: Mapping[str, Any]) -> Reply[Any]:
        """A call, its answer checked."""
        return await self.sweep.call(self.name, probe, arguments)

    async def visit(self, foreign: str | None) -> str | None:
        """Everything that can be asked of the tool; gives a cursor of its own, if it has any."""
        settings, report = self.sweep.settings, self.sweep.report
        contract = settings.contract
        trail = FollowUpChecks(self, report, self.sweep.send, ARCHIVE, contract.cursors if contract else None, foreign)
        for example in self.given or [self.arguments]:
            self.arguments = example
            first = await self.ask("example", example)
            if first.problem is None:
                await trail.follow(first)
            elif self.given and first.problem.kind != LIMITED:
                report.fail(self.name, "example", "example", f"{first.problem.code}: {first.problem.message}")
        for dialect in self.sweep.dialects[1:]:
            await self.sweep.call(self.name, f"in {dialect}", self.arguments, dialect)
        await self._probe_wrong_arguments()
        if self.name in settings.faults:
            await self._probe_marked_fault(settings.faults[self.name])
        await self._probe_burst(settings.bursts.get(self.name, 0))
        return trail.cursor

    async def _probe_wrong_arguments(self) -> None:
        for name, arguments in spoil_arguments(self.schema, self.arguments):
            probe = f"wrong {name}"
            problem = (await self.ask(probe, arguments)).problem
            if problem is None:
                self.sweep.report.fail(self.name, probe, "validation", f"{arguments} was taken")
            elif problem.kind == LIMITED:
                return
            elif problem.kind != "validation":
                self.sweep.report.fail(self.name, probe, "validation", f"{arguments} gives {problem.code}")
            elif name not in f"{problem.message} {problem.details} {problem.remediation}":
                self.sweep.report.fail(self.name, probe, "validation", f"nothing names {name}: {problem.message}")

    async def _probe_marked_fault(self, arguments: Mapping[str, Any]) -> None:
        reply = await self.ask("marked fault", arguments)
        if reply.problem is None:
            self.sweep.report.fail(self.name, "marked fault", "mark", f"{arguments} should fail, and did not")

    async def _probe_burst(self, most: int) -> None:
        for number in range(1, most + 1):
            problem = (await self.ask("burst", self.arguments)).problem
            if problem is not None and problem.kind == LIMITED:
                if problem.retry_after is None:
                    self.sweep.report.fail(self.name, "burst", "rate-limit", f"call {number} is refused without a time")
                return
        if most:
            self.sweep.report.fail(self.name, "burst", "rate-limit", f"{most} calls at once met no limit")


async def _catch(awaitable: Any) -> Any:
    try:
        await awaitable
    except Exception as error:  # noqa: BLE001 - whatever a client raises is evidence
        return error
    return None


def _describe(error: BaseException | None) -> str:
    if error is None:
        return "ok"
    held = getattr(error, "error", None)
    return f"protocol error {held.code}: {held.message}" if held is not None else f"{type(error).__name__}: {error}"


def _blame(error: Exception) -> Complaint:
    """Which promise an exception of a client breaks."""
    if hasattr(error, "error"):
        return "plane", _describe(error)
    is_about_schema = isinstance(error, RuntimeError) and "structured content" in str(error)
    return "schema" if is_about_schema else "answer", _describe(error)


# faults


async def _probe_faults(server: Any, settings: SweepSettings, report: Report, offer: Mapping[str, Any]) -> None:
    """A tool that raises what no caller should see, for as long as this takes."""
    remove = _inject(server)
    if remove is None:
        return
    try:
        for era, mode in ERAS.items():
            async with _session(server, mode, settings) as session:
                sweep = _ServerSweep(session, settings, report, era, offer)
                sweep.tools = {tool.name: tool for tool in await session.list_all("tools")}
                reply = await sweep.call(FAULTY, "injected fault", {})
                if reply.problem is not None and reply.problem.kind not in ("internal", LIMITED):
                    report.fail(FAULTY, "injected fault", "mark", f"a crash is {reply.problem.code}")
    finally:
        remove()


def _inject(server: Any) -> Any:
    def raise_fault() -> str:
        raise InjectedFault

    if is_fastmcp(server):
        from fastmcp.tools import Tool

        server.add_tool(Tool.from_function(raise_fault, name=FAULTY))
        return lambda: server.local_provider.remove_tool(FAULTY)
    if not hasattr(server, "remove_tool"):
        return None
    server.add_tool(raise_fault, FAULTY)
    return lambda: server.remove_tool(FAULTY)
