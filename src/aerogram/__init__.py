"""Aerogram: the response layer for MCP servers and agent-facing HTTP APIs."""

from aerogram.codes import TABLE, WARNINGS, register_code
from aerogram.dialects import dialect, read, translate, validate
from aerogram.errors import AerogramError, ContractError, InvalidReply, ReplyError
from aerogram.faults import problem_of, register_exception
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

__version__ = "0.1.0"

__all__ = [
    "TABLE",
    "WARNINGS",
    "Action",
    "AerogramError",
    "Citation",
    "ContractError",
    "Fidelity",
    "InvalidReply",
    "Notice",
    "Page",
    "Problem",
    "QueryEcho",
    "RateLimit",
    "Reply",
    "ReplyError",
    "Telemetry",
    "dialect",
    "new_request_id",
    "problem_of",
    "read",
    "register_code",
    "register_exception",
    "translate",
    "validate",
]
