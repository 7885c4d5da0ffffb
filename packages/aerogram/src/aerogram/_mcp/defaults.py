"""Defaults: the contract that a server gets by what it says about it, which may be nothing."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

from aerogram.archive import Archive
from aerogram.contract import Contract
from aerogram.cursor import CursorKeys, Cursors
from aerogram.errors import InvalidReply, MissingExtra, nearest
from aerogram.state import own_directory

__all__ = ["check_principal", "contract_for"]

Principal = Callable[[], str | None]
log = logging.getLogger("aerogram")


def check_principal(given: Principal | None) -> Principal | None:
    """The function that `install` was given to say who is calling, if it is one; what it says is checked."""
    if given is None:
        return None
    if not callable(given):
        raise InvalidReply(f"principal is a function that says who is calling, not {given!r}")
    if inspect.iscoroutinefunction(given):
        raise InvalidReply("principal is called and not awaited: give a function that is not async")
    return partial(_call_principal, given)


def _call_principal(principal: Principal) -> str | None:
    found: Any = principal()
    if found is None or isinstance(found, str):
        return found
    if inspect.iscoroutine(found):
        found.close()
    raise TypeError(f"principal gave a {type(found).__name__}, and not a text or None")


def contract_for(given: Contract | None, settings: Mapping[str, Any], owner: str) -> Contract:
    """The contract that `install` was given, or one that it makes from settings; not both.

    Where neither names a dialect, tools keep their results: it is `bare`. What is kept by default is the owner's alone,
    and so are cached answers.
    """
    unknown = [name for name in settings if name not in _SETTINGS]
    if unknown:
        near = nearest(unknown[0], _SETTINGS)
        hint = f"did you mean {near[0]}?" if near else f"a Contract has {', '.join(_SETTINGS)}"
        raise InvalidReply(f"there is no setting {unknown[0]!r}; {hint}")
    if given is not None and settings:
        raise InvalidReply(f"a contract is given, so {', '.join(settings)} belongs into it")
    if given is not None and not isinstance(given, Contract):
        raise InvalidReply(f"contract is a Contract, not {type(given).__name__}")
    made = (given or _default_contract(settings, owner)).owned_by(owner)
    return replace(made, dialect="bare") if made.dialect is None else made


_SETTINGS: Final = tuple(one.name for one in fields(Contract))


def _default_contract(settings: Mapping[str, Any], owner: str) -> Contract:
    """A contract from settings. What must outlive a restart, cursor keys and archive, is kept in files.

    There is an archive when there is a budget. Where no file can be written, memory has to do.
    """
    kept: dict[str, Any] = {}
    try:
        kept["cursors"] = Cursors(CursorKeys.at())
    except OSError as error:
        log.warning("cursors will not outlive this process: %s", error)
    if settings.get("budget") is not None or settings.get("budgets"):
        kept["archive"] = _default_archive(owner)
        if kept["archive"] is None:  # then what does not fit is lost, and replies say so
            kept["retrieve"] = None
    return Contract(**{**kept, **settings})


def _default_archive(owner: str) -> Archive | None:
    try:
        own = own_directory("archives", owner)
        return Archive.at(own, beside=own.parent)
    except MissingExtra as error:
        log.warning("what does not fit into a budget will be lost: %s", error)
        return None
    except OSError as error:
        log.warning("archived content will not outlive this process: %s", error)
        return Archive.in_memory()
