"""Targets: a reply from wherever it is: a file, standard input, an HTTP server's route, an MCP server's tool."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from aerogram.cli.terminal import read_input
from aerogram.content.jsontext import dumps, loads
from aerogram.errors import AerogramError, ContractError, MissingExtra, ReplyError
from aerogram_page.opening import OpenedReply, open_reply
from aerogram_page.paths import LARGEST_REPLY

__all__ = ["FetchError", "ReplyTarget", "fetch"]

PATIENCE: Final = 30.0
"""Seconds that a server has for its reply."""
MCP_PATH: Final = "/mcp"
_ACCEPTED: Final = "application/json, application/problem+json;q=0.9, */*;q=0.1"


class FetchError(AerogramError):
    """There is no reply to be had there, and why."""


@dataclass(frozen=True, slots=True)
class ReplyTarget:
    """Where a reply is: a file or `-`, an address, or a tool of a server at an address or behind a command."""

    target: str | None = None
    tool: str | None = None
    arguments: str = "{}"
    command: str | None = None
    headers: Sequence[str] = field(default_factory=tuple)

    @property
    def parts(self) -> SplitResult:
        """Of what the address is made, if it is one."""
        try:
            return urlsplit(self.target or "")
        except ValueError as error:
            raise FetchError(f"{self.target} is no address: {error}") from None

    @property
    def is_url(self) -> bool:
        """Whether it is an address."""
        return self.parts.scheme in ("http", "https")

    @property
    def is_mcp(self) -> bool:
        """Whether it is a tool of an MCP server."""
        if self.command is not None or self.tool is not None:
            return True
        return self.is_url and self.parts.path.rstrip("/").endswith(MCP_PATH)


def fetch(place: ReplyTarget) -> OpenedReply:
    """The reply at a place; what cannot be had or read is one sentence."""
    if place.is_mcp:
        raw, title = _from_mcp(place)
    elif place.is_url:
        raw, title = _from_http(place)
    else:
        raw, title = read_input(place.target), "standard input" if place.target in (None, "-") else str(place.target)
    try:
        return open_reply(raw, title=title)
    except ReplyError as error:
        raise FetchError(f"{title}: {error.message}") from None


# HTTP


def _from_http(place: ReplyTarget) -> tuple[bytes, str]:
    """The body that a route answers with, failures included; they are replies too."""
    url = place.target or ""
    asked = place.parts._replace(path=_escape(place.parts.path), query=_escape(place.parts.query))
    request = Request(asked.geturl(), headers={"Accept": _ACCEPTED, **_headers(place)})  # noqa: S310 - http and https
    try:
        with _answer(request) as response:
            raw, kind = response.read(LARGEST_REPLY + 1), response.headers.get_content_type()
    except HTTPException as error:
        raise FetchError(f"{url} does not speak HTTP: {type(error).__name__}") from None
    except (OSError, ValueError) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise FetchError(f"{url} cannot be reached: {reason}") from None
    if not kind.endswith(("/json", "+json")):
        raise FetchError(f"{url} answered with {kind}, and a reply is JSON")
    return raw, url


def _escape(part: str) -> str:
    """A part of an address that somebody has written as it is read, in letters of any language."""
    return quote(part, safe="%/:=&?~+!$,;'@()*[]")


class _Redirects(HTTPRedirectHandler):
    """Goes where an answer leads to; elsewhere, the headers that were given for a server are nobody's business."""

    def redirect_request(self, request: Request, *told: Any) -> Request | None:
        """The next request."""
        found = super().redirect_request(request, *told)
        if found is not None and urlsplit(found.full_url)[:2] != urlsplit(request.full_url)[:2]:
            found.headers = {"Accept": _ACCEPTED}
        return found


def _answer(request: Request) -> Any:
    try:
        return build_opener(_Redirects).open(request, timeout=PATIENCE)
    except HTTPError as error:
        return error


def _headers(place: ReplyTarget) -> dict[str, str]:
    found = {}
    for line in place.headers:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise FetchError(f"a header is written as 'Name: value', not {line!r}")
        found[name.strip()] = value.strip()
    return found


# MCP


def _from_mcp(place: ReplyTarget) -> tuple[bytes, str]:
    try:
        from fastmcp import Client
    except ImportError:
        raise MissingExtra("fastmcp", "fastmcp") from None
    arguments = _arguments(place.arguments)
    where = place.command or place.target or ""
    try:
        result = asyncio.run(_call_tool(Client(_transport(place)), place, arguments))
    except (AerogramError, KeyboardInterrupt):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a client runs into, there is no result
        raise FetchError(f"{where} gave no result: {_innermost(error)}") from None
    return result, f"{place.tool} of {where}"


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        said = loads(text)
    except ContractError as error:
        raise FetchError(f"--args: {error.rule}") from None
    if not isinstance(said, dict):
        raise FetchError('--args is a JSON object, such as \'{"query": "tokens"}\'')
    return said


def _transport(place: ReplyTarget) -> Any:
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    if place.command is not None:
        program, *arguments = shlex.split(place.command) or [""]
        return StdioTransport(program, arguments, keep_alive=False)
    if not place.is_url:
        raise FetchError("--tool needs the address of an MCP server, or --command to start one")
    return StreamableHttpTransport(place.target or "", headers=_headers(place))


async def _call_tool(client: Any, place: ReplyTarget, arguments: Mapping[str, Any]) -> bytes:
    async with asyncio.timeout(PATIENCE), client:
        if place.tool is None:
            names = ", ".join(sorted(tool.name for tool in await client.list_tools()))
            raise FetchError(f"choose a tool with --tool: {names}")
        result = await client.call_tool_mcp(place.tool, dict(arguments))
        return dumps(result.model_dump(mode="json", by_alias=True, exclude_none=True))


def _innermost(error: BaseException) -> str:
    """What went wrong, out of the groups and causes that a client wraps it in."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return str(error) or type(error).__name__
