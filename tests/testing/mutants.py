"""Small servers that keep every promise but one: each is a real server with one defect, under the promise it breaks."""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import traceback
from typing import Annotated, Any

from fastapi import FastAPI
from fastmcp import FastMCP
from fastmcp.exceptions import NotFoundError
from fastmcp.server.middleware import Middleware
from fastmcp.tools import ToolResult
from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from pydantic import WithJsonSchema
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

import aerogram.fastapi
import aerogram.fastmcp
import aerogram.mcp
import aerogram.starlette
from aerogram import Contract, Fidelity, Page, Reply
from aerogram._http.negotiation import Versions
from aerogram.errors import InvalidCursor, NotFound, RateLimited

ROWS = [{"id": f"row-{number}", "text": "words " * 20} for number in range(1, 10)]
EXAMPLES = {"row": {"number": 3}}


# handlers


def rows() -> list[dict]:
    return ROWS


def row(number: int) -> dict:
    if not 1 <= number <= len(ROWS):
        raise NotFound(f"there is no row {number}", remediation="rows has the numbers")
    return ROWS[number - 1]


def paged(cursor: str | None = None) -> Reply:
    """Pages of a handler's own making."""
    if cursor is not None and not cursor.isdigit():
        raise InvalidCursor("not a cursor of this tool")
    start = int(cursor or 0)
    following = start + 4
    has_more = following < len(ROWS)
    return Reply.ok(ROWS[start:following], page=Page(str(following) if has_more else None, has_more, len(ROWS)))


def good_tools(framework=FastMCP, handlers=(rows, row, paged), **settings):
    """A server that keeps its promises."""
    server = framework("rows") if framework is FastMCP else framework("rows", log_level="CRITICAL")
    install = aerogram.fastmcp.install if framework is FastMCP else aerogram.mcp.install
    install(server, **{"dialect": "response-v2", "budget": 700, "controls": ["rows"], **settings})
    for handler in handlers:
        server.tool(handler) if framework is FastMCP else server.add_tool(handler)
    return server


def good_routes(more=(), contract=None, **settings):
    """An application that keeps its promises."""

    async def limited(request):
        raise RateLimited("one a minute", retry_after=30)

    routes = [
        Route("/rows", lambda _: ROWS),
        Route("/rows/{number:int}", lambda request: row(request.path_params["number"])),
        Route("/limited", limited),
        *more,
    ]
    app = Starlette(routes=routes)
    aerogram.starlette.install(app, contract or Contract(budget=700), Versions(controls=True, **settings))
    return app


# tools that break a promise


def tampered(edit, **settings):
    """A server behind whose back every result is edited: `edit(content text, structured, is_error)`."""

    class Tamper(Middleware):
        async def on_call_tool(self, context, call_next):
            result = await call_next(context)
            text, structured, is_error = edit(result.content[0].text, result.structured_content, result.is_error)
            return ToolResult(content=text, structured_content=structured, is_error=is_error, meta=result.meta)

    server = good_tools(**settings)
    server.add_middleware(Tamper())
    return server


def failures_are_not_marked():
    return tampered(lambda text, body, _: (text, body, False))


def errors_are_in_the_legacy_shape():
    return tampered(
        lambda text, body, failed: ("went wrong", {"detail": "went wrong"}, True) if failed else (text, body, False)
    )


def the_text_of_a_failure_says_nothing():
    return tampered(lambda text, body, failed: ("went wrong" if failed else text, body, failed))


def the_text_has_another_request_id():
    def edit(text, body, failed):
        said = json.loads(text)
        said["meta"]["request_id"] = "req_another"
        return json.dumps(said), body, failed

    return tampered(edit)


def replies_exceed_the_budget():
    def edit(text, body, failed):
        return json.dumps({**body, "meta": {**body["meta"], "padding": "words " * 800}}), body, failed

    return tampered(edit)


def a_cursor_leads_to_the_first_page_again():
    count = itertools.count(1)

    def again(cursor: str | None = None) -> Reply:
        if cursor is not None and not cursor.isdigit():
            raise InvalidCursor("not a cursor of this tool")
        return Reply.ok(ROWS[:3], page=Page(str(next(count)), True, len(ROWS)))

    return good_tools(handlers=[again])


def has_more_is_never_true():
    def first(cursor: str | None = None) -> Reply:
        return Reply.ok(ROWS[:3], page=Page(None, False, len(ROWS)))

    return good_tools(handlers=[first])


def an_item_is_lost_between_pages():
    def gap(cursor: str | None = None) -> Reply:
        if cursor not in (None, "5"):
            raise InvalidCursor("not a cursor of this tool")
        return Reply.ok(ROWS[5:], page=Page(None, False)) if cursor else Reply.ok(ROWS[:4], page=Page("5", True, 9))

    return good_tools(handlers=[gap])


def any_cursor_is_taken():
    def lenient(cursor: str | None = None) -> Reply:
        start = int(cursor) if cursor and cursor.isdigit() else 0
        return Reply.ok(ROWS[start : start + 5], page=Page("5" if not start else None, not start, len(ROWS)))

    return good_tools(handlers=[lenient])


def dropped_items_are_nowhere():
    def dropping() -> Reply:
        return Reply.ok(ROWS[:3], fidelity=Fidelity("partial", ("row-4", "row-5")))

    return good_tools(handlers=[dropping])


def the_archive_is_empty():
    def forgetting() -> Reply:
        fidelity = Fidelity("partial", ("row-4",), {"data": "sha256:" + "0" * 64})
        return Reply.ok(ROWS[:3], fidelity=fidelity)

    return good_tools(handlers=[forgetting])


def the_listed_schema_is_another():
    class Lists(Middleware):
        async def on_list_tools(self, context, call_next):
            schema = {"type": "object", "required": ["no_such_member"]}
            return [tool.model_copy(update={"output_schema": schema}) for tool in await call_next(context)]

    server = good_tools()
    server.add_middleware(Lists())
    return server


def the_order_of_tools_is_chance():
    shuffle = random.Random(1).sample

    class Shuffles(Middleware):
        async def on_list_tools(self, context, call_next):
            tools = list(await call_next(context))
            return shuffle(tools, len(tools))

    server = good_tools()
    server.add_middleware(Shuffles())
    return server


def a_trace_is_told():
    def telling(number: int) -> Reply:
        try:
            return Reply.ok({"share": 1 / number})
        except ZeroDivisionError:
            return Reply.failed("INTERNAL_ERROR", traceback.format_exc())

    return good_tools(handlers=[telling])


def an_unknown_tool_is_a_result():
    class Answers(Middleware):
        async def on_call_tool(self, context, call_next):
            try:
                return await call_next(context)
            except (MCPError, NotFoundError):
                return ToolResult(content="no such tool", is_error=True)

    server = good_tools()
    server.add_middleware(Answers())
    return server


def wrong_arguments_crash():
    def careless(number: Annotated[Any, WithJsonSchema({"type": "integer"})]) -> dict:
        return ROWS[number]

    return good_tools(handlers=[careless])


def a_resource_cannot_be_read():
    server = good_tools()

    @server.resource("data://broken")
    def broken() -> str:
        raise RuntimeError("not today")

    return server


def there_is_no_limit():
    return good_tools()


def a_tool_takes_for_ever():
    async def slow() -> str:
        await asyncio.sleep(60)

    return good_tools(handlers=[slow])


def the_sdk_has_another_schema():
    server = good_tools(MCPServer)
    server._tool_manager._service.listing.output_schema = lambda *_: {"type": "object", "required": ["no_such_member"]}
    return server


TOOLS = {
    failures_are_not_marked: ("mark", {}),
    errors_are_in_the_legacy_shape: ("envelope", {}),
    the_text_of_a_failure_says_nothing: ("channels", {}),
    the_text_has_another_request_id: ("request-id", {}),
    replies_exceed_the_budget: ("budget", {}),
    a_cursor_leads_to_the_first_page_again: ("pages", {}),
    has_more_is_never_true: ("pages", {}),
    an_item_is_lost_between_pages: ("pages", {}),
    any_cursor_is_taken: ("cursor", {}),
    dropped_items_are_nowhere: ("archive", {}),
    the_archive_is_empty: ("archive", {}),
    the_listed_schema_is_another: ("schema", {}),
    the_sdk_has_another_schema: ("schema", {}),
    the_order_of_tools_is_chance: ("listing", {}),
    a_trace_is_told: ("leak", {"faults": {"telling": {"number": 0}}}),
    an_unknown_tool_is_a_result: ("plane", {}),
    wrong_arguments_crash: ("validation", {"examples": {"careless": {"number": 1}}}),
    a_resource_cannot_be_read: ("resource", {}),
    there_is_no_limit: ("rate-limit", {"bursts": {"row": 3}}),
    a_tool_takes_for_ever: ("answer", {"patience": 1.0}),
}


# routes that break a promise


class Tamper:
    """Something in front of an application that edits its answers: `edit(status, headers, body)`."""

    def __init__(self, app, edit, request):
        self.app, self.edit, self.request = app, edit, request

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        held: dict[str, Any] = {}

        async def edited(message):
            if message["type"] == "http.response.start":
                held.update(message)
                return
            status, headers, body = self.edit(held["status"], dict(held["headers"]), message["body"])
            headers[b"content-length"] = b"%d" % len(body)
            await send({"type": "http.response.start", "status": status, "headers": list(headers.items())})
            await send({"type": "http.response.body", "body": body})

        await self.app(self.request(scope), receive, edited)


def fronted(edit=lambda *answer: answer, request=lambda scope: scope, app=None):
    app = app or good_routes()
    build = app.build_middleware_stack
    app.build_middleware_stack = lambda: Tamper(build(), edit, request)
    return app


def without(name):
    def edit(status, headers, body):
        return status, {key: value for key, value in headers.items() if key != name}, body

    return edit


def vary_is_missing():
    return fronted(without(b"vary"))


def retry_after_is_missing():
    return fronted(without(b"retry-after"))


def the_version_served_is_not_said():
    return fronted(without(b"x-envelope-version"))


def the_status_is_another():
    return fronted(lambda status, headers, body: (400 if status == 404 else status, headers, body))


def failures_have_status_200():
    return fronted(lambda status, headers, body: (200 if status == 404 else status, headers, body))


def the_request_id_is_another():
    return fronted(lambda status, headers, body: (status, {**headers, b"x-request-id": b"another"}, body))


def errors_stay_in_the_old_shape():
    def edit(status, headers, body):
        return status, headers, b'{"detail":"went wrong"}' if status >= 400 else body

    return fronted(edit)


def everything_is_acceptable():
    def request(scope):
        given = [(name, value) for name, value in scope["headers"] if value != b"image/x-aerogram-sweep"]
        return {**scope, "headers": given}

    return fronted(request=request)


def a_crash_is_told():
    def edit(status, headers, body):
        return (
            status,
            headers,
            body.replace(b"}", b',"trace":"File \\"db.py\\", line 7"}', 1) if status == 500 else body,
        )

    return fronted(edit)


def a_request_is_not_answered():
    def request(scope):
        if scope["method"] == "PUT" or scope["path"].endswith("nowhere"):
            raise ConnectionError("gone")
        return scope

    return fronted(request=request)


def a_route_fails():
    return good_routes()


def the_budget_does_not_hold():
    return good_routes(contract=Contract())


def pages_begin_again():
    app = good_routes()
    return fronted(request=lambda scope: {**scope, "query_string": b"envelope=v2&page_size=3"}, app=app)


def a_body_that_is_not_json_crashes():
    async def take(request):
        try:
            await request.json()
        except ValueError as error:
            raise RuntimeError("unexpected") from error
        return {"id": "taken"}

    return good_routes([Route("/taken", take, methods=["POST"])])


def the_document_describes_something_else():
    app = FastAPI()
    aerogram.fastapi.install(app)

    @app.get("/rows", responses={200: {"content": {"application/json": {"schema": {"type": "string"}}}}})
    def rows():
        return JSONResponse(ROWS)

    return app


ROUTES = {
    vary_is_missing: ("vary", {}),
    retry_after_is_missing: ("retry-after", {}),
    the_version_served_is_not_said: ("version", {}),
    the_status_is_another: ("status", {}),
    failures_have_status_200: ("mark", {}),
    the_request_id_is_another: ("request-id", {}),
    errors_stay_in_the_old_shape: ("envelope", {}),
    everything_is_acceptable: ("negotiation", {}),
    a_crash_is_told: ("leak", {}),
    a_request_is_not_answered: ("answer", {}),
    a_route_fails: ("example", {"examples": {"GET /rows/{number}": {"number": 99}}}),
    the_budget_does_not_hold: ("budget", {"contract": Contract(budget=200)}),
    pages_begin_again: ("pages", {}),
    a_body_that_is_not_json_crashes: ("validation", {}),
    the_document_describes_something_else: ("schema", {}),
}
