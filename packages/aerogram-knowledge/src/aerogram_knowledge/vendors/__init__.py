"""Vendors: who is who, from files of entities and from what the documents mention."""
