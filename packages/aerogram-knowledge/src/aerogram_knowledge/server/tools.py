"""Tools: the library over MCP: tools to search, read and digest it, its documents as resources, and two prompts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Annotated, Any, Final

from fastmcp import FastMCP
from fastmcp.prompts.base import Prompt
from fastmcp.server.middleware import Middleware
from fastmcp.server.transforms import Transform
from fastmcp.tools.base import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, ToolAnnotations
from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from aerogram.contract import Contract
from aerogram.digest.payload import CONTENT_TYPE as DIGEST
from aerogram.errors import NotFound
from aerogram.fastmcp import install
from aerogram.reply import Fidelity, Reply
from aerogram.shape.modes import Mode
from aerogram_knowledge.filters import LONGEST_PATH
from aerogram_knowledge.server.library import Library
from aerogram_knowledge.server.numbers import Whole

__all__ = ["LibraryTools", "build_tools"]

INSTRUCTIONS: Final = (
    "Search first: in full mode with fields source_file and chunk_text to read at once, in preview mode to choose. "
    "Read more with get_chunks, follow the cursor. digest_document condenses a whole document, with quotations. Cite "
    "source_file."
)
OFFERS: Final = ("knowledge-1.0", "response-v2", "standard-v2")
VENDOR_TOOL: Final = "find_vendor_info"
VENDOR_PROMPT: Final = "brief_on_vendor"
PAGE: Final = 500
"""So many names of files are one page of the list of documents."""
_OF_EVERY_DIGEST: Final = frozenset({"fetched_at", "fidelity", "provenance"})
"""What a source with a digest says to programs, which ask over HTTP."""
CONTROLLED: Final = ("semantic_search", "find_vendor_info", "get_chunks", "digest_document")
_IDLE: Final = (("default", None), ("default", ""), ("default", False), ("additionalProperties", True))
"""Members of a schema that say nothing."""


@with_config(ConfigDict(extra="forbid"))
class Where(TypedDict, total=False):
    """Which documents to look at."""

    category: list[str]
    path: list[str]
    license: list[str]
    after: Annotated[str, Field(description="YYYY-MM-DD")]
    before: str


Query = Annotated[str, Field(min_length=1, max_length=500, description="A question or words")]
Detail = Annotated[Mode, Field(description="How much to show")]
Fields = Annotated[list[str] | None, Field(description="Only these fields")]


def build_tools(
    library: Library,
    contract: Contract,
    *,
    offers: tuple[str, ...] = OFFERS,
    principal: Callable[[], str | None] = lambda: None,
) -> FastMCP[Any]:
    """An MCP server over the library whose replies keep the contract; `offers` are dialects a client may ask for."""
    server: FastMCP[Any] = FastMCP("aerogram", instructions=INSTRUCTIONS, version=version("aerogram"))
    tools = LibraryTools(library, contract, principal)
    hints = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for handler in (tools.semantic_search, tools.find_vendor_info, tools.get_chunks, tools.digest_document):
        server.add_tool(Tool.from_function(handler, output_schema=None, annotations=hints))
    controls = dict.fromkeys(CONTROLLED, ("max_tokens",))
    install(server, contract=contract, controls=controls, offers=offers, principal=principal)
    server.add_transform(_ShortToolList(library))
    _add_resources(server, library)
    _add_prompts(server)
    server.add_middleware(_PromptCheck())
    return server


class _PromptCheck(Middleware):
    """A prompt without one of its arguments is the caller's mistake."""

    async def on_get_prompt(self, context: Any, call_next: Any) -> Any:
        """Get a prompt, if the caller says what it needs."""
        asked = context.message
        server = context.fastmcp_context.fastmcp if context.fastmcp_context is not None else None
        prompt = await server.get_prompt(asked.name) if server is not None else None
        given = asked.arguments or {}
        wanted = (prompt.arguments if prompt is not None else None) or ()
        missing = [one.name for one in wanted if one.required and one.name not in given]
        if missing:
            raise MCPError(INVALID_PARAMS, f"{asked.name} needs {', '.join(missing)}")
        return await call_next(context)


class LibraryTools:
    """Where callers ask the library."""

    def __init__(self, library: Library, contract: Contract, principal: Callable[[], str | None]) -> None:
        self._library = library
        self._contract = contract
        self._principal = principal

    async def semantic_search(
        self,
        query: Query,
        response_mode: Detail = "metadata",
        page_size: Annotated[int, Field(strict=True, ge=1, le=50)] = 10,
        cursor: Annotated[str | None, Field(description="From the last page")] = None,
        fields: Fields = None,
        filters: Where | None = None,
    ) -> Any:
        """Find passages. To read, full with fields ["source_file", "chunk_text"] is leanest; to choose, preview."""
        return await self._library.search(
            query,
            response_mode=response_mode,
            page_size=page_size,
            cursor=cursor,
            fields=fields,
            filters=filters,
            principal=self._principal(),
        )

    async def find_vendor_info(
        self,
        vendor_name: Annotated[str, Field(min_length=1, max_length=200)],
        response_mode: Detail = "metadata",
        fields: Fields = None,
    ) -> Reply[Any]:
        """Say who a vendor is, and whom it has to do with."""
        return await self._library.vendor(vendor_name, response_mode=response_mode, fields=fields)

    async def get_chunks(
        self,
        chunk_ids: Annotated[list[Whole], Field(min_length=1, max_length=50)],
        response_mode: Detail = "full",
        fields: Fields = None,
    ) -> Reply[Any]:
        """Read passages by the ids from a search."""
        return await self._library.chunks(chunk_ids, response_mode=response_mode, fields=fields)

    async def digest_document(
        self,
        source_file: Annotated[str, Field(min_length=1, max_length=LONGEST_PATH, description="From a search")],
        query: Query,
    ) -> Reply[Any]:
        """Condense a document for a question, with quotations that can be checked."""
        return _leaner(await self._library.digest(source_file, query, self._contract.archive, self._principal()))


def _leaner(reply: Reply[Any]) -> Reply[Any]:
    """The reply with a digest, without what its content says already: where it quotes, and from which text.

    A model pays for every word of it, and what is digested has the hash by which its text is retrieved.
    """
    sources = reply.data.get("sources", ()) if isinstance(reply.data, dict) else ()
    if not sources or any(one.get("content_type") != DIGEST for one in sources):
        return reply
    lean = [{name: value for name, value in one.items() if name not in _OF_EVERY_DIGEST} for one in sources]
    level = None if reply.fidelity is None else Fidelity(reply.fidelity.level, reply.fidelity.dropped_ids)
    return reply.replace(data={**reply.data, "sources": lean}, citations=(), fidelity=level)


class _ShortToolList(Transform):
    """Lists the inputs of all tools in few words, because every conversation pays for the list.

    What tells of vendors is left out as long as there are none; it can still be called.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        has_vendors = await self._library.has_vendors()
        return [_shorten_tool(tool) for tool in tools if has_vendors or tool.name != VENDOR_TOOL]

    async def list_prompts(self, prompts: Sequence[Prompt]) -> Sequence[Prompt]:
        has_vendors = await self._library.has_vendors()
        return [one for one in prompts if has_vendors or one.name != VENDOR_PROMPT]


def _shorten_tool(tool: Tool) -> Tool:
    outline = _outline(tool.output_schema)
    copy = tool.model_copy(update={"parameters": _shorten_schema(tool.parameters), "output_schema": outline})
    vars(copy)["get_meta"] = lambda: tool.meta  # without the framework's empty list of tags
    return copy


def _outline(schema: dict[str, Any] | None) -> dict[str, Any] | None:
    """By which members a reply is known in each dialect that a client may ask for, and no more."""
    if schema is None:
        return None
    known = [{"required": one["required"][:2]} for one in schema.get("anyOf", [schema]) if "required" in one]
    return {"type": "object", "anyOf": known} if len(known) > 1 else {"type": "object", **dict(*known)}


def _shorten_schema(schema: Any) -> Any:
    """A schema in which an optional input has its one type, and no default that says nothing."""
    if isinstance(schema, list):
        return [_shorten_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if (name, value) not in _IDLE}
    options = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
    if len(options) == 1:
        del kept["anyOf"]
        kept |= options[0]
    if "max_tokens" in kept:
        kept["max_tokens"] = {**kept["max_tokens"], "description": "Largest reply"}
    return {name: _shorten_schema(value) for name, value in kept.items()}


def _add_resources(server: FastMCP[Any], library: Library) -> None:
    @server.resource("aerogram://documents", mime_type="application/json")
    async def documents() -> dict[str, Any]:
        """The first files, and the categories, languages, licences and vendors that there are."""
        return _page_of(await library.contents(), 1)

    @server.resource("aerogram://documents{?page}", mime_type="application/json")
    async def documents_page(page: int = 1) -> dict[str, Any]:
        """Further files, a page at a time, from 1."""
        return _page_of(await library.contents(), page)

    # these are names that the index has, not paths: nothing is opened by them, so that one like `c: notes.md` is none
    @server.resource("aerogram://documents/{path*}#{record*}", mime_type="text/plain", security=None)
    async def record(path: str, record: str) -> str:
        """The text of one record of a file, by its source_file."""
        return await library.text(f"{path}#{record}")

    @server.resource("aerogram://documents/{path*}", mime_type="text/plain", security=None)
    async def document(path: str) -> str:
        """The text of one document, by its source_file."""
        return await library.text(path)


def _page_of(contents: dict[str, Any], page: int) -> dict[str, Any]:
    """A page of the files; the first one has everything else too."""
    files = contents["files"]
    last = max(1, -(-len(files) // PAGE))
    if not 1 <= page <= last:
        raise NotFound(f"There is no page {page} of the documents", remediation=f"Ask for a page from 1 to {last}")
    shown = {"files": files[(page - 1) * PAGE : page * PAGE], "total_files": len(files)}
    onward = {"next": f"aerogram://documents?page={page + 1}"} if page < last else {}
    return {**(contents if page == 1 else {}), **shown, **onward}


def _add_prompts(server: FastMCP[Any]) -> None:
    @server.prompt
    def answer_from_documents(question: str) -> str:
        """Answer a question from the documents, with sources."""
        return (
            f"Answer from the documents alone: {question}\n\n"
            "1. Call semantic_search with response_mode preview.\n"
            "2. Read the two or three best passages with get_chunks.\n"
            "3. If they come from one long document, call digest_document on it with the question.\n"
            "4. Answer in your own words and name the source_file of every statement. Say so if nothing fits."
        )

    @server.prompt
    def brief_on_vendor(vendor: str) -> str:
        """Gather what is known about a vendor."""
        return (
            f"Write half a page about {vendor}.\n\n"
            "1. Call find_vendor_info; if the name is ambiguous, choose among the candidates it gives.\n"
            "2. Call semantic_search for its contracts, risks and prices, in metadata mode.\n"
            "3. Read what matters with get_chunks, and cite it."
        )
