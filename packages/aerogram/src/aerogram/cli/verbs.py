"""Verbs: those of the core on the command line; each calls the library function of its name.

A sub-package with verbs of its own has a `commands` module with the same `register`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

import aerogram
from aerogram import dialects
from aerogram.cli import wrap
from aerogram.cli.terminal import read_input, write_json, write_text
from aerogram.clients import CLIENTS, KnownClient
from aerogram.documents import schemas
from aerogram.documents.explanation import Explanation, explain, explain_all
from aerogram.errors import UnknownDialect

_KNOWN = ", ".join(dialects.NAMES)


def register(app: typer.Typer) -> None:
    """Add the verbs, and what the program says of itself, to the program."""
    app.callback()(_aerogram)
    app.command("translate", epilog=_TRANSLATE_EXAMPLES)(_translate)
    app.command("validate", epilog=_VALIDATE_EXAMPLES)(_validate)
    app.command("schema", epilog=_SCHEMA_EXAMPLES)(_schema)
    app.command("explain", epilog=_EXPLAIN_EXAMPLES)(_explain)
    app.command("clients", epilog=_CLIENTS_EXAMPLES)(_clients)
    wrap.register(app)


def _show_version(wanted: bool) -> None:
    if wanted:
        write_text(f"aerogram {aerogram.__version__}")
        raise typer.Exit


def _aerogram(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Speak, check and translate the contracts of MCP servers and agent-facing HTTP APIs."""


def _check_dialect(name: str | None) -> str | None:
    if name is not None and name not in dialects.NAMES:
        raise typer.BadParameter(str(UnknownDialect(name, dialects.NAMES)))
    return name


File = Annotated[str | None, typer.Argument(metavar="FILE", help="A JSON body; '-' or nothing: standard input.")]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, failures included (as problem details).")]
Compact = Annotated[bool, typer.Option("--compact", help="One line of JSON instead of indented JSON.")]
MaybeDialect = Annotated[
    str | None,
    typer.Option(metavar="DIALECT", callback=_check_dialect, help="The dialect to hold it to, instead of asking it."),
]


def _translate(
    to: Annotated[str, typer.Option(metavar="DIALECT", callback=_check_dialect, help=f"One of: {_KNOWN}.")],
    file: File = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="DIALECT", callback=_check_dialect, help="What it is in; else it is recognised."
        ),
    ] = None,
    compact: Compact = False,
    as_json: AsJson = False,  # noqa: ARG001  # it is about failures, and those are told by main
) -> None:
    """Say the same reply in another dialect."""
    write_json(dialects.translate(read_input(file), to, dialect=from_), compact=compact)


def _validate(file: File = None, dialect: MaybeDialect = None, as_json: AsJson = False) -> None:
    """Hold a body to its contract: every rule, to the letter."""
    found = dialects.validate(read_input(file), dialect=dialect)
    if as_json:
        write_json({"valid": True, "dialect": found.name})
    else:
        write_text(f"valid {found.name}")


def _schema(
    dialect: Annotated[str, typer.Argument(metavar="DIALECT", callback=_check_dialect, help=f"One of: {_KNOWN}.")],
    slim: Annotated[bool, typer.Option("--slim", help="The small schema for tool listings.")] = False,
    typescript: Annotated[bool, typer.Option("--typescript", help="TypeScript types instead of JSON Schema.")] = False,
    compact: Compact = False,
) -> None:
    """Print the JSON Schema or the TypeScript types of a dialect."""
    if slim and typescript:
        raise typer.BadParameter("--slim and --typescript exclude each other")
    if typescript:
        write_text(schemas.typescript(dialect).removesuffix("\n"))
    else:
        write_json(schemas.schema(dialect, slim=slim), compact=compact)


def _explain(
    code: Annotated[str | None, typer.Argument(metavar="CODE", help="An error or warning code; none: all.")] = None,
    language: Annotated[Literal["en", "ja"], typer.Option(help="The language of texts for users.")] = "en",
    as_json: AsJson = False,
) -> None:
    """Explain an error or warning code, or list them all."""
    found = explain_all() if code is None else explain(code)
    if as_json:
        write_json([one.as_json() for one in found] if isinstance(found, list) else found.as_json())
    elif isinstance(found, list):
        write_text(_listing(found))
    else:
        write_text(_article(found, language))


def _clients(
    name: Annotated[str | None, typer.Argument(metavar="CLIENT", help="One client; none: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List what is known of clients: what their models read, and how much of it."""
    if name is not None and name not in CLIENTS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(CLIENTS)}")
    found = [CLIENTS[name]] if name is not None else list(CLIENTS.values())
    if as_json:
        write_json([one.as_json() for one in found] if name is None else found[0].as_json())
    elif name is None:
        write_text("\n".join(line.strip() for line in _columns([_CLIENT_HEAD, *map(_client_row, found)])))
    else:
        write_text("\n".join([found[0].title, *_columns(_client_facts(found[0]))]))


_CLIENT_HEAD = ("client", "success", "failure", "limits")


def _client_row(client: KnownClient) -> tuple[str, ...]:
    return client.name, client.success or "?", client.failure or "?", client.told_limits or "?"


def _client_facts(client: KnownClient) -> list[tuple[str, str]]:
    """Everything that is known, a line each."""
    facts = {
        "calls itself": ", ".join(client.names),
        "reads of a success": client.success,
        "reads of a failure": client.failure,
        "pictures": client.pictures,
        "links": client.links,
        "limits": client.told_limits,
        "beyond them": client.beyond,
        "validates": None if client.validates is None else "yes" if client.validates else "no",
        "read in": ", ".join(client.sources),
        "on": None if client.date is None else client.date.isoformat(),
    }
    return [(name, fact or "?") for name, fact in facts.items()]


def _listing(found: list[Explanation]) -> str:
    errors = [(one.code, str(one.error.status), one.error.kind, one.error.title) for one in found if one.error]
    warnings = [(one.code, one.warning.severity, one.warning.description) for one in found if one.warning]
    return "\n".join(["Errors", *_columns(errors), "", "Warnings", *_columns(warnings)])


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Rows with their cells one below the other."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


_RETRY = {"yes": "yes", "no": "no", "check": "look at the state first"}


def _article(found: Explanation, language: str) -> str:
    facts = [*_error_facts(found, language), *_warning_facts(found, language)]
    return "\n".join([found.code, *_columns(facts)])


def _error_facts(found: Explanation, language: str) -> list[tuple[str, str]]:
    row = found.error
    if row is None:
        return []
    facts = [
        ("error", row.title),
        ("kind", row.kind),
        ("HTTP status", str(row.status)),
        ("retry", _RETRY[row.retry]),
        ("what to do", row.remediation),
        ("tell the user", row.user_text.get(language) or row.user_text["en"]),
        ("a kind of", row.parent or ""),
    ]
    spoken = [(f"in {name}", word) for name, word in found.codes_by_dialect.items() if word != found.code]
    return [(name, fact) for name, fact in facts if fact] + spoken


def _warning_facts(found: Explanation, language: str) -> list[tuple[str, str]]:
    row = found.warning
    if row is None:
        return []
    facts = [("warning", row.description), ("severity", row.severity), ("what to do", row.suggestion)]
    return [*facts, ("tell the user", row.user_text[language])]


_TRANSLATE_EXAMPLES = """\b
Examples:
  aerogram translate body.json --to standard-v2
  curl -s localhost:8000/search | aerogram translate --to knowledge-1.0 | jq .results
"""
_VALIDATE_EXAMPLES = """\b
Examples:
  aerogram validate body.json
  aerogram validate --dialect response-v2 --json < body.json
"""
_SCHEMA_EXAMPLES = """\b
Examples:
  aerogram schema standard-v2 > standard-v2.schema.json
  aerogram schema response-v2 --slim --compact
  aerogram schema knowledge-1.0 --typescript > knowledge.d.ts
"""
_EXPLAIN_EXAMPLES = """\b
Examples:
  aerogram explain
  aerogram explain RATE_LIMITED --language ja
  aerogram explain not-found --json
"""
_CLIENTS_EXAMPLES = """\b
Examples:
  aerogram clients
  aerogram clients claude-code
  aerogram clients --json | jq '.[] | select(.success == "text") | .name'
"""
