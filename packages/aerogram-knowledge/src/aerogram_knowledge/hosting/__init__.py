"""Hosting: settings, logs, metrics and everything else that it takes to run a server."""
