"""Digests: sources condensed for a question, with evidence that can be checked.

read            any document → CanonicalText, the words that hashes and locators speak about
digest_text     canonical text and question → DigestPayload
Digester        the same with policy, cache, archive and a writer; `digest_many` for batches
verify          does a digest still say what its source says?
reply_of        a batch as a reply with fidelity and citations
"""

from aerogram.digest.batch import Batch, Outcome, digest_many
from aerogram.digest.cache import Cache
from aerogram.digest.digest import Digest, Digester, digest_text, query_hash
from aerogram.digest.draft import Assignment, Draft, UnusableDraft
from aerogram.digest.endpoint import EndpointWriter
from aerogram.digest.limits import Limits, UnreadableSource
from aerogram.digest.locator import InvalidLocator, Locator
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
from aerogram.digest.policy import Policy
from aerogram.digest.replies import citations_of, reply_of, source_of
from aerogram.digest.sources import read
from aerogram.digest.text import CanonicalText
from aerogram.digest.verify import Mismatch, Verification, fetch, keep, verify

__all__ = [
    "CONTENT_TYPE",
    "Assignment",
    "Batch",
    "Cache",
    "CanonicalText",
    "Digest",
    "DigestPayload",
    "Digester",
    "Draft",
    "EndpointWriter",
    "EvidenceSnippet",
    "InvalidLocator",
    "Limits",
    "Locator",
    "Mismatch",
    "Outcome",
    "Policy",
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
    "serialize_payload",
    "source_of",
    "validate_payload_dict",
    "verify",
]
