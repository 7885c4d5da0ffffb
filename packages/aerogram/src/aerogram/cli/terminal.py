"""The terminal: how a verb of the command line takes its input, gives its output, and fails.

Output is bytes that were finished before the first of them is written, so that what a
pipe receives is whole JSON or nothing. A failure is one line on stderr, or a problem
body on stdout for a program that asked for JSON.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, NoReturn

from aerogram.content.jsontext import dumps
from aerogram.content.line import one_line
from aerogram.dialects import dialect
from aerogram.errors import ContractError, MissingExtra, ReplyError, UnknownCode
from aerogram.problems import problem_of
from aerogram.reply import Problem, Reply

LARGEST_INPUT = 256 * 1024 * 1024
"""Bytes; an endless input ends here instead of filling the memory."""

OK, BAD_INPUT, USAGE, BROKEN_PIPE = 0, 1, 2, 141
_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def read_input(file: str | None) -> bytes:
    """The bytes of a file, or of standard input when it is `-` or nothing."""
    if file in (None, "-"):
        return _check_not_empty(_read_stdin(), "standard input")
    with Path(str(file)).open("rb") as opened:
        return _check_not_empty(_read_bounded(opened), str(file))


def _check_not_empty(taken: bytes, name: str) -> bytes:
    """Nothing is the commonest mistake in a pipe, and no parser has good words for it."""
    if not taken or taken.isspace():
        raise ContractError(f"{name} is empty; a JSON body is expected there")
    return taken


def _read_stdin() -> bytes:
    if sys.stdin is None:
        raise ContractError("there is no standard input; name a file")
    if sys.stdin.isatty():
        note("waiting for a JSON body on standard input; end it with Ctrl-D")
    return _read_bounded(sys.stdin.buffer)


def _read_bounded(stream: Any) -> bytes:
    taken: bytes = stream.read(LARGEST_INPUT + 1)
    if len(taken) > LARGEST_INPUT:
        raise ContractError(f"the input is larger than {LARGEST_INPUT:,} bytes")
    return taken


def write_json(value: Any, *, compact: bool = False) -> None:
    """A JSON value and a newline on standard output."""
    _write(dumps(value, indent=not compact) + b"\n")


def write_text(text: str, *, is_styled: bool = False) -> None:
    """Text and a newline on standard output, in UTF-8 whatever the locale says.

    What steers a terminal is spelled out, because words of documents are among the text, unless it is our own.
    """
    text = text if is_styled else _STEERING.sub(lambda found: ascii(found[0])[1:-1], text)
    _write(text.encode("utf-8", "backslashreplace") + b"\n")


def _write(finished: bytes) -> None:
    if sys.stdout is None:
        raise OSError("there is no standard output")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(finished)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # the reader went away, which is its right; Python must not complain when it flushes at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(BROKEN_PIPE) from None


def fail(error: Exception, *, as_json: bool) -> NoReturn:
    """End the program over an error that its input is to blame for."""
    if as_json:
        try:
            fail_with(_problem(error), BAD_INPUT)
        except OSError as unwritable:
            error = unwritable
    note(_message(error))
    raise SystemExit(BAD_INPUT)


def fail_with(problem: Problem, exit_code: int) -> NoReturn:
    """End the program with a problem body on standard output."""
    write_json(dialect("problem").encode(Reply.failed(problem)))
    raise SystemExit(exit_code)


def note(text: str) -> None:
    """One line for the person at the terminal, beside the output."""
    if sys.stderr is not None:
        sys.stderr.write(f"aerogram: {one_line(text)}\n")
        sys.stderr.flush()


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = f"{error.filename}: " if error.filename is not None else ""
        return name + error.strerror
    if isinstance(error, ContractError) and not error.pointer:  # "at the whole body" says nothing to a person
        return f"{error.dialect}: {error.rule}" if error.dialect else error.rule
    if isinstance(error, ReplyError) and error.remediation:
        return f"{error}; {error.remediation}"
    return str(error) or type(error).__name__


def _problem(error: Exception) -> Problem:
    """The problem behind an error, for a program."""
    if isinstance(error, ReplyError):
        return problem_of(error)
    message = one_line(_message(error))
    if isinstance(error, ContractError):
        fault = {"detail": one_line(error.rule), "pointer": one_line(error.pointer)}
        return Problem.of("VALIDATION_ERROR", message, details={"errors": [fault]})
    return Problem.of(_code(error), message)


def _code(error: Exception) -> str:
    if isinstance(error, (UnknownCode, FileNotFoundError)):
        return "NOT_FOUND"
    if isinstance(error, PermissionError):
        return "FORBIDDEN"
    return "FEATURE_DISABLED" if isinstance(error, MissingExtra) else "VALIDATION_ERROR"
