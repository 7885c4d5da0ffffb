"""Resources of FastMCP: their values, normalised, and their faults, explained.

Reading has no result for failures, so each of them is a protocol error; its data has the code and the remediation.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from aerogram._mcp.results import resource_error
from aerogram._mcp.service import ARCHIVE_TEMPLATE, Service
from aerogram.answer.aside import run_by_size
from aerogram.channels import meta_of
from aerogram.dialects.bare import BareDialect
from aerogram.errors import MissingExtra, NotFound
from aerogram.fastmcp.handlers import NOTHING, Meant, fault, giving_own_contents, own_value
from aerogram.normalize.resource import ResourceResult, normalize_resource_payload
from aerogram.normalize.signals import is_signal
from aerogram.problems import problem_of
from aerogram.reply import Problem, Reply
from aerogram.sanitize import Cleaner, Step, sanitize_text
from aerogram.shape.pages import ResumablePage

try:
    import mcp_types
    from fastmcp.exceptions import FastMCPError, ResourceError
    from fastmcp.resources import DirectoryResource, FileResource, ResourceContent, ResourceTemplate
    from fastmcp.resources import ResourceResult as Read
    from fastmcp.server.dependencies import fastmcp_request_ctx
    from mcp.shared.exceptions import MCPError
except ImportError as error:
    raise MissingExtra("fastmcp", "fastmcp") from error

__all__ = ["archive_template", "reading", "unreadable"]

_ASIDE = BareDialect()
_ARCHIVE = ARCHIVE_TEMPLATE.partition("{")[0]


def _public_meta(meta: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """What is said of a component, without FastMCP's own notes; FastMCP 4.0 has no function for it."""
    told = dict(meta or {})
    notes = told.pop("fastmcp", None)
    if isinstance(notes, Mapping):
        public = {name: value for name, value in notes.items() if not name.startswith("_")}
        told |= {"fastmcp": public} if public else {}
    return told or None


class _Read(Read):
    """Contents that are normalised already, with how long they may be kept."""

    sent: Any
    uri: str

    def __init__(self, sent: mcp_types.ReadResourceResult, uri: str) -> None:
        contents = [ResourceContent(_payload(one), mime_type=one.mime_type, meta=one.meta) for one in sent.contents]
        super(Read, self).__init__(contents=contents, meta=sent.meta, sent=sent, uri=uri)

    def to_mcp_result(self, uri: Any) -> mcp_types.ReadResourceResult:
        """What is sent; contents that have the URI of the resource get the one that was asked for."""
        found: mcp_types.ReadResourceResult = self.sent
        if str(uri) == self.uri:
            return found
        contents = [
            one.model_copy(update={"uri": str(uri)}) if str(one.uri) == self.uri else one for one in found.contents
        ]
        return found.model_copy(update={"contents": contents})


def _payload(contents: Any) -> str | bytes:
    found: str | bytes = contents.text if hasattr(contents, "text") else base64.b64decode(contents.blob)
    return found


def reading(component: Any, uri_of: Callable[..., str], sanitizers: Sequence[Step] = ()) -> Any:
    """A copy of a resource, or of a template for some, whose values are normalised and whose faults are explained."""
    copy, own = component.model_copy(update={}), giving_own_contents(component)

    async def read(*given: Any) -> Any:
        uri = uri_of(*given)
        try:
            outcome = await own._read(*given)
            value = own_value(outcome)
            found = outcome if value is NOTHING else _contents(component, uri, value)
            # what is archived was made clean before
            if not sanitizers or uri.startswith(_ARCHIVE):
                return found
            size = sum(len(one.content) for one in found.contents) if isinstance(found, Read) else 0
            return await run_by_size("clean", size, _clean, found, sanitizers)
        except BaseException as error:
            error = _of_a_file(error, component)
            is_framework_s = isinstance(error, (MCPError, FastMCPError)) and not isinstance(error, Meant)
            if is_framework_s or is_signal(error):
                raise
            meant = fault(error, component) if isinstance(error, Exception) else error
            raise unreadable(problem_of(meant), uri) from error

    vars(copy)["_read"] = read
    return copy


def _of_a_file(error: BaseException, component: Any) -> BaseException:
    """What a file that cannot be read means; FastMCP's words for it have a path of the server in them."""
    if not isinstance(component, (FileResource, DirectoryResource)) or not isinstance(error, ResourceError):
        return error
    if isinstance(error.__cause__, FileNotFoundError):
        return NotFound("What this resource shows is not there at the moment")
    return error.__cause__ or error


def _clean(found: Any, steps: Sequence[Step]) -> Any:
    """Contents whose texts say nothing that they may not."""
    if isinstance(found, _Read):
        sent = [
            one.model_copy(update={"text": sanitize_text(one.text, *steps)}) if hasattr(one, "text") else one
            for one in found.sent.contents
        ]
        told = found.sent.model_copy(update={"contents": sent})
        return _Read(Cleaner(steps).clean(told, ("text", "uri")), found.uri)
    if not isinstance(found, Read):
        return found
    contents = [
        one.model_copy(update={"content": sanitize_text(one.content, *steps)}) if isinstance(one.content, str) else one
        for one in found.contents
    ]
    return found.model_copy(update={"contents": contents})


def unreadable(problem: Problem, uri: str) -> MCPError:
    """The protocol error for a resource that cannot be read."""
    return MCPError(**resource_error(problem, _find_asked_uri(uri)))


def _find_asked_uri(uri: str) -> str:
    """The URI as the client has it, which where a server is mounted is not the one that the server has."""
    request = fastmcp_request_ctx.get()
    params = None if request is None else request._srctx.params
    asked = params.get("uri") if isinstance(params, Mapping) else None
    return str(asked or uri)


def _contents(component: Any, uri: str, value: Any) -> Read:
    """The contents of a resource, which of a reply are its data."""
    said = value.reply if isinstance(value, ResumablePage) else value
    if not isinstance(said, Reply):
        return _write_contents(component, uri, value)
    if said.problem is not None:
        raise unreadable(said.problem, uri)
    found, meta = _write_contents(component, uri, said.data), meta_of(said, _ASIDE)
    if not meta:
        return found
    if isinstance(found, _Read):
        found = _Read(found.sent.model_copy(update={"meta": {**(found.meta or {}), **meta}}), uri)
    return found.model_copy(update={"meta": {**(found.meta or {}), **meta}})


def _write_contents(component: Any, uri: str, value: Any) -> Read:
    """The contents for a value; FastMCP's own way for the values that it gets right."""
    is_items = isinstance(value, list) and bool(value) and isinstance(value[0], ResourceContent)
    if isinstance(value, (str, Read, mcp_types.InputRequiredResult)) or is_items:
        found: Read = component.convert_result(value)
        return found
    declared = None if component.mime_type == "text/plain" else component.mime_type
    result = normalize_resource_payload(uri, declared, value)
    sent = result.to_mcp() if isinstance(result, ResourceResult) else result
    meta = _public_meta(component.meta)
    if meta:
        contents = [one.model_copy(update={"meta": {**meta, **(one.meta or {})}}) for one in sent.contents]
        sent = sent.model_copy(update={"contents": contents})
    return _Read(sent, uri)


def archive_template(
    service: Service, principal: Callable[[], str | None], elsewhere: Callable[[str], Awaitable[Any]]
) -> ResourceTemplate:
    """The archive as a resource template: what replies left out, here or elsewhere, and how long it may be kept."""

    async def read_archived(hash: str) -> Any:
        uri = ARCHIVE_TEMPLATE.format(hash=hash)
        try:
            body, mime_type, ttl_ms = await service.read_archive(hash, principal())
        except NotFound:
            found = await elsewhere(uri)
            if found is None:
                raise
            return found
        return _Read(normalize_resource_payload(uri, mime_type, body, ttl_ms=ttl_ms).to_mcp(), uri)

    return ResourceTemplate.from_function(
        read_archived, ARCHIVE_TEMPLATE, name="archive", description="What a reply left out, by its hash"
    )
