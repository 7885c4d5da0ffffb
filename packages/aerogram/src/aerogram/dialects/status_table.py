"""The status table of standard-v2: what a body of each status has, as a check and as JSON Schema.

rich      five rows or more, or one record that is the whole answer
sparse    one to four rows
empty     no rows, and the reason
partial   any number of rows, and warnings that say what is missing
error     no rows, the error, and nothing to pay
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

RICH_ROWS: Final = 5


def broken_rule(body: Mapping[str, Any]) -> str | None:
    """The first rule of the table that a body breaks."""
    status, rows = body.get("status"), len(body.get("results") or ())
    error, meta = body.get("error"), body.get("meta") or {}
    rules = {
        "rich": (rows >= RICH_ROWS or rows == 1, f"rich has {RICH_ROWS} rows or more, or is a single record"),
        "sparse": (1 <= rows < RICH_ROWS, f"sparse has 1 to {RICH_ROWS - 1} rows"),
        "empty": (rows == 0 and bool(body.get("empty_reason")), "empty has no rows and an empty_reason"),
        "partial": (bool(body.get("warnings")), "partial has warnings that are not empty"),
        "error": (rows == 0, "error has no rows"),
    }
    kept, rule = rules.get(status or "", (True, ""))
    if not kept:
        return rule
    if (status == "error") != (error is not None):
        return "a body has an error object exactly when its status is error"
    return "an error has 0 billable_units" if error is not None and meta.get("billable_units") else None


def _when(status: str, *required: str, **members: Any) -> dict[str, Any]:
    rule = {"properties": members, "required": list(required)} if required else {"properties": members}
    return {"if": {"properties": {"status": {"const": status}}, "required": ["status"]}, "then": rule}


_NO_ROWS: Final = {"maxItems": 0}
_FREE: Final = {"properties": {"billable_units": {"const": 0}}}

SCHEMA_RULES: Final = (
    _when("rich", results={"anyOf": [{"minItems": RICH_ROWS}, {"minItems": 1, "maxItems": 1}]}),
    _when("sparse", results={"minItems": 1, "maxItems": RICH_ROWS - 1}),
    _when("empty", "empty_reason", results=_NO_ROWS, empty_reason={"type": "string"}),
    _when("partial", warnings={"minItems": 1}),
    {
        **_when("error", "error", results=_NO_ROWS, error={"type": "object"}, meta=_FREE),
        "else": {"properties": {"error": {"type": "null"}}},
    },
)
"""The same rules in the words of JSON Schema."""
