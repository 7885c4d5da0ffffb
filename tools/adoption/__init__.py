"""Adoption: servers from PyPI and npm that nobody here wrote, at pinned versions, with and without Aerogram."""
