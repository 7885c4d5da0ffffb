"""response-v2, with its digest payloads: the helpers and models that the schema document and the user guide name."""

from aerogram.contract.flags import RESPONSE_CONTRACT_V2
from aerogram.dialects.response_v2 import ToolResponse, error_response, success_response
from aerogram.digest.payload import (
    DigestPayload,
    EvidenceSnippet,
    deserialize_payload,
    serialize_payload,
    validate_payload_dict,
)

__all__ = [
    "RESPONSE_CONTRACT_V2",
    "DigestPayload",
    "EvidenceSnippet",
    "ToolResponse",
    "deserialize_payload",
    "error_response",
    "serialize_payload",
    "success_response",
    "validate_payload_dict",
]
