"""A library over stdio for client packages to talk to: pages, a list that does not fit, an argument to get wrong."""

import fastmcp

from aerogram.archive import Archive
from aerogram.errors import NotFound
from aerogram.fastmcp import install

BOOKS = [
    {"id": f"book-{n:03}", "title": f"The plan, part {n}", "text": "Read, think, write. " * 12} for n in range(200)
]
server = fastmcp.FastMCP("library")


@server.tool
def search(words: str) -> list[dict[str, str]]:
    """Books by the words in their titles."""
    return [{"id": one["id"], "title": one["title"]} for one in BOOKS if words in one["title"]]


@server.tool
def export() -> list[dict[str, str]]:
    """Every book, whole."""
    return BOOKS


@server.tool
def get_book(number: int) -> dict[str, str]:
    """One book."""
    if number >= len(BOOKS):
        raise NotFound(f"there is no book {number}", remediation="search has the numbers")
    return BOOKS[number]


install(server, budget=1_000, controls=["search"], archive=Archive.in_memory())

if __name__ == "__main__":
    server.run(show_banner=False, log_level="ERROR")
