"""Machine: the rules of a server that is for those who sit at this machine, and whose callers have no keys."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OnThisMachine"]


@dataclass(frozen=True)
class OnThisMachine:
    """The rules."""

    host: str = "127.0.0.1"
    transport: str = "http"
    auth: str = "none"
    allowed_hosts: None = None
    allowed_origins: None = None
    max_body: int = 2**20
    timeout: float = 30.0
    max_connections: int = 1000
    grace: float = 1.0
