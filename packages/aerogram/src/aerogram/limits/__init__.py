"""Limits: how much a caller may ask for, and what is left of it."""

from aerogram.limits.fields import header_fields
from aerogram.limits.limits import (
    ALLOWED,
    Allowance,
    Burst,
    Limits,
    Plan,
    Quota,
    QuotaUsage,
    TooFast,
    UsedUp,
    parse_plan,
)

__all__ = [
    "ALLOWED",
    "Allowance",
    "Burst",
    "Limits",
    "Plan",
    "Quota",
    "QuotaUsage",
    "TooFast",
    "UsedUp",
    "header_fields",
    "parse_plan",
]
