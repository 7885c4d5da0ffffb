"""Ingest: folders of files into a store, by one process or by many."""
