"""Serving: an application of ours on a port: who may call it, how large and how long a request may be, when it ends."""
