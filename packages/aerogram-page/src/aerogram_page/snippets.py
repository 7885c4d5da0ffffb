"""Snippets: a call as it is typed elsewhere: with curl, in Python, in TypeScript."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from aerogram._mcp.negotiation import EXTENSION
from aerogram.errors import NotFound
from aerogram_page import asks

__all__ = ["KEY_VARIABLE", "CallSnippets"]

KEY_VARIABLE: Final = "AEROGRAM_API_KEY"
_ASKED_FOR: Final = ("response-v2", "standard-v2", "knowledge-1.0")
"""Dialects that a client may ask a server's tools for."""
_FILTERS: Final = ("category", "path", "license", "after", "before")


_WHOLE: Final = (
    "    whole = client.whole(reply)  # with everything that was left out, checked against its hash\n"
    "    print(len(items_of(whole)), 'items in all')\n"
)
_PAGES: Final = (
    "    every = list(client.items({target!r}, {arguments!r}))  # page after page, to the end\n"
    "    print(len(every), 'items in all')\n"
)
_DOCUMENTS: Final = (
    "    documents = client.recover(reply)  # what the digest quotes, checked against its hash\n"
    "    print(len(documents), 'documents in all')\n"
)


@dataclass(frozen=True, slots=True)
class _HttpCall:
    """A call over HTTP: a path, what stands in the query, and a body."""

    path: str
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class CallSnippets:
    """A call to a server, in several languages."""

    ask: asks.Copy
    base: str
    mcp_url: str
    own_dialect: str
    """What the server's tools say to those who ask for nothing else."""
    with_key: bool = False

    def curl(self) -> str:
        """The call at a shell."""
        request = self._request()
        pairs = [(name, one) for name, value in request.query.items() for one in _each(value)]
        address = self.base + request.path
        whole = address if request.body is None else address + _query(pairs)
        lines = [f"curl {'-sG' if request.body is None else '-s'} {shlex.quote(whole)}"]
        if self.with_key:
            lines.append(f'-H "X-API-Key: ${KEY_VARIABLE}"')
        if request.body is None:
            lines += [f"--data-urlencode {shlex.quote(f'{name}={_word(value)}')}" for name, value in pairs]
        else:
            said = json.dumps(request.body, ensure_ascii=False)
            lines += ["-H 'Content-Type: application/json'", f"-d {shlex.quote(said)}"]
        return " \\\n  ".join(lines)

    def python(self) -> str:
        """The call with Aerogram's client, and everything that was left out of the reply."""
        request = self._request()
        headers = f', headers={{"X-API-Key": os.environ["{KEY_VARIABLE}"]}}' if self.with_key else ""
        target = request.path
        if request.body is not None:
            pairs = [(name, one) for name, value in request.query.items() for one in _each(value)]
            target = f"POST {request.path}{_query(pairs)}"
        arguments = dict(request.body if request.body is not None else request.query)
        rest = {"digest_document": _DOCUMENTS, "semantic_search": _PAGES}.get(self.ask.call.operation, _WHOLE)
        return (
            ("import os\n\n" if self.with_key else "")
            + "import httpx2\n\nfrom aerogram.client import Client, items_of\n\n"
            + f"with httpx2.Client(base_url={self.base!r}{headers}) as http:\n"
            + "    client = Client(http)\n"
            + f"    reply = client.call({target!r}, {arguments!r})\n"
            + "    for item in items_of(reply):\n        print(item)\n"
            + rest.format(target=target, arguments=arguments)
        )

    def typescript(self) -> str:
        """The call as a tool call, with the official TypeScript client."""
        arguments = {**self.ask.call.arguments, **self._shape_arguments()}
        options = ""
        if self.with_key:
            options = f', {{ requestInit: {{ headers: {{ "X-API-Key": process.env.{KEY_VARIABLE}! }} }} }}'
        said = json.dumps(arguments, ensure_ascii=False, indent=2).replace("\n", "\n  ")
        return (
            'import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";\n\n'
            'const client = new Client({ name: "example", version: "1.0.0" });\n'
            f"await client.connect(new StreamableHTTPClientTransport(new URL({json.dumps(self.mcp_url)}){options}));\n"
            "const result = await client.callTool({\n"
            f"  name: {json.dumps(self.ask.call.operation)},\n"
            f"  arguments: {said},\n"
            f"{self._dialect_meta()}"
            "});\n"
            "console.log(JSON.stringify(result.structuredContent, null, 2));\n"
            "await client.close();\n"
        )

    def _dialect_meta(self) -> str:
        """The dialect that is asked for, where it is not the one that the server speaks anyway."""
        if self.ask.dialect == self.own_dialect or self.ask.dialect not in _ASKED_FOR:
            return ""
        return f"  _meta: {json.dumps({EXTENSION: {'dialect': self.ask.dialect}})},\n"

    def _shape_arguments(self) -> dict[str, Any]:
        budget = {} if self.ask.budget is None else {"max_tokens": self.ask.budget}
        mode = {} if self.ask.call.operation == "digest_document" else {"response_mode": self.ask.mode}
        return {**mode, **budget}

    def _request(self) -> _HttpCall:
        given: dict[str, Any] = dict(self.ask.call.arguments)
        query = {**self._shape_arguments(), "envelope": "v2"}
        operation = self.ask.call.operation
        if operation == "semantic_search":
            filters = given.pop("filters", None)
            narrowed = (
                _without_empty({name: filters.get(name) for name in _FILTERS}) if isinstance(filters, dict) else {}
            )
            return _HttpCall("/v1/search", {"q": given.pop("query", ""), **_without_empty(given), **narrowed, **query})
        if operation == "find_vendor_info":
            return _HttpCall(f"/v1/vendors/{quote(str(given.get('vendor_name', '')), safe='')}", query)
        if operation == "get_chunks":
            ids = given.get("chunk_ids")
            first = ids[0] if isinstance(ids, list) and ids else ""
            return _HttpCall(f"/v1/chunks/{quote(str(first), safe='')}", query)
        if operation == "digest_document":
            return _HttpCall("/v1/digests", query, given)
        raise NotFound(f"There is no operation {operation!r} to call")


def _without_empty(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value not in (None, "", [])}


def _each(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _query(pairs: list[tuple[str, Any]]) -> str:
    said = "&".join(f"{quote(name)}={quote(_word(value), safe='')}" for name, value in pairs)
    return f"?{said}" if said else ""
