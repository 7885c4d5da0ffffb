"""Hosts: the servers and applications that a contract is installed on, known without importing their frameworks."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from aerogram.errors import InvalidReply

__all__ = ["Framework", "framework_of", "insist_on"]

Framework: TypeAlias = Literal["fastapi", "starlette", "fastmcp", "mcp"]

_CLASSES: Final[dict[tuple[str, str], Framework]] = {
    ("fastapi", "FastAPI"): "fastapi",
    ("starlette", "Starlette"): "starlette",
    ("fastmcp", "FastMCP"): "fastmcp",
    ("mcp", "MCPServer"): "mcp",
}
_WORDS: Final[dict[Framework, str]] = {
    "fastapi": "a FastAPI application",
    "starlette": "a Starlette application",
    "fastmcp": "a FastMCP server",
    "mcp": "an MCPServer of the MCP SDK",
}


def framework_of(host: Any) -> Framework | None:
    """The framework that a server or an application is made with."""
    kinds = ((cls.__module__.partition(".")[0], cls.__name__) for cls in type(host).__mro__)
    return next((_CLASSES[kind] for kind in kinds if kind in _CLASSES), None)


def insist_on(framework: Framework, host: Any) -> None:
    """Raise unless a host is one of this framework; says which module is for it."""
    found = framework_of(host)
    if found == framework:
        return
    taken = f"aerogram.{framework}.install takes {_WORDS[framework]}"
    if found is not None:
        raise InvalidReply(f"{taken}; for {_WORDS[found]} use aerogram.{found}.install")
    raise InvalidReply(f"{taken}, not {type(host).__name__}")
