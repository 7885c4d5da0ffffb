"""Sanitising: secrets taken out of what is sent, and text of strangers fenced in. Both are opt-in.

Members that are called like a secret are known by their name, so that their values are never repeated.
"""

from aerogram.sanitize.fence import FENCED, Fence
from aerogram.sanitize.kinds import SECRET_KINDS, SecretKind
from aerogram.sanitize.messages import Cleaner, sanitize_blocks, sanitize_contents, sanitize_result
from aerogram.sanitize.names import SECRET_NAMES, is_secret_name, may_be_secret
from aerogram.sanitize.redaction import Redaction
from aerogram.sanitize.steps import Step, for_words, sanitize, sanitize_text, sanitize_value

__all__ = [
    "FENCED",
    "SECRET_KINDS",
    "SECRET_NAMES",
    "Cleaner",
    "Fence",
    "Redaction",
    "SecretKind",
    "Step",
    "for_words",
    "is_secret_name",
    "may_be_secret",
    "sanitize",
    "sanitize_blocks",
    "sanitize_contents",
    "sanitize_result",
    "sanitize_text",
    "sanitize_value",
]
