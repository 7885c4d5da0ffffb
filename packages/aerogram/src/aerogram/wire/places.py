"""Places: where an application stands inside of others, however those hold it, and how to put another one there."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any, NamedTuple

__all__ = ["Place", "places_inside"]


class Place(NamedTuple):
    """What stands somewhere; `put(other)` puts another one there."""

    there: Any
    put: Callable[[Any], None]


def places_inside(holder: object, name: str, closed: tuple[type, ...] = ()) -> Iterator[Place]:
    """What an attribute holds, and whatever is called from within it, from the outside to the inside.

    Middleware holds what is inside in an attribute of any name, also where it is a method, or in a variable of the
    function that it is. Classes are not looked into, and neither are objects of the `closed` ones.
    """
    waiting = [Place(getattr(holder, name), functools.partial(setattr, holder, name))]
    seen: set[int] = set()
    for place in waiting:
        if callable(place.there) and id(place.there) not in seen:
            seen.add(id(place.there))
            yield place
            if not isinstance(place.there, (type, *closed)):
                waiting += _places_in(place.there)
                if isinstance(place.there, MethodType) and not isinstance(place.there.__self__, (type, *closed)):
                    waiting += _places_in(place.there.__self__)


def _places_in(holder: Any) -> Iterator[Place]:
    """The attributes of an object, and the variables that a function has from where it was made."""
    slots = (name for kind in type(holder).__mro__ for name in getattr(kind, "__slots__", ()))
    for name in (*getattr(holder, "__dict__", ()), *slots):
        # a class may forbid its objects to change what they hold
        yield Place(getattr(holder, name, None), functools.partial(object.__setattr__, holder, name))
    for cell in getattr(holder, "__closure__", None) or ():
        with contextlib.suppress(ValueError):  # one may be empty
            yield Place(cell.cell_contents, functools.partial(setattr, cell, "cell_contents"))
