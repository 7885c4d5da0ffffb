"""Aerogram: the response layer for MCP servers and agent-facing HTTP APIs.

A name is loaded when it is first asked for, so that importing the package takes next to no time.
"""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it for true; `typing`, which has it, takes longer to load than all of this

if TYPE_CHECKING:
    from typing import Any

    from aerogram.answer import Call
    from aerogram.archive import Archive
    from aerogram.channels.reading import read
    from aerogram.codes import TABLE, WARNINGS, register_code
    from aerogram.contract import Contract
    from aerogram.dialects import dialect, translate, validate
    from aerogram.errors import AerogramError, ContractError, InvalidReply, ReplyError
    from aerogram.normalize import Output, ToolResult, normalize_resource_payload, normalize_tool_result, register
    from aerogram.problems import problem_of, register_exception
    from aerogram.reply import (
        Action,
        Citation,
        Fidelity,
        Notice,
        Page,
        Problem,
        QueryEcho,
        RateLimit,
        Reply,
        Telemetry,
        new_request_id,
    )
    from aerogram.shape.fit import fit
    from aerogram.tokens import Budget

__version__ = "0.1.0"

__all__ = [
    "TABLE",
    "WARNINGS",
    "Action",
    "AerogramError",
    "Archive",
    "Budget",
    "Call",
    "Citation",
    "Contract",
    "ContractError",
    "Fidelity",
    "InvalidReply",
    "Notice",
    "Output",
    "Page",
    "Problem",
    "QueryEcho",
    "RateLimit",
    "Reply",
    "ReplyError",
    "Telemetry",
    "ToolResult",
    "dialect",
    "fit",
    "new_request_id",
    "normalize_resource_payload",
    "normalize_tool_result",
    "problem_of",
    "read",
    "register",
    "register_code",
    "register_exception",
    "translate",
    "validate",
]

_HOMES = {
    "aerogram.archive": ("Archive",),
    "aerogram.codes": ("TABLE", "WARNINGS", "register_code"),
    "aerogram.answer": ("Call",),
    "aerogram.contract": ("Contract",),
    "aerogram.dialects": ("dialect", "translate", "validate"),
    "aerogram.errors": ("AerogramError", "ContractError", "InvalidReply", "ReplyError"),
    "aerogram.problems": ("problem_of", "register_exception"),
    "aerogram.normalize": (
        *("Output", "ToolResult", "register"),
        *("normalize_resource_payload", "normalize_tool_result"),
    ),
    "aerogram.channels.reading": ("read",),
    "aerogram.reply": (
        *("Action", "Citation", "Fidelity", "Notice", "Page", "Problem", "QueryEcho", "RateLimit", "Reply"),
        *("Telemetry", "new_request_id"),
    ),
    "aerogram.shape.fit": ("fit",),
    "aerogram.tokens": ("Budget",),
}
"""The modules that the names come from."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _HOME_OF:
        globals()[name] = found = getattr(import_module(_HOME_OF[name]), name)
        return found
    module = f"{__name__}.{name}"
    if module in _HOMES:  # `aerogram.errors.NotFound` needs no import of its own
        return import_module(module)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
