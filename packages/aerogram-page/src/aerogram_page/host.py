"""Host: what a page is given by whoever mounts it. This one has opened replies and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, Literal, NamedTuple, TypeAlias, get_args

from aerogram._http.exchange import Scope
from aerogram.archive import Archive
from aerogram.channels import Policy
from aerogram.contract import Contract
from aerogram.errors import NotFound
from aerogram.limits import Allowance
from aerogram.reply import Reply
from aerogram.shape.modes import MODES, Mode
from aerogram_page.calls import CallHistory
from aerogram_page.live import Feed
from aerogram_page.opening import OpenedReply

__all__ = ["HTTP_DIALECT", "WAYS", "Delivery", "Host", "Way", "choose_delivery", "own_way", "standalone_host"]


@dataclass
class Host:
    """A contract by which replies are made, and what stands behind the page.

    A server's host says more: which operations can be called, who asks, who owns the server.
    """

    contract: Contract
    feed: Feed | None = None
    opened: OpenedReply | None = None
    """The reply that the page begins with, if it was started for one."""
    calls: CallHistory | None = None
    """The calls of a wrapped server, if it was started for those."""
    kind: ClassVar[str] = "inspect"
    mounted: Sequence[str] = field(default=(), kw_only=True)
    mcp_path: ClassVar[str | None] = None
    needs_key: bool = field(default=False, kw_only=True)
    is_charged: ClassVar[bool] = False
    """Whether each request is charged where the page is mounted, so that a call is a part of one."""
    digest_operation: ClassVar[str] = "digest_document"

    def principal(self, scope: Scope) -> str | None:  # noqa: ARG002 - a server looks at it
        """Who asks."""
        return None

    def is_owner(self, scope: Scope) -> bool:  # noqa: ARG002
        """Whether the caller may see what the server is doing for others."""
        return True

    async def take(self, operation: str, principal: str | None) -> Allowance | None:
        """Leave for a call of an operation, by the limits of whoever asks."""
        limits = self.contract.limits
        return None if limits is None else await limits.take(principal, operation, is_part=self.is_charged)

    async def forgive(self, allowance: Allowance | None) -> None:
        """Charge nothing for a call that failed."""
        if self.contract.limits is not None and allowance is not None:
            await self.contract.limits.settle(allowance, 0)

    def modes(self, operation: str) -> tuple[Mode, ...]:  # noqa: ARG002
        """The modes in which an operation answers."""
        return MODES

    async def answer(
        self,
        operation: str,
        arguments: Mapping[str, Any],  # noqa: ARG002
        mode: Mode,  # noqa: ARG002
        principal: str | None,  # noqa: ARG002
    ) -> Any:
        """The outcome of a call, before any shaping."""
        raise NotFound(
            f"There is no operation {operation[:80]!r} to call here",
            remediation="Open a reply, or start the page with `aerogram serve`",
        )

    async def generation(self) -> int:
        """A number that changes whenever what is answered may: what was answered before is then not shown again."""
        return 0

    async def parts(self) -> Sequence[str]:
        """What is mounted, without that of which there is nothing to show."""
        return self.mounted

    async def contents(self) -> Mapping[str, Any]:
        """What there is to find."""
        raise NotFound("There is no index here", remediation="Start the page with `aerogram serve`")

    async def suggestion(self) -> str:
        """A question that has an answer."""
        return ""

    async def digest(self, source_file: str, query: str, principal: str | None) -> Reply[Any]:  # noqa: ARG002
        """A document condensed for a question."""
        raise NotFound("There are no documents here", remediation="Start the page with `aerogram serve`")

    def clients(self, mcp_url: str) -> list[dict[str, str]]:  # noqa: ARG002
        """How MCP clients are told of the server: for each, its file and what stands in it."""
        return []


def standalone_host(**settings: Any) -> Host:
    """A host for opened replies; what is left out of them is kept in memory."""
    # there is no tool that gives content back here: the page itself does
    return Host(Contract(archive=Archive.in_memory(), retrieve=None, **settings))


Way: TypeAlias = Literal["mcp", "http"]
WAYS: Final[tuple[Way, ...]] = get_args(Way)
HTTP_DIALECT: Final = "standard-v2"
"""What a server says over HTTP to those who ask for its envelope."""


class Delivery(NamedTuple):
    """A way, and what it carries."""

    way: Way
    channels: Policy


def own_way(host: Host) -> Way:
    """The way of a host that nobody has chosen another for: a server's tools, or a body where there is no server."""
    return "http" if host.mcp_path is None else "mcp"


def choose_delivery(host: Host, way: Way | None = None, channels: Policy | None = None) -> Delivery:
    """How a reply of a host goes: by the way that is asked for, and with the channels of that way."""
    way = way or own_way(host)
    return Delivery(way, channels or (host.contract.channels if way == "mcp" else "text"))
