"""Digests: sources condensed for a question, with evidence that can be checked.

read            any document → CanonicalText, the words that hashes and locators speak about
digest_text     canonical text and question → DigestPayload
Digester        the same with policy, cache, archive and a writer; `digest_many` for batches
verify          does a digest still say what its source says?
reply_of        a batch as a reply with fidelity and citations
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerogram.digest.batch import Batch, Outcome, digest_many
    from aerogram.digest.cache import DigestCache
    from aerogram.digest.digest import Digest, Digester, digest_text, query_hash
    from aerogram.digest.draft import Assignment, Draft, UnusableDraft
    from aerogram.digest.endpoint import EndpointWriter
    from aerogram.digest.limits import ReadLimits, UnreadableSource
    from aerogram.digest.payload import (
        CONTENT_TYPE,
        DigestPayload,
        EvidenceSnippet,
        deserialize_payload,
        estimated_chars,
        is_digest,
        payload_of,
        serialize_payload,
        validate_payload_dict,
    )
    from aerogram.digest.policy import DigestPolicy
    from aerogram.digest.replies import citations_of, reply_of, source_of
    from aerogram.digest.sources import read, reread
    from aerogram.digest.text import CanonicalText, InvalidLocator, Locator
    from aerogram.digest.verification import Mismatch, UnfoundSentence, Verification, fetch, keep, verify

__all__ = [
    "CONTENT_TYPE",
    "Assignment",
    "Batch",
    "CanonicalText",
    "Digest",
    "DigestCache",
    "DigestPayload",
    "DigestPolicy",
    "Digester",
    "Draft",
    "EndpointWriter",
    "EvidenceSnippet",
    "InvalidLocator",
    "Locator",
    "Mismatch",
    "Outcome",
    "ReadLimits",
    "UnfoundSentence",
    "UnreadableSource",
    "UnusableDraft",
    "Verification",
    "citations_of",
    "deserialize_payload",
    "digest_many",
    "digest_text",
    "estimated_chars",
    "fetch",
    "is_digest",
    "keep",
    "payload_of",
    "query_hash",
    "read",
    "reply_of",
    "reread",
    "serialize_payload",
    "source_of",
    "validate_payload_dict",
    "verify",
]

# the models bring pydantic with them, so everything is loaded when it is first asked for
_LATER = {
    "CONTENT_TYPE": "aerogram.digest.payload",
    "Assignment": "aerogram.digest.draft",
    "Batch": "aerogram.digest.batch",
    "DigestCache": "aerogram.digest.cache",
    "CanonicalText": "aerogram.digest.text",
    "Digest": "aerogram.digest.digest",
    "DigestPayload": "aerogram.digest.payload",
    "Digester": "aerogram.digest.digest",
    "Draft": "aerogram.digest.draft",
    "EndpointWriter": "aerogram.digest.endpoint",
    "EvidenceSnippet": "aerogram.digest.payload",
    "InvalidLocator": "aerogram.digest.text",
    "ReadLimits": "aerogram.digest.limits",
    "Locator": "aerogram.digest.text",
    "Mismatch": "aerogram.digest.verification",
    "Outcome": "aerogram.digest.batch",
    "DigestPolicy": "aerogram.digest.policy",
    "UnfoundSentence": "aerogram.digest.verification",
    "UnreadableSource": "aerogram.digest.limits",
    "UnusableDraft": "aerogram.digest.draft",
    "Verification": "aerogram.digest.verification",
    "citations_of": "aerogram.digest.replies",
    "deserialize_payload": "aerogram.digest.payload",
    "digest_many": "aerogram.digest.batch",
    "digest_text": "aerogram.digest.digest",
    "estimated_chars": "aerogram.digest.payload",
    "fetch": "aerogram.digest.verification",
    "is_digest": "aerogram.digest.payload",
    "keep": "aerogram.digest.verification",
    "payload_of": "aerogram.digest.payload",
    "query_hash": "aerogram.digest.digest",
    "read": "aerogram.digest.sources",
    "reply_of": "aerogram.digest.replies",
    "reread": "aerogram.digest.sources",
    "serialize_payload": "aerogram.digest.payload",
    "source_of": "aerogram.digest.replies",
    "validate_payload_dict": "aerogram.digest.payload",
    "verify": "aerogram.digest.verification",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'aerogram.digest' has no attribute {name!r}")
    globals()[name] = found = getattr(import_module(_LATER[name]), name)
    return found
