"""A model that follows a script: it knows of the server only what its client lets it read, and acts on that.

Search, the next page, what a list left out, a wrong argument, a number that is not there, and the call put right.
"""

import re
from collections.abc import Generator

Call = tuple[str, dict]


def follow() -> Generator[Call, str, None]:
    """Each call, for what was read of the one before."""
    read = yield "search", {"words": "plan", "page_size": 2}
    assert "book-000" in read and "book-002" not in read, read
    read = yield "search", {"words": "plan", "cursor": _find(r"cursor='([^']+)'", read)[0]}
    assert "book-002" in read and "book-000" not in read, read
    read = yield "export", {}
    assert "think" not in read, read
    read = yield "retrieve", {"hash": _find(r"whole: retrieve\(hash='(\w+)'\)", read)[0]}
    assert "book-000" in read and "Read, think, write." in read, read
    read = yield "get_book", {"number": "XL"}
    assert all(word in read for word in ("INVALID_FORMAT", "not retryable", "field: number", "received: ", "XL")), read
    read = yield "get_book", {"number": 999}
    assert all(word in read for word in ("there is no book 999", "NOT_FOUND", "search has the numbers")), read
    read = yield "get_book", {"number": 3}
    assert "book-003" in read and "error" not in read, read


def _find(pattern: str, text: str) -> tuple[str, ...]:
    found = re.search(pattern, text.replace('\\"', '"'))
    assert found is not None, text
    return found.groups()
