"""Asks: what the browser may ask of the page, as models that refuse everything else."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from aerogram.channels import Policy
from aerogram.shape.modes import Mode
from aerogram_page.host import Way

__all__ = ["Check", "Compare", "Copy", "Curve", "Operation", "Piece", "ReplySource", "ShowDigest", "Shrink"]

Hash = Annotated[str, Field(min_length=12, max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=100)]
Pointer = Annotated[str, Field(max_length=2_000)]
Budget = Annotated[int, Field(ge=1, le=100_000_000)] | Annotated[str, Field(min_length=1, max_length=60)]


class _Ask(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Operation(_Ask):
    """A call: an operation and its arguments."""

    operation: Name
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class ReplySource(_Ask):
    """What is shown: the answer to a call, an opened reply, or a failure."""

    call: Operation | None = None
    reply: Name | None = None
    failure: Name | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if sum(one is not None for one in (self.call, self.reply, self.failure)) != 1:
            raise ValueError("a source is a call, a reply or a failure, and only one of them")
        return self


class _OfSource(_Ask):
    """`channels` are those of the way, unless others are named."""

    source: ReplySource
    dialect: Name = "knowledge-1.0"
    channels: Policy | None = None


class Shrink(_OfSource):
    """A reply within a budget, as it goes one way; without one, as the host sends it."""

    mode: Mode = "full"
    way: Way | None = None
    budget: Budget | None = None


class Compare(_OfSource):
    """A reply in every dialect; `dialect` and `channels` are those of the MCP wire."""

    mode: Mode = "full"
    budget: Budget | None = None


class Curve(_OfSource):
    """What fits into which budget."""

    way: Way | None = None
    modes: list[Mode] | None = None


class Piece(_Ask):
    """One piece of what was left out, or the whole entry that holds it."""

    source: ReplySource
    archive: Hash
    pointer: Pointer | None = None
    hash: Hash | None = None
    mode: Mode = "full"


class ShowDigest(_Ask):
    """A document for a question, or a digest to be shown over its document."""

    source_file: Annotated[str, Field(min_length=1, max_length=1_000)] | None = None
    query: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    digest: dict[str, Any] | str | None = None
    text: str | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        is_asked = self.source_file is not None and self.query is not None
        if is_asked == (self.digest is not None):
            raise ValueError("give source_file and query, or a digest")
        return self


class Check(_Ask):
    """Something pasted, to be judged."""

    text: str
    dialect: Name | None = None
    document: str | None = None


class Copy(_Ask):
    """A call, to be typed elsewhere."""

    call: Operation
    mode: Mode = "metadata"
    budget: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    dialect: Name | None = None
