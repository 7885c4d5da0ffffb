"""The archive: a content-addressed store of what was left out, where its records live, and questions to them."""

from aerogram.archive.archive import Archive, ArchiveUsage, EntryReceipt

__all__ = ["Archive", "ArchiveUsage", "EntryReceipt"]
