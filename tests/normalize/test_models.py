"""Pydantic models that pydantic cannot write whole: what they hide stays hidden."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pydantic
import pytest

from aerogram.normalize import Policy, normalize_tool_result

IN_PLACE = Policy(fallback="value")

SECRET = "hunter2"


class Odd:
    """Pydantic has no way to write it."""


def _mask(_: Any) -> str:
    return "***"


def _raise(_: Any) -> str:
    raise RuntimeError(SECRET)


Masked = Annotated[str, pydantic.PlainSerializer(_mask)]


class Account(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    user: str = "a"
    password: str = pydantic.Field(default=SECRET, exclude=True)
    empty: str = pydantic.Field(default="", exclude_if=lambda text: not text)
    pin: str = SECRET
    token: Masked = SECRET
    key: pydantic.SecretStr = pydantic.SecretStr(SECRET)
    value: Any = None

    @pydantic.field_serializer("pin", when_used="json")
    def _hide(self, _: str) -> str:
        return "***"

    @pydantic.computed_field
    def size(self) -> int:
        """A field that is computed."""
        return 3


SHOWN = {"user": "a", "pin": "***", "token": "***", "key": "**********", "size": 3}


def sent(value: Any, **settings: Any) -> str:
    return normalize_tool_result(value, **settings).to_bytes(1).decode()


@pytest.mark.parametrize("place", [lambda one: one, lambda one: [one], lambda one: {"a": {"b": one}}])
def test_fields_that_are_excluded_or_masked_stay_so_beside_an_odd_one(place: Any):
    whole = sent(place(Account(value=Odd())))
    assert SECRET not in whole and "Odd object" in whole


def test_every_other_field_is_shown_as_the_model_shows_it():
    shown = normalize_tool_result(Account(value=Odd()), policy=IN_PLACE).structuredContent
    assert list(shown.pop("value").split(".")[-1:]) == ["Odd object"]
    assert shown == SHOWN == Account(value=0).model_dump(mode="json", exclude={"value"})


def test_fields_of_a_model_that_is_too_large_are_masked_too():
    result = normalize_tool_result(Account(value=["x" * 100] * 100_000), policy=Policy(max_bytes=10_000))
    assert result.isError and "/value" in result.content[0]["text"]
    assert SECRET not in sent({"a": Account(pin=SECRET * 10_000, value=1)}, policy=Policy(max_bytes=10_000))


class Whole(pydantic.BaseModel):
    password: str = SECRET
    value: Any = None

    @pydantic.model_serializer
    def _write(self) -> dict[str, Any]:
        return {"value": self.value}


def test_model_with_a_serialiser_of_its_own_is_named_when_that_one_fails():
    inside = normalize_tool_result({"ok": 1, "model": Whole(value=Odd())}, policy=IN_PLACE)
    assert inside.structuredContent == {"ok": 1, "model": f"[unreadable {__name__}.Whole]"}
    assert normalize_tool_result(Whole(value=Odd())).isError
    assert SECRET not in sent(Whole(value=Odd()))


class Failing(pydantic.BaseModel):
    name: str = "a"
    password: Annotated[str, pydantic.PlainSerializer(_raise)] = SECRET
    pair: tuple[Masked, Any] = (SECRET, 1)
    row: dict[str, Annotated[Any, pydantic.PlainSerializer(_raise)]] = {"a": SECRET}


def test_field_whose_serialiser_fails_is_named():
    """Also where the serialiser stands deep in the field's type."""
    result = normalize_tool_result(Failing(pair=(SECRET, Odd())), policy=IN_PLACE)
    assert result.structuredContent == {
        "name": "a",
        "password": "[unreadable str]",
        "pair": "[unreadable tuple]",
        "row": "[unreadable dict]",
    }
    assert [notice.context["pointer"] for notice in result.notices] == ["/password", "/pair", "/row"]
    assert SECRET not in sent(Failing(pair=(SECRET, Odd())))


@dataclass
class Login:
    user: str
    password: Annotated[str, pydantic.Field(exclude=True)] = SECRET
    value: Any = None


class Holder(pydantic.BaseModel):
    login: Login


@pydantic.dataclasses.dataclass(config=pydantic.ConfigDict(extra="allow"))
class Parts:
    value: Any
    password: str = pydantic.Field(default=SECRET, exclude=True)


class Root(pydantic.RootModel[tuple[Masked, Any]]): ...


@pytest.mark.parametrize("value", [Holder(login=Login("a", value=Odd())), Parts(Odd()), Root((SECRET, Odd()))])
def test_records_of_other_kinds_keep_what_they_hide(value: Any):
    assert SECRET not in sent(value) and SECRET not in sent({"a": value})


class Node(pydantic.BaseModel):
    name: str
    children: list[Node] = []
    password: str = pydantic.Field(default=SECRET, exclude=True)

    @pydantic.computed_field
    def broken(self) -> int:
        """It cannot be computed."""
        raise ValueError(SECRET)


def test_model_that_holds_itself_is_shown_field_by_field():
    node = Node(name="a")
    node.children.append(node)
    shown = normalize_tool_result(node, policy=IN_PLACE).structuredContent
    assert shown == {"name": "a", "children": [{"$ref": "#"}], "broken": f"[unreadable {__name__}.Node]"}


def test_model_that_lacks_a_field_shows_the_others():
    made = Account.model_construct(value=Odd())
    assert normalize_tool_result(made, policy=IN_PLACE).structuredContent["user"] == "a"
    lacking = Failing.model_construct(pair=(1, Odd()))
    del lacking.__dict__["name"]
    assert "name" not in normalize_tool_result(lacking, policy=IN_PLACE).structuredContent
