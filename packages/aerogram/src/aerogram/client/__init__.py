"""The client: calls a server, reads its replies, and follows them to their pages and to what they left out."""

from aerogram.client.calls import FollowedTooFar, Reach
from aerogram.client.client import AsyncClient, Client, Retries, advised_wait
from aerogram.client.reading import items_of, raise_for_problem, read

__all__ = [
    "AsyncClient",
    "Client",
    "FollowedTooFar",
    "Reach",
    "Retries",
    "advised_wait",
    "items_of",
    "raise_for_problem",
    "read",
]
