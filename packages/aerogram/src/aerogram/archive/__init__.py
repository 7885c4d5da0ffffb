"""The archive: a content-addressed store of what was left out of replies, and where its records live."""

from aerogram.archive.archive import Archive, Stored, Usage

__all__ = ["Archive", "Stored", "Usage"]
