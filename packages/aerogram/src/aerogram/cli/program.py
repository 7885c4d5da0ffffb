"""The program: one command, `aerogram`, whose verbs are functions of the library.

It never ends in a traceback: what the input is to blame for is one line and exit code 1.
The libraries it stands on are an extra, so they are loaded here and not before.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final, NoReturn

from aerogram.cli.interrupt import INTERRUPTED, leave, on_interrupt
from aerogram.cli.terminal import USAGE, fail, fail_with, note
from aerogram.content.line import one_line
from aerogram.errors import AerogramError, MissingExtra
from aerogram.reply import Problem

if TYPE_CHECKING:
    import typer

VERBS: Final = "aerogram.verbs"
ELSEWHERE: Final[Mapping[str, str]] = {
    "inspect": "page",
    **dict.fromkeys(("ingest", "search", "copy", "vendor", "index"), "knowledge"),
    **dict.fromkeys(("serve", "config", "install", "keys"), "server"),
}
"""Verbs that other distributions bring, and the extra that installs each."""

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
        with _exiting_on_interrupt():
            run = program()
        sys.exit(run(prog_name="aerogram", standalone_mode=False))  # of a wrong call we tell, in one line
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except SystemExit:
        on_interrupt(leave)  # what is left is the end of the interpreter, which has only traces to say
        raise
    except (AerogramError, OSError, MemoryError, RecursionError) as error:
        _fail(error)
    except Exception as error:
        if hasattr(error, "format_message"):
            _report_misuse(error)
        if type(error).__name__ == "Abort":  # what typer makes of an interrupt, or of a question that gets no answer
            raise SystemExit(INTERRUPTED) from None
        if os.environ.get("AEROGRAM_DEBUG"):
            raise
        if isinstance(error, ModuleNotFoundError) and not str(error.name).startswith("aerogram"):
            _fail(MissingExtra("all", str(error.name)))
        _fail(AerogramError(f"internal error: {type(error).__name__}: {error} (AEROGRAM_DEBUG=1 shows the trace)"))


@contextlib.contextmanager
def _exiting_on_interrupt() -> Iterator[None]:
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
    for bring in verbs():
        bring(app)
    _add_missing(app)
    return app


def verbs() -> list[Callable[[typer.Typer], None]]:
    """What adds verbs to the program: each package names its own as entry points of the group `aerogram.verbs`."""
    return [one.load() for one in sorted(entry_points(group=VERBS), key=lambda one: one.name)]


def _add_missing(app: typer.Typer) -> None:
    """Let the verbs of distributions that are not installed say what to install."""
    present = {one.name or getattr(one.callback, "__name__", "") for one in app.registered_commands}
    present |= {one.name for one in app.registered_groups}
    for name, extra in ELSEWHERE.items():
        if name not in present:
            anything = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}
            app.command(name, hidden=True, context_settings=anything)(_refusal_for(extra))


def _refusal_for(extra: str) -> Callable[[], None]:
    def refuse() -> None:
        raise MissingExtra(extra, f"aerogram-{'page' if extra == 'page' else 'knowledge'}")

    return refuse


def _fail(error: Exception) -> NoReturn:
    fail(error, as_json=_wants_json())


def _wants_json() -> bool:
    return "--json" in sys.argv[1:]


def _report_misuse(error: Any) -> NoReturn:
    """A call that typer refuses: as a problem body for a program, in one line for a person, or as help where asked."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        raise SystemExit(USAGE)
    context = getattr(error, "ctx", None)
    message = one_line(error.format_message())
    if not _wants_json():
        note(
            message.rstrip(".") + ("" if context is None else f"; {context.command_path} --help says how it is called")
        )
        raise SystemExit(USAGE)
    hint = f"Call {context.command_path} --help to see how it is used." if context is not None else None
    problem = Problem.of("VALIDATION_ERROR", message, remediation=hint)
    try:
        fail_with(problem, USAGE)
    except OSError as unwritable:
        fail(unwritable, as_json=False)
