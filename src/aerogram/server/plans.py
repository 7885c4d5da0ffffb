"""Plans as they are written in a setting or beside an API key: `60/minute, 5000/day, semantic_search=10/minute`."""

from __future__ import annotations

from functools import lru_cache

from aerogram.limits import Plan

__all__ = ["ALLOWED", "parse_plan"]

ALLOWED = "limits such as '60/minute, 5000/day', or for one tool 'semantic_search=10/minute'"


@lru_cache(maxsize=1024)
def parse_plan(text: str) -> Plan:
    """The plan that a text spells out; no text is no limit. `ValueError` when it cannot be read."""
    overall: list[str] = []
    per_tool: dict[str, list[str]] = {}
    for one in filter(None, map(str.strip, text.split(","))):
        tool, equals, limit = (part.strip() for part in one.rpartition("="))
        if equals and not tool:
            raise ValueError(f"{one!r} names no tool")
        (per_tool.setdefault(tool, []) if equals else overall).append(limit)
    return Plan.of(*overall, per_tool=per_tool)
