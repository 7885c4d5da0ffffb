"""Ways: how a reply reaches whoever asked for it, and so what of it counts against a budget.

mcp     a tool result: every channel that the server's policy fills
http    a body: one channel, and what was left out is fetched from an address and not with a tool
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from aerogram.wire.channels import Policy
from aerogram_page.host import Host

__all__ = ["HTTP_DIALECT", "WAYS", "Carriage", "Way", "carriage", "own_way"]

Way: TypeAlias = Literal["mcp", "http"]
WAYS: Final[tuple[Way, ...]] = get_args(Way)
HTTP_DIALECT: Final = "standard-v2"
"""What a server says over HTTP to those who ask for its envelope."""


class Carriage(NamedTuple):
    """A way, and what it carries."""

    way: Way
    channels: Policy


def own_way(host: Host) -> Way:
    """The way of a host that nobody has chosen another for: a server's tools, or a body where there is no server."""
    return "http" if host.mcp_path is None else "mcp"


def carriage(host: Host, way: Way | None = None, channels: Policy | None = None) -> Carriage:
    """How a reply of a host goes: by the way that is asked for, and with the channels of that way."""
    way = way or own_way(host)
    return Carriage(way, channels or (host.contract.channels if way == "mcp" else "text"))
