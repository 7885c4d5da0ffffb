"""Options: the settings of the server as flags of a verb, so that no verb lists them by hand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Annotated, Any, TypeVar

import typer

from aerogram_knowledge.server.settings import Option, Settings

__all__ = ["with_settings"]

Verb = TypeVar("Verb", bound=Callable[..., Any])
_PANEL = "Settings (also in the environment and in aerogram.toml)"


def with_settings(*, without: Collection[str] = ()) -> Callable[[Verb], Verb]:
    """Give a verb `**flags` for every setting, and `config` for the file; it makes `Settings.load(flags, …)` of them.

    The settings in `without` have no flag; the verb takes them in a way of its own.
    """

    def extend(verb: Verb) -> Verb:
        own = inspect.signature(verb, eval_str=True)
        kept = [one for one in own.parameters.values() if one.kind is not inspect.Parameter.VAR_KEYWORD]
        added = [_parameter(one) for one in Settings.options() if one.name not in without]
        verb.__signature__ = own.replace(parameters=[*kept, *added, _CONFIG])  # type: ignore[attr-defined]
        verb.__annotations__ = {one.name: one.annotation for one in (*kept, *added, _CONFIG)}
        return verb

    return extend


def _parameter(option: Option) -> inspect.Parameter:
    """The flag of a setting; it reads text only, because the setting knows best what to say of a bad one."""
    default = option.default
    shown = "" if default in (None, "", (), False) else f" [default: {default}]"
    told: dict[str, Any] = {"help": option.about + shown, "rich_help_panel": _PANEL}
    if option.kind.is_switch:
        return _flag(option.name, bool | None, typer.Option(f"{option.flag}/--no-{option.flag[2:]}", **told))
    kind = list[str] | None if option.kind.is_list else str | None
    return _flag(option.name, kind, typer.Option(option.flag, metavar=option.kind.word, **told))


def _flag(name: str, kind: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option])


_CONFIG = _flag(
    "config", str | None, typer.Option("--config", metavar="FILE", help="Read this file instead of ./aerogram.toml.")
)
