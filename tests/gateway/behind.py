"""The server behind a gateway: everything that the protocol has, in one era, on standard streams or over HTTP.

python behind.py legacy|modern|both [http|sse]
"""

from __future__ import annotations

import json
import os
import sys
import warnings

import anyio
import mcp_types as types
from mcp.server import runner
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

warnings.simplefilter("ignore")

ROWS = [{"id": f"row-{number}", "title": f"Row {number}", "text": "some words " * 20} for number in range(300)]
PIXEL = "iVBORw0KGgo="
OBJECT = {"type": "object"}
TOOLS = {
    "echo": {},
    "rows": {"output": {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}},
    "json_text": {},
    "prose": {},
    "blocks": {},
    "progress": {},
    "slow": {},
    "ask": {},
    "sample": {},
    "roots": {},
    "log": {},
    "change": {},
    "fail": {},
    "protocol_error": {},
    "die": {},
    "garbage": {},
    "half": {},
    "huge": {},
    "unsaid": {},
    "environment": {},
    "cancelled": {},
    "level": {},
}
STATE = {"cancelled": [], "level": None, "heard": []}
BUS = InMemorySubscriptionBus()


def text(words, **meta):
    return types.TextContent(type="text", text=words, **meta)


def said(*blocks, **more):
    return types.CallToolResult(content=list(blocks), **more)


async def list_tools(_, params):
    """Two pages, so that whoever lists has to turn them."""
    names = list(TOOLS)
    cursor = params.cursor if params else None
    page, following = (names[:5], "more") if cursor is None else (names[5:], None)
    tools = [
        types.Tool(
            name=name, input_schema=OBJECT, output_schema=TOOLS[name].get("output"), _meta={"com.example/n": name}
        )
        for name in page
    ]
    return types.ListToolsResult(tools=tools, next_cursor=following, ttl_ms=0, cache_scope="private")


async def call_tool(ctx, params):
    return await globals()["tool_" + params.name](ctx, params)


async def tool_echo(ctx, params):
    meta = {name: value for name, value in (ctx.meta or {}).items() if name.startswith("com.example/")}
    return said(text(json.dumps(params.arguments)), _meta={"com.example/echo": meta})


async def tool_rows(ctx, params):
    data = {"rows": ROWS}
    return said(text(json.dumps(data)), structured_content=data)


async def tool_json_text(ctx, params):
    return said(text(json.dumps(ROWS, indent=2)))


async def tool_prose(ctx, params):
    return said(text("A paragraph of prose.\n\n" * 3000))


async def tool_blocks(ctx, params):
    contents = types.TextResourceContents(uri="test://text", text="inside", mime_type="text/plain")
    return said(
        text("words", annotations=types.Annotations(audience=["user"], priority=0.5)),
        types.ImageContent(type="image", data=PIXEL, mime_type="image/png"),
        types.AudioContent(type="audio", data=PIXEL, mime_type="audio/wav"),
        types.ResourceLink(type="resource_link", uri="test://text", name="text"),
        types.EmbeddedResource(type="resource", resource=contents),
    )


async def tool_progress(ctx, params):
    for number in range(3):
        await ctx.session.report_progress(number + 1, 3, f"step {number + 1}")
    return said(text("done"))


async def tool_slow(ctx, params):
    try:
        await anyio.sleep((params.arguments or {}).get("seconds", 60))
    except anyio.get_cancelled_exc_class():
        STATE["cancelled"].append("slow")
        raise
    return said(text("slept"))


async def tool_cancelled(ctx, params):
    return said(text(json.dumps(STATE["cancelled"])))


def _is_modern(ctx):
    return ctx.protocol_version >= "2026"


def _answer(params, key, request, state="s1"):
    responses = params.input_responses or {}
    if key in responses:
        assert params.request_state == state
        return responses[key]
    return types.InputRequiredResult(input_requests={key: request}, request_state=state)


async def tool_ask(ctx, params):
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    if _is_modern(ctx):
        asked = types.ElicitRequest(params=types.ElicitRequestFormParams(message="Who?", requested_schema=schema))
        found = _answer(params, "who", asked)
    else:
        found = await ctx.session.elicit_form("Who?", schema)
    return found if isinstance(found, types.InputRequiredResult) else said(text(f"{found.action} {found.content}"))


async def tool_sample(ctx, params):
    messages = [types.SamplingMessage(role="user", content=text("Say something"))]
    if _is_modern(ctx):
        request = types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=messages, max_tokens=9))
        found = _answer(params, "say", request)
    else:
        found = await ctx.session.create_message(messages, max_tokens=9)
    return found if isinstance(found, types.InputRequiredResult) else said(text(found.content.text))


async def tool_roots(ctx, params):
    found = _answer(params, "roots", types.ListRootsRequest()) if _is_modern(ctx) else await ctx.session.list_roots()
    return found if isinstance(found, types.InputRequiredResult) else said(text(str(found.roots[0].uri)))


async def tool_log(ctx, params):
    await ctx.session.send_log_message("warning", {"words": "careful"}, "behind", related_request_id=ctx.request_id)
    return said(text("logged"))


async def tool_level(ctx, params):
    return said(text(json.dumps(STATE["level"])))


async def tool_change(ctx, params):
    if _is_modern(ctx):
        await BUS.publish(ToolsListChanged())
        await BUS.publish(ResourceUpdated("test://text"))
    else:
        await ctx.session.send_tool_list_changed()
        await ctx.session.send_resource_updated("test://text")
    return said(text("changed"))


async def tool_fail(ctx, params):
    return said(text("there is no such branch"), is_error=True)


async def tool_protocol_error(ctx, params):
    raise MCPError(4711, "its own error", {"why": "because"})


async def tool_die(ctx, params):
    os._exit(3)


async def tool_garbage(ctx, params):
    write("this is no message\n{also: not}\n")
    return said(text("after the garbage"))


async def tool_half(ctx, params):
    write('{"jsonrpc": "2.0", "id": 1, "resu')
    os._exit(3)


async def tool_huge(ctx, params):
    return said(text("x" * params.arguments["bytes"]))


async def tool_unsaid(ctx, params):
    await ctx.session._request_outbound.notify("notifications/com.example/unknown", {"a": 1})
    return said(text(json.dumps(STATE["heard"])))


async def tool_environment(ctx, params):
    return said(text(json.dumps(sorted(os.environ))))


def write(words):
    # the SDK points file 1 elsewhere while it serves; this is the wire itself
    os.write(WIRE, words.encode())


async def list_resources(_, params):
    found = [types.Resource(uri="test://text", name="text", mime_type="text/plain")]
    return types.ListResourcesResult(resources=found, ttl_ms=0, cache_scope="private")


async def list_templates(_, params):
    found = [types.ResourceTemplate(uri_template="test://{name}", name="any")]
    return types.ListResourceTemplatesResult(resource_templates=found, ttl_ms=0, cache_scope="private")


async def read_resource(_, params):
    if str(params.uri) != "test://text":
        raise MCPError(types.INVALID_PARAMS, "no such resource", {"uri": str(params.uri)})
    contents = [types.TextResourceContents(uri="test://text", text="password=hunter2hunter2", mime_type="text/plain")]
    return types.ReadResourceResult(contents=contents, ttl_ms=5, cache_scope="public")


async def nothing(_, params):
    return types.EmptyResult()


async def list_prompts(_, params):
    return types.ListPromptsResult(prompts=[types.Prompt(name="greet")], ttl_ms=0, cache_scope="private")


async def get_prompt(_, params):
    message = types.PromptMessage(role="user", content=text(f"Hello {(params.arguments or {}).get('name')}"))
    return types.GetPromptResult(messages=[message])


async def complete(_, params):
    return types.CompleteResult(completion=types.Completion(values=[params.argument.value + "ris"]))


async def set_level(_, params):
    STATE["level"] = params.level
    return types.EmptyResult()


class Anything(types.RequestParams):
    word: str = ""


async def unknown_request(_, params):
    return {"heard": params.word}


async def unknown_notification(_, params):
    STATE["heard"].append("notifications/com.example/hello")


def build():
    server = Server(
        "behind",
        version="7",
        instructions="Be kind.",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_subscribe_resource=nothing,
        on_unsubscribe_resource=nothing,
        on_subscriptions_listen=ListenHandler(BUS),
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_completion=complete,
        on_set_logging_level=set_level,
    )
    server.add_request_handler("com.example/unknown", Anything, unknown_request)
    server.add_notification_handler("notifications/com.example/hello", types.NotificationParams, unknown_notification)
    return server


async def serve_streams(server, era):
    loops = {"legacy": runner.serve_loop, "modern": runner._serve_modern_stream, "both": runner.serve_dual_era_loop}
    more = {"raise_exceptions": False} if era == "modern" else {}
    async with stdio_server() as (received, sent):
        await loops[era](server, received, sent, lifespan_state={}, **more)


def serve_http(server, kind):
    import socket

    import uvicorn
    from starlette.applications import Starlette
    from starlette.routing import Mount, Route

    if kind == "http":
        app = server.streamable_http_app()
    else:
        from mcp.server.sse import SseServerTransport

        transport = SseServerTransport("/messages/")

        async def connect(scope, receive, send):
            async with transport.connect_sse(scope, receive, send) as streams:
                await runner.serve_loop(server, *streams, lifespan_state={})

        class Connect:
            async def __call__(self, scope, receive, send):
                await connect(scope, receive, send)

        app = Starlette(
            routes=[Route("/sse", Connect(), methods=["GET"]), Mount("/messages/", transport.handle_post_message)]
        )
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/{'mcp' if kind == 'http' else 'sse'}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run([listener])


if __name__ == "__main__":
    WIRE = os.dup(1)
    if len(sys.argv) > 2:
        serve_http(build(), sys.argv[2])
    else:
        anyio.run(serve_streams, build(), sys.argv[1])
