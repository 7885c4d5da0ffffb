"""The knowledge index, tried on small folders of documents."""
