"""Profile: what is known about a tool before it is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aerogram.controls import Controls
from aerogram.wire.channels import Payload

__all__ = ["Profile"]


@dataclass(frozen=True)
class Profile:
    """What the service knows about a tool: its controls, its own output schema, and whether that is in a box.

    `is_content`: its handler says that it returns content or a finished result, which is sent as it is. `is_reply`: it
    says that it returns a `Reply`, which no framework knows how to convert. `parameters` are the properties of its
    inputs, the controls among them.
    """

    name: str
    controls: Controls = field(default_factory=Controls)
    own_schema: Mapping[str, Any] | None = None
    is_boxed: bool = False
    is_content: bool = False
    is_reply: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def payload(self) -> Payload:
        """How its payload is sent when it is sent alone."""
        return Payload(self.own_schema is not None, self.is_boxed)

    @property
    def data_schema(self) -> Mapping[str, Any] | None:
        """The schema of the payload itself."""
        if self.own_schema is None or not self.is_boxed:
            return self.own_schema
        inner = self.own_schema.get("properties", {}).get("result", {})
        return {**inner, "$defs": self.own_schema["$defs"]} if "$defs" in self.own_schema else inner
