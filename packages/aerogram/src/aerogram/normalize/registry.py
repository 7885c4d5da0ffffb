"""Registry: which form the values of a type take. One is the default; make others for other servers."""

from __future__ import annotations

import datetime as dt
import enum
import operator
import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from aerogram.normalize.forms import Form, form_of, moment, qualified_name
from aerogram.normalize.libraries import library_form, mapped_form
from aerogram.normalize.signals import SIGNALS

__all__ = ["DEFAULT", "NeedsCarefulEncoding", "Registry", "register"]

_MOST = 10_000
_ADDRESS = re.compile(r"\b(?:at |address=)0x[0-9a-fA-F]{4,}")
_PLAIN = (str, int, float, bool, type(None), dict, list, tuple)
_MOMENTS = dict.fromkeys((dt.datetime, dt.date, dt.time), moment)
_NATIVE = (dt.datetime, dt.date, dt.time, uuid.UUID, enum.Enum)


class NeedsCarefulEncoding(TypeError):
    """The fast way does not do this value; the careful one will."""


class Registry:
    """Forms by type; `forms[kind]` has one for every type. What you register comes first, by MRO.

    For the fast way it remembers in `surveyed` the forms of moments and of records that a
    survey sees into, and in `data` the types whose values are nothing but data.
    """

    def __init__(self) -> None:
        self._own: dict[type, tuple[Form, Mapping[str, Any] | None]] = {}
        self.forms: Mapping[type, Form] = _FormCache(self._resolve)
        self.surveyed: dict[type, Callable[[Any], Any]] = {**_MOMENTS}
        self.data: set[type] = set()
        self.overrides_native = False

    def register(self, kind: type, to_json: Callable[[Any], Any], schema: Mapping[str, Any] | None = None) -> None:
        """Write values of `kind` and its subclasses as `to_json(value)`; `schema` says what that looks like.

        What `to_json` returns is normalised in turn.
        """
        if kind in _PLAIN or kind is object:
            raise ValueError(f"{qualified_name(kind)} has its JSON form already")
        self._own[kind] = (Form("json", to_json), schema)
        self.overrides_native = self.overrides_native or issubclass(kind, _NATIVE)
        self.forms = _FormCache(self._resolve)
        self.surveyed = {**_MOMENTS}
        self.data = set()

    @property
    def has_own(self) -> bool:
        """Whether anything is registered at all."""
        return bool(self._own)

    def schema(self, kind: type) -> Mapping[str, Any] | None:
        """The schema registered for a type or its nearest base."""
        found = self._find_own(kind)
        return found[1] if found else None

    def _find_own(self, kind: type) -> tuple[Form, Mapping[str, Any] | None] | None:
        return next((self._own[base] for base in kind.__mro__ if base in self._own), None)

    def _resolve(self, kind: type) -> Form:
        found = self._find_own(kind)
        if found:
            return found[0]
        try:
            return _block(kind) or library_form(kind) or mapped_form(kind) or form_of(kind) or _odd(kind)
        except SIGNALS:
            raise
        except BaseException:  # noqa: BLE001 - a metaclass may raise anything, and its instances must be answered
            return Form("odd", lambda value: f"{type.__getattribute__(type(value), '__name__')} object")


class _FormCache(dict[type, Form]):
    """Resolved forms; bounded, because classes can be made at run time without end."""

    def __init__(self, resolve: Callable[[type], Form]) -> None:
        super().__init__()
        self._resolve = resolve

    def __missing__(self, kind: type) -> Form:
        if len(self) >= _MOST:
            self.clear()
        form = self[kind] = self._resolve(kind)
        return form


def _block(kind: type) -> Form | None:
    return Form("block", operator.methodcaller("__block__")) if hasattr(kind, "__block__") else None


def _odd(kind: Any) -> Form:
    """A value with nothing but its own text; the default one, with an address in it, is no text."""
    if (kind.__str__, kind.__repr__) == (object.__str__, object.__repr__):
        return Form("odd", lambda _: f"{qualified_name(kind)} object")

    def text(value: Any) -> str:
        said = str(value)
        return f"{qualified_name(kind)} object" if _ADDRESS.search(said) else said

    return Form("odd", text)


DEFAULT = Registry()


def register(kind: type, to_json: Callable[[Any], Any], schema: Mapping[str, Any] | None = None) -> None:
    """Register a form with the default registry: `register(Money, lambda money: money.amount)`."""
    DEFAULT.register(kind, to_json, schema)
