"""Options: what the index says of its arguments, in the words of the command line.

A question takes `response_mode` and `filters`; its command takes `--mode`, and each filter by itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from aerogram.echo import renaming
from aerogram.reply import Reply

__all__ = ["in_options", "search_command"]

_OPTIONS: Final = {"response_mode": "--mode", "page_size": "--page-size", "max_tokens": "--budget"}
_ARGUMENTS: Final = {"vendor_name": "name"}
_ARGUMENT: Final = re.compile(rf"\b(?:{'|'.join(_OPTIONS)})\b")


def in_options(reply: Reply[Any]) -> Reply[Any]:
    """A reply whose advice names the options of a command, and whose echo its arguments."""
    notices = tuple(replace(one, suggestion=_said(one.suggestion)) for one in reply.notices)
    problem = reply.problem and replace(reply.problem, remediation=_said(reply.problem.remediation))
    return reply.replace(notices=notices, problem=problem, query_echo=renaming(reply.query_echo, _ARGUMENTS))


def search_command(arguments: Mapping[str, Any]) -> str:
    """The command that asks what a search with these arguments would."""
    words = ["aerogram", "search", str(arguments["query"])]
    for name, given in arguments.get("filters", {}).items():
        for value in given if isinstance(given, list) else [given]:
            words += [f"--{name}", str(value)]
    return shlex.join(words)


def _said(advice: str | None) -> str | None:
    return advice and _ARGUMENT.sub(lambda found: _OPTIONS[found[0]], advice)
