"""The archive: a content-addressed store of what was left out of replies, and where its records live."""

from aerogram.archive.archive import Archive, ArchiveUsage, EntryReceipt

__all__ = ["Archive", "ArchiveUsage", "EntryReceipt"]
