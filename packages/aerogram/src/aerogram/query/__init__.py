"""Queries: a question to JSON that is kept here, so that only its answer has to be read."""

from aerogram.query.query import run_query

__all__ = ["run_query"]
