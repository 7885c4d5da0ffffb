"""The digest payload: what a digested source carries in place of its content, as its contract says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ModelWrapValidatorHandler, ValidationError, field_validator
from pydantic import model_validator as validates
from pydantic_core import InitErrorDetails, PydanticCustomError

from aerogram.digest.text import LOCATOR_PATTERN, InvalidLocator, Locator

CONTENT_TYPE: Literal["digest/v1"] = "digest/v1"
VERSION = "1.0"
MAX_SUMMARY = 2000
MAX_POINTS = 10
MAX_POINT = 500
MAX_SNIPPETS = 10
MAX_SNIPPET = 500
# every character of a full payload as an escape of twelve, and its frame
_LONGEST_JSON = 12 * (MAX_SUMMARY + MAX_POINTS * MAX_POINT + MAX_SNIPPETS * MAX_SNIPPET) + 8_000

Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=0)]


class _PayloadModel(BaseModel):
    """A model whose errors begin with the field they are about, as the contract words them."""

    model_config = ConfigDict(frozen=True)

    @validates(mode="wrap")
    @classmethod
    def _name_the_field(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            details = [_name_field(detail) for detail in error.errors(include_url=False, include_context=False)]
            raise ValidationError.from_exception_data(cls.__name__, details) from None


class EvidenceSnippet(_PayloadModel):
    """An exact quotation from the canonical text and the place where it stands."""

    text: str = Field(max_length=MAX_SNIPPET)
    locator: str = Field(pattern=LOCATOR_PATTERN)
    relevance_score: Share

    @field_validator("locator")
    @classmethod
    def _ends_after_it_starts(cls, locator: str) -> str:
        try:
            Locator.parse(locator)
        except InvalidLocator as error:
            raise PydanticCustomError("locator_order", f"locator: {error.message}") from None
        return locator


class DigestPayload(_PayloadModel):
    """A source condensed for one question: a summary, key points, and evidence that can be checked."""

    version: str = VERSION
    content_type: Literal["digest/v1"] = CONTENT_TYPE
    query_hash: str = Field(pattern=r"^[a-f0-9]{8}$")
    summary: str = Field(max_length=MAX_SUMMARY)
    key_points: list[str] = Field(max_length=MAX_POINTS)
    evidence_snippets: list[EvidenceSnippet] = Field(max_length=MAX_SNIPPETS)
    original_chars: Count
    digest_chars: Count
    compression_ratio: Share
    source_text_hash: str = Field(pattern=r"^sha256:[a-f0-9]{64}$")

    @field_validator("key_points")
    @classmethod
    def _points_keep_their_length(cls, points: list[str]) -> list[str]:
        for number, point in enumerate(points):
            if len(point) > MAX_POINT:
                raise PydanticCustomError(
                    "string_too_long", f"key_points[{number}]: exceeds maximum length of {MAX_POINT} characters"
                )
        return points

    def to_json(self) -> str:
        """The payload as a JSON string, for the `content` of a source."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, content: str | bytes) -> Self:
        """The payload that a source's `content` holds; `pydantic.ValidationError` if it holds none."""
        return cls.model_validate_json(content)

    @property
    def estimated_tokens(self) -> int:
        """What this costs a model to read, by the rule of four characters to a token."""
        return self.digest_chars // 4


def serialize_payload(payload: DigestPayload) -> str:
    """The payload as a JSON string."""
    return payload.to_json()


def deserialize_payload(content: str | bytes) -> DigestPayload:
    """The payload in a JSON string."""
    return DigestPayload.from_json(content)


def validate_payload_dict(data: Mapping[str, Any]) -> DigestPayload:
    """The payload in a mapping that came from elsewhere; `pydantic.ValidationError` for whatever holds none."""
    return DigestPayload.model_validate(dict(data) if isinstance(data, Mapping) else data)


def is_digest(source: Any) -> bool:
    """Whether a source says that its content is a digest: a mapping, an object, or the JSON of a payload."""
    if isinstance(source, (str, bytes)):
        return _parse_payload(source) is not None
    said = source.get("content_type") if isinstance(source, Mapping) else getattr(source, "content_type", None)
    return said == CONTENT_TYPE


def payload_of(source: Any) -> DigestPayload:
    """The payload of a source that is digested already, or the payload itself."""
    if isinstance(source, DigestPayload):
        return source
    if isinstance(source, (str, bytes)):
        return deserialize_payload(source)
    content = source.get("content") if isinstance(source, Mapping) else getattr(source, "content", None)
    if content is None and isinstance(source, Mapping):
        return validate_payload_dict(source)
    return validate_payload_dict(content) if isinstance(content, Mapping) else deserialize_payload(content or "")


def estimated_chars(source: Any) -> int:
    """How many characters a source costs its reader: of a digest what it says itself, else of its content."""
    if is_digest(source):
        return payload_of(source).digest_chars
    content = source.get("content") if isinstance(source, Mapping) else getattr(source, "content", source)
    return len(content) if isinstance(content, str) else 0


def _parse_payload(content: str | bytes) -> DigestPayload | None:
    """The payload that a text is, if it is one; a long text is not parsed to find that it is none."""
    mark: Any = "content_type" if isinstance(content, str) else b"content_type"
    if len(content) > _LONGEST_JSON or mark not in content:
        return None
    try:
        return deserialize_payload(content)
    except ValidationError:
        return None


def _name_field(detail: Any) -> InitErrorDetails:
    """One error whose message starts with its field's name, once."""
    where = detail["loc"]
    field = next((str(part) for part in reversed(where) if isinstance(part, str)), "")
    message = (
        detail["msg"]
        if not field or detail["msg"].startswith((f"{field}:", f"{field}["))
        else f"{field}: {detail['msg']}"
    )
    return InitErrorDetails(type=PydanticCustomError(detail["type"], message), loc=where, input=detail["input"])
