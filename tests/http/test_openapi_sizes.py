"""What a typed route answers is what its OpenAPI document says, also where answers are shortened."""

import datetime as dt
import uuid
from enum import StrEnum
from typing import Annotated, Literal

import jsonschema_rs
import pytest
from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, RootModel

from aerogram import Archive, Contract, Reply
from aerogram.fastapi import Versions, install, shapes
from aerogram.shape.modes import RecordType, snippet
from aerogram.testing import sweep

V2 = "application/vnd.acme.v2+json"
BUDGETS = (1, 180, 340, 420, 900, 1_500, 5_000, 100_000)
QUERIES = (
    "",
    "fields=id",
    "fields=title,author.name",
    "response_mode=ids_only",
    "response_mode=metadata",
    "response_mode=preview",
    "response_mode=preview&fields=id",
    "page_size=2",
    "page_size=7&response_mode=metadata",
)


class Shelf(StrEnum):
    """A word with a long name, which a budget may cut short."""

    front = "beside the entrance where everybody walks past it every morning"
    back = "behind"


class Author(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=3, pattern="^A")
    born: dt.date
    aliases: list[str] = Field(min_length=3)


class Paper(BaseModel):
    kind: Literal["paper"] = "paper"
    pages: int


class Audio(BaseModel):
    kind: Literal["audio"] = "audio"
    minutes: int = Field(ge=1)


class Book(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: int
    code: uuid.UUID
    title: str
    text: str = Field(min_length=100)
    shelf: Shelf
    author: Author
    form: Annotated[Paper | Audio, Field(discriminator="kind")]
    sequel: "Book | None" = None
    size: tuple[int, int, str]
    marks: dict[str, Annotated[str, Field(min_length=20)]]


class Books(RootModel[Annotated[list[Book], Field(min_length=4)]]):
    pass


def book(number, sequel=None):
    author = Author(name="Ada Lovelace", born=dt.date(1815, 12, 10), aliases=["A. A. L.", "Lady Lovelace", "Ada"])
    form = Paper(pages=number) if number % 2 else Audio(minutes=number + 1)
    return Book(
        id=number,
        code=uuid.UUID(int=number),
        title=f"Volume {number}",
        text="It was a long way to the library. " * 8,
        shelf=Shelf.front,
        author=author,
        form=form,
        sequel=sequel,
        size=(20, 30, "centimetres, measured with a ruler on the table"),
        marks={"first": "a remark that is not short at all", "second": "another remark of some length"},
    )


BOOKS = [book(number, book(number + 1)) for number in range(9)]


def library(contract=None, **versions):
    """An application whose routes return models in every form in which a handler can be annotated."""
    app = FastAPI()
    install(app, contract, Versions(vendor="acme", **versions))

    @app.get("/books")
    def books() -> list[Book]:
        return BOOKS

    @app.get("/shelf")
    def shelf() -> Books:
        return Books(BOOKS)

    @app.get("/one")
    def one() -> Book:
        return BOOKS[0]

    @app.get("/maybe/{there}")
    def maybe(there: bool) -> list[Book] | None:
        return BOOKS if there else None

    @app.get("/either/{many}")
    def either(many: bool) -> Book | list[Book]:
        return BOOKS if many else BOOKS[0]

    @app.get("/words")
    def words() -> str:
        return "It was a long way to the library. " * 40

    @app.get("/count")
    def count() -> int:
        return len(BOOKS)

    @app.get("/reply")
    def reply() -> Reply[list[Book]]:
        return Reply.ok(BOOKS)

    @app.get("/plain")
    @shapes(controls=False)
    def plain() -> list[Book]:
        return BOOKS

    return app


def contract(**settings):
    return Contract(archive=Archive.in_memory(), **settings)


def template_of(path):
    return path.replace("/true", "/{there}" if "maybe" in path else "/{many}").replace("/false", "/{there}")


class Described:
    """A served application, and its own document about it."""

    def __init__(self, client):
        self.client = client
        self.document = client.get("/openapi.json").json()
        self.seen = []

    def schema(self, path, media_type=V2, status=200):
        found = self.document["paths"][template_of(path)]["get"]["responses"][str(status)]
        while "$ref" in found:
            found = self.document["components"]["responses"][found["$ref"].rsplit("/", 1)[1]]
        return {**found["content"][media_type]["schema"], "components": self.document["components"]}

    def mismatch(self, path, query, media_type=V2):
        """What the document does not say of an answer, or None."""
        response = self.client.get(f"{path}?{query}", headers={"Accept": media_type})
        self.seen.append(response)
        schema = self.schema(path, response.headers["Content-Type"], response.status_code)
        validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True)
        found = next(validator.iter_errors(response.json()), None)
        return None if found is None else f"{path}?{query}: {found.instance_path} {found.message}"


PATHS = ("/books", "/shelf", "/one", "/maybe/true", "/maybe/false", "/either/true", "/words", "/count", "/reply")


@pytest.fixture(scope="module")
def shaped(serve):
    """Callers say how much they want, and there is no other budget."""
    return Described(serve(library(contract(), controls=True)))


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_that_a_caller_has_shaped_is_described(shaped, path):
    asked = [query for query in QUERIES if "=" not in query or path in ("/books", "/shelf", "/maybe/true", "/reply")]
    wrong = [
        shaped.mismatch(path, "&".join(filter(None, (query, f"max_tokens={budget}"))))
        for budget in BUDGETS
        for query in (asked if budget in (420, 1_500, 100_000) else asked[:1])
    ]
    assert not [one for one in wrong if one is not None]
    assert any(response.status_code == 200 for response in shaped.seen)


@pytest.mark.parametrize("query", QUERIES[1:])
def test_what_legacy_callers_leave_out_is_described_too(shaped, query):
    assert shaped.mismatch("/books", query, "application/json") is None
    assert shaped.seen[-1].status_code == 200 and isinstance(shaped.seen[-1].json(), list)


@pytest.mark.parametrize("budget", BUDGETS[2:])
def test_the_answers_of_a_server_with_a_budget_are_described(serve, budget):
    described = Described(serve(library(contract(budget=budget))))
    assert not [one for path in PATHS if (one := described.mismatch(path, "")) is not None]


def test_a_sparse_row_keeps_the_types_of_what_it_has(shaped):
    body = shaped.client.get("/books?max_tokens=1500", headers={"Accept": V2}).json()
    validator = jsonschema_rs.Draft202012Validator(shaped.schema("/books"))
    assert validator.is_valid(body)
    for row in ({"id": "one"}, {"text": 1}, {"author": {"name": None}}, {"form": {"minutes": 0, "kind": 1}}, "Volume"):
        assert not validator.is_valid({**body, "results": [row]}), row


def is_strict(described, path, media_type=V2):
    """Whether the document insists on every member of a book."""
    body = described.client.get(f"{path}?envelope=v2", headers={"Accept": V2}).json()
    sparse = {**body, "results": [{"id": 1}]} if media_type == V2 else [{"id": 1}]
    schema = described.schema(path, media_type)
    return not jsonschema_rs.Draft202012Validator(schema).is_valid(sparse)


def test_where_nothing_shortens_a_reply_the_document_is_as_strict_as_the_type(serve):
    described = Described(serve(library(contract())))
    assert all(is_strict(described, path) for path in ("/books", "/shelf", "/reply", "/plain"))
    assert is_strict(described, "/books", "application/json")
    assert not any(name.startswith("sparse.") for name in described.document["components"]["schemas"])


def test_each_route_is_described_by_its_own_budget_and_controls(serve, shaped):
    described = Described(serve(library(contract(budget=2_000, budgets={"plain": None}))))
    assert is_strict(described, "/plain") and not is_strict(described, "/books")
    assert is_strict(described, "/books", "application/json")  # a payload alone is not cut
    named = Described(serve(library(contract(budgets={"books": "9000 bytes"}))))
    assert is_strict(named, "/shelf") and not is_strict(named, "/books")
    assert is_strict(shaped, "/plain") and not is_strict(shaped, "/books", "application/json")


@pytest.mark.parametrize("controls", [["page_size", "cursor"], ["max_tokens"]])
def test_controls_that_leave_out_nothing_leave_legacy_answers_strict(serve, controls):
    described = Described(serve(library(contract(), controls=controls)))
    assert is_strict(described, "/books", "application/json")
    assert is_strict(described, "/books") is ("max_tokens" not in controls)
    for query in ("page_size=2", "max_tokens=300"):
        for media_type in (V2, "application/json"):
            assert described.mismatch("/shelf", query, media_type) is None


@pytest.mark.parametrize("legacy", ["standard-v2", "response-v2", "knowledge-1.0"])
@pytest.mark.parametrize("budget", [700, None])
def test_an_older_envelope_is_described_as_it_is_sent(serve, legacy, budget):
    described = Described(serve(library(contract(budget=budget), legacy=legacy, current="standard-v2", controls=True)))
    for path in ("/books", "/one", "/maybe/false", "/books?nothing=here"):
        name, _, query = path.partition("?")
        assert described.mismatch(name, query or "response_mode=preview", "application/json") is None
    assert described.mismatch("/maybe/true", "response_mode=unheard-of", "application/json") is None
    assert described.seen[-1].status_code == 400


def test_a_mode_with_fields_of_its_own_is_described(serve):
    kind = RecordType(["id"], ["id", "title"], ["id", "title", "glimpse"], made={"glimpse": snippet("text")})
    described = Described(serve(library(contract(budget=900, kinds={"books": kind}), controls=True)))
    assert described.mismatch("/books", "response_mode=preview") is None
    assert "glimpse" in described.seen[-1].json()["results"][0]


@pytest.mark.parametrize("settings", [{"budget": 700}, {"budgets": {"books": 600}}, {}])
def test_the_sweep_finds_nothing_wrong_with_typed_routes(settings):
    kept = contract(**settings)
    examples = {"GET /maybe/{there}": {"there": True}, "GET /either/{many}": [{"many": True}, {"many": False}]}
    sweep(library(kept, controls=True), examples=examples, contract=kept).raise_for_failures()
