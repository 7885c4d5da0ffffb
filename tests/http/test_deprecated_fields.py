"""Who no longer asks for a deprecated field hears no more of it."""

import pytest
from fastapi import FastAPI

from aerogram.contract import Contract
from aerogram.contract.deprecation import Deprecations
from aerogram.fastapi import Versions, install

CODE = "DEPRECATED_FIELD"


@pytest.fixture(scope="module")
def client(serve):
    app = FastAPI()
    deprecations = {"rows": Deprecations.of(fields={"state": "status", "/*/inner/old": None})}
    install(app, Contract(deprecations=deprecations), Versions(vendor="acme", default="v2", controls=True))

    @app.get("/rows")
    def rows():
        return [{"id": f"row-{number}", "state": "old", "inner": {"old": 1, "new": 2}} for number in range(5)]

    return serve(app)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("", ["state", "/*/inner/old"]),
        ("?page_size=2", ["state", "/*/inner/old"]),
        ("?fields=id,state", ["state"]),
        ("?fields=inner", ["/*/inner/old"]),
        ("?response_mode=full", ["state", "/*/inner/old"]),
        ("?fields=id", []),
        ("?fields=inner.new", []),
        ("?response_mode=ids_only", []),
        ("?fields=id&page_size=2", []),
    ],
)
def test_a_field_is_told_of_where_the_reply_has_it(client, query, named):
    warnings = client.get(f"/rows{query}").json()["warnings"]
    told = [one["message"] for one in warnings if one.get("code") == CODE]
    assert told == [f"The field {name!r} is deprecated" for name in named]
