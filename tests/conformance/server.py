"""The server that the conformance suite calls, on either framework, with Aerogram off or on.

python server.py fastmcp|sdk off|on     serves on a free port of 127.0.0.1 and prints the URL

The suite calls tools, resources and prompts by fixed names; handlers are written once and registered twice.
"""

import asyncio
import base64
import socket
import sys

import mcp_types as types
import uvicorn
from mcp.shared.exceptions import MCPError

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
SILENCE = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\x08\0data\0\0\0\0"


def text(words):
    return types.TextContent(type="text", text=words)


def image():
    return types.ImageContent(type="image", data=base64.b64encode(PIXEL).decode(), mime_type="image/png")


def embedded(uri, words, mime_type="text/plain"):
    contents = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


def elicitation(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(words):
    message = types.SamplingMessage(role="user", content=text(words))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))


def asking(state=None, **requests):
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def answered(context, *names):
    found = context.input_responses or {}
    return all(name in found for name in names)


def member(context, name, key):
    response = context.input_responses[name]
    return (getattr(response, "content", None) or {}).get(key)


NAME = {"name": {"type": "string"}}


# Tools that need nothing


def test_simple_text() -> str:
    return "This is a simple text response for testing."


def test_image_content() -> types.ImageContent:
    return image()


def test_audio_content() -> types.AudioContent:
    return types.AudioContent(type="audio", data=base64.b64encode(SILENCE).decode(), mime_type="audio/wav")


def test_embedded_resource() -> types.EmbeddedResource:
    return embedded("test://embedded-resource", "This is an embedded resource content.")


def test_multiple_content_types() -> list[types.TextContent | types.ImageContent | types.EmbeddedResource]:
    resource = embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json")
    return [text("Multiple content types test:"), image(), resource]


def test_error_handling() -> str:
    raise RuntimeError("This tool intentionally returns an error for testing")


PLAIN = (
    test_simple_text,
    test_image_content,
    test_audio_content,
    test_embedded_resource,
    test_multiple_content_types,
    test_error_handling,
)


def conversing(Context):  # noqa: N803 - a class, and a different one on each framework
    """Tools that report progress, log, or ask the client for something."""

    async def test_tool_with_progress(context: Context) -> str:
        for step in (0, 50, 100):
            await context.report_progress(step, 100)
            await asyncio.sleep(0.05)
        return "done"

    async def test_input_required_result_elicitation(context: Context) -> str | types.InputRequiredResult:
        if not answered(context, "user_name"):
            return asking(user_name=elicitation("What is your name?", **NAME))
        return f"Hello, {member(context, 'user_name', 'name')}!"

    async def test_input_required_result_sampling(context: Context) -> str | types.InputRequiredResult:
        if not answered(context, "capital_question"):
            return asking(capital_question=sampling("What is the capital of France?"))
        return "The capital is known."

    async def test_input_required_result_list_roots(context: Context) -> str | types.InputRequiredResult:
        if not answered(context, "client_roots"):
            return asking(client_roots=types.ListRootsRequest())
        return "The roots are known."

    async def test_input_required_result_request_state(context: Context) -> str | types.InputRequiredResult:
        if not answered(context, "confirm"):
            return asking("asked", confirm=elicitation("Please confirm", ok={"type": "boolean"}))
        return "state-ok" if context.request_state == "asked" else "no state"

    async def test_input_required_result_multiple_inputs(context: Context) -> str | types.InputRequiredResult:
        if not answered(context, "user_name", "greeting", "client_roots"):
            return asking(
                "asked",
                user_name=elicitation("What is your name?", **NAME),
                greeting=sampling("Generate a greeting"),
                client_roots=types.ListRootsRequest(),
            )
        return "All inputs are here."

    async def test_input_required_result_multi_round(context: Context) -> str | types.InputRequiredResult:
        if context.request_state == "second" and answered(context, "step2"):
            return "Both steps are done."
        if context.request_state == "first" and answered(context, "step1"):
            colour = {"color": {"type": "string"}}
            return asking("second", step2=elicitation("Step 2: What is your favorite color?", **colour))
        return asking("first", step1=elicitation("Step 1: What is your name?", **NAME))

    async def test_input_required_result_tampered_state(context: Context) -> str | types.InputRequiredResult:
        if not answered(context, "confirm"):
            return asking("sealed", confirm=elicitation("Please confirm", ok={"type": "boolean"}))
        return "untouched"

    async def test_input_required_result_capabilities(context: Context) -> str | types.InputRequiredResult:
        if context.input_responses:
            return "known"
        declared = context.request_context.session.client_capabilities
        requests = {}
        if declared is not None and declared.elicitation is not None:
            requests["user_name"] = elicitation("What is your name?", **NAME)
        if declared is not None and declared.sampling is not None:
            requests["capital_question"] = sampling("What is the capital of France?")
        return asking("asked", **requests)

    async def test_streaming_elicitation(context: Context) -> str | types.InputRequiredResult:
        return "known" if answered(context, "name") else asking(name=elicitation("What is your name?", **NAME))

    async def test_missing_capability(context: Context) -> str:
        declared = context.request_context.session.client_capabilities
        if declared is None or declared.sampling is None:
            needed = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is required", needed)
        return "sampled"

    async def test_logging_tool() -> str:
        return "nothing was logged, because nobody asked for it"

    return [handler for name, handler in locals().items() if name.startswith("test_")]


# Resources and prompts


def static_text() -> str:
    return "This is the content of the static text resource."


def static_binary() -> bytes:
    return PIXEL


def templated(id: str) -> str:
    return f'{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}'


def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


def register(server, context_class, add_tool, *, resource, prompt):
    for handler in (test_simple_prompt, test_prompt_with_arguments):
        handler.__doc__ = f"What the suite calls {handler.__name__}."
    for handler in (*PLAIN, *conversing(context_class)):
        add_tool(handler, description=f"What the suite calls {handler.__name__}.")
    resource("test://static-text", mime_type="text/plain")(static_text)
    resource("test://static-binary", mime_type="image/png")(static_binary)
    resource("test://template/{id}/data", mime_type="application/json")(templated)
    prompt(test_simple_prompt)
    prompt(test_prompt_with_arguments)
    return server


def fastmcp_app(*, on):
    from fastmcp import Context, FastMCP

    from aerogram.fastmcp import install

    server = FastMCP("conformance")
    if on:
        install(server, budget=8_000)
    register(server, Context, server.tool, resource=server.resource, prompt=server.prompt)
    return server.http_app(path="/mcp", host_origin_protection=True)


def sdk_app(*, on):
    from mcp.server.mcpserver import Context, MCPServer

    from aerogram.mcp import install

    server = MCPServer("conformance", log_level="CRITICAL")
    register(server, Context, server.add_tool, resource=server.resource, prompt=server.prompt())
    if on:
        install(server, budget=8_000)
    return server.streamable_http_app()


def main():
    framework, state = sys.argv[1:]
    app = {"fastmcp": fastmcp_app, "sdk": sdk_app}[framework](on=state == "on")
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="critical")).run(sockets=[listener])


if __name__ == "__main__":
    main()
