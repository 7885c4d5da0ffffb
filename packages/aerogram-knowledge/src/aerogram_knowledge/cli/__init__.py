"""The command line: the verbs of the index and of its server."""
