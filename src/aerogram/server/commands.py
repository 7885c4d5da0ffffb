"""Commands: the server on the command line."""

from __future__ import annotations

import typer

from aerogram.server.operation_commands import register_operation


def register(app: typer.Typer) -> None:
    """Add the verbs to the program."""
    register_operation(app)
