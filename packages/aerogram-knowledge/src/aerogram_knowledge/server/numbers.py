"""Numbers: whole numbers as callers write them, in a path, a query or the arguments of a tool.

Python and pydantic read `1_0`, ` 10`, `+10` and `True` as numbers too; whoever sends these means something else.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError

__all__ = ["DIGITS", "Whole"]

_DIGITS: Final = re.compile(r"0|-?[1-9][0-9]*")


def _check_spelling(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, str) and _DIGITS.fullmatch(value) is None):
        raise PydanticKnownError("int_parsing")
    return value


DIGITS: Final = BeforeValidator(_check_spelling)
"""To stand after the limits of a number; before them, they would be checked, and missing in what describes it."""
Whole: TypeAlias = Annotated[int, DIGITS]
