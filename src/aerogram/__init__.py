"""Aerogram: the response layer for MCP servers and agent-facing HTTP APIs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aerogram.codes import TABLE, WARNINGS, register_code
from aerogram.dialects import dialect, read, translate, validate
from aerogram.errors import AerogramError, ContractError, InvalidReply, ReplyError
from aerogram.faults import problem_of, register_exception
from aerogram.mint import new_request_id
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
)

if TYPE_CHECKING:
    from aerogram.archive import Archive
    from aerogram.contract import Call, Contract
    from aerogram.normalize import Output, ToolResult, normalize_resource_payload, normalize_tool_result, register
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

# these bring pydantic or a store with them, so they are loaded when they are first asked for
_LATER = {
    "Archive": "aerogram.archive",
    "Budget": "aerogram.tokens",
    "Call": "aerogram.contract",
    "Contract": "aerogram.contract",
    "Output": "aerogram.normalize",
    "ToolResult": "aerogram.normalize",
    "fit": "aerogram.shape.fit",
    "normalize_resource_payload": "aerogram.normalize",
    "normalize_tool_result": "aerogram.normalize",
    "register": "aerogram.normalize",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'aerogram' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_LATER[name]), name)
    return found
