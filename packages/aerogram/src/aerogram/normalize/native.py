"""Native: the result that a framework itself makes of a value, where the framework knows the value.

The MCP frameworks write with pydantic. What pydantic knows has a form there, which typed clients rely on; what it does
not know they would show by its `str`, and for that the document of this package has a better form.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import GeneratorType
from typing import Any, Final

import pydantic_core

from aerogram.normalize.plain import is_plain
from aerogram.normalize.policy import Policy
from aerogram.normalize.stream import is_here
from aerogram.normalize.tool import is_pair, normalize_tool_result

__all__ = ["documented_result", "native_result"]

LARGEST: Final = 1 << 24
Members = dict[str, Any]


def native_result(convert: Callable[[Any], Any], value: Any, data: Any) -> Members | None:
    """The members of the framework's own result for a value whose JSON is `data`; none if it does not know it."""
    is_read = type(value) is GeneratorType and type(data) is list
    try:
        # a generator was read to make the data; another one gives the same
        result = convert((item for item in data) if is_read else value)
    except Exception:  # noqa: BLE001 - what it cannot write it does not know
        return None
    structured = result.structured_content
    is_same = structured is not None and structured in (data, {"result": data})
    if not (is_same or is_read or is_plain(value, LARGEST) or _is_known(value, data)):
        return None
    nothing = [{"type": "text", "text": "[]"}]  # for clients that pass on texts alone, and would show no answer
    found = {"content": nothing if data == [] and not result.content else result.content, "_meta": result.meta}
    return found if structured is None else {**found, "structuredContent": structured}


def documented_result(value: Any, data: Any, policy: Policy, returns: Any = None) -> Members | None:
    """The members of the documented result for a value whose JSON is `data`; none if the value cannot be read twice.

    `returns` is the annotation whose promise the result is to keep.
    """
    policy = replace(policy, spelling="documented")
    if type(value) is GeneratorType or not is_here(value):
        return _members(normalize_tool_result(data, policy=policy, returns=returns))
    result = normalize_tool_result(value, policy=policy, returns=returns)
    is_whole = is_pair(value) or not result.has_structured_content or result.data() == data
    return _members(result) if is_whole else None


def _members(result: Any) -> Members:
    wire: Members = result.to_wire()
    return wire


def _is_known(value: Any, data: Any) -> bool:
    """Whether pydantic has a form for a value and all that is in it, which can be sent."""
    try:
        pydantic_core.to_json(value)
        own = pydantic_core.to_jsonable_python(value)
        return not (_is_emptied(own, data) or _lacks_keys(own, value))
    except Exception:  # noqa: BLE001 - an unknown type, half a surrogate pair, or a value whose own methods raise
        return False


def _is_emptied(own: Any, data: Any) -> bool:
    """Whether there was an iterator in a value, which had been read already when the framework came to it."""
    if own == []:
        return bool(data)
    return any(map(_is_emptied, _parts(own), _parts(data)))


def _lacks_keys(own: Any, value: Any) -> bool:
    """Whether two keys of a value are spelled alike by the framework, which then has one of the two."""
    if isinstance(value, dict) and len(own) < len(value):
        return True
    return any(map(_lacks_keys, _parts(own), _parts(value)))


def _parts(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()
