"""Word lists: the plain text files beside this module."""

from __future__ import annotations

from importlib.resources import files


def word_list(name: str) -> list[str]:
    """The words of one list."""
    return (files("aerogram.digest") / f"{name}.txt").read_text("utf-8").split()
