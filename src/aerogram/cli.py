"""The command line: one program, `aerogram`, whose verbs are functions of the library.

It never ends in a traceback: what the input is to blame for is one line and exit code 1.
The libraries it stands on are an extra, so they are loaded here and not before.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from aerogram.errors import AerogramError, MissingExtra
from aerogram.interrupt import INTERRUPTED, leave, on_interrupt
from aerogram.reply import Problem
from aerogram.terminal import USAGE, fail, fail_with, one_line

if TYPE_CHECKING:
    import typer

_EPILOG = """\b
Exit codes:
  0    it worked
  1    the input cannot be read or breaks its contract
  2    the command was called wrongly
  130  interrupted
  141  the reader of the output went away
"""


def main() -> None:
    """Run the program on the arguments it was started with."""
    try:
        with _left_at_once():
            run = program()
        # a program that asked for JSON is told of its wrong call by us, a person by typer
        sys.exit(run(prog_name="aerogram", standalone_mode=not _wants_json()))
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except SystemExit:
        on_interrupt(leave)  # what is left is the end of the interpreter, which has only traces to say
        raise
    except (AerogramError, OSError, MemoryError, RecursionError) as error:
        _fail(error)
    except Exception as error:
        if hasattr(error, "format_message"):
            _misused(error)
        if os.environ.get("AEROGRAM_DEBUG"):
            raise
        if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("aerogram"):
            _fail(MissingExtra("all", str(error.name)))
        _fail(AerogramError(f"internal error: {type(error).__name__}: {error} (AEROGRAM_DEBUG=1 shows the trace)"))


@contextlib.contextmanager
def _left_at_once() -> Iterator[None]:
    """As long as this lasts, Ctrl-C ends the process: modules are loaded."""
    on_interrupt(leave)
    try:
        yield
    finally:
        on_interrupt(signal.default_int_handler)


def program() -> typer.Typer:
    """The program with every verb that is installed."""
    try:
        import typer
    except ImportError:
        raise MissingExtra("cli", "typer") from None
    app = typer.Typer(
        name="aerogram",
        epilog=_EPILOG,
        add_completion=False,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        # boxes and colours are for people; a pipe gets plain text
        rich_markup_mode="rich" if sys.stdout is not None and sys.stdout.isatty() else None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    for name in command_modules():
        importlib.import_module(name).register(app)
    return app


def command_modules() -> list[str]:
    """The modules that bring verbs: ours, then those of the sub-packages."""
    folder = Path(__file__).parent
    packages = sorted(found.parent.name for found in folder.glob("*/commands.py"))
    return ["aerogram.commands", *(f"aerogram.{package}.commands" for package in packages)]


def _fail(error: Exception) -> NoReturn:
    fail(error, as_json=_wants_json())


def _wants_json() -> bool:
    return "--json" in sys.argv[1:]


def _misused(error: Any) -> NoReturn:
    """A call that typer refuses, as a problem body."""
    context = getattr(error, "ctx", None)
    hint = f"Call {context.command_path} --help to see how it is used." if context is not None else None
    problem = Problem.of("VALIDATION_ERROR", one_line(error.format_message()), remediation=hint)
    try:
        fail_with(problem, USAGE)
    except OSError as unwritable:
        fail(unwritable, as_json=False)
