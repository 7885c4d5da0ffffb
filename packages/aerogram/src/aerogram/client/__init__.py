"""The client: calls a server, reads its replies, and follows them to their pages and to what they left out."""

from aerogram.client.client import AsyncClient, Client, Retries, items_of, raise_for_problem, read, wait_advised

__all__ = ["AsyncClient", "Client", "Retries", "items_of", "raise_for_problem", "read", "wait_advised"]
