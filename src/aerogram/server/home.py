"""Home: the page at `/`, for a person who opens the server's address in a browser."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from html import escape
from typing import Final

from fastapi import Request
from fastapi.responses import HTMLResponse

from aerogram.errors import Unavailable
from aerogram.server.library import Library

__all__ = ["home_page"]

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'"

_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Aerogram</title>
<style>
body {{ font: 1rem/1.5 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }}
code {{ background: #f2f2f2; padding: .1em .3em }}
</style>
<h1>Aerogram</h1>
<p>This server answers questions about a folder of documents: it searches them, gives passages back page by page,
and condenses whole documents, with sources.</p>
<form action="/v1/search"><label>Ask: <input name="q" size="40" maxlength="500" value="{query}"></label>
<input type="hidden" name="envelope" value="v2"><button>Search</button></form>
<ul>
<li>MCP clients connect to <code>{base}mcp</code></li>
<li>The HTTP API is described in <a href="/docs">/docs</a> and <a href="/openapi.json">/openapi.json</a></li>
<li>Is everything well? <a href="/v1/health/deep">/v1/health/deep</a></li>
</ul>
</html>
"""


def home_page(library: Library) -> Callable[[Request], Awaitable[HTMLResponse]]:
    """What answers with the page: what this is, where everything is, and a question that has an answer."""

    async def home(request: Request) -> HTMLResponse:
        try:
            question = await library.ask(lambda _: library.suggestion())
        except Unavailable:
            question = ""
        page = _PAGE.format(base=escape(str(request.base_url)), query=escape(question))
        return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY})

    return home
