"""Citations: whatever a caller pages, selects or cuts, every pointer that is sent names what it was written for."""

import asyncio
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from fastmcp import Client, FastMCP
from hypothesis import given
from hypothesis import strategies as st

from aerogram import Archive, Call, Citation, Contract, Reply, dialect
from aerogram.answer import answer
from aerogram.channels import Sizer
from aerogram.digest import Digester, DigestPolicy, digest_many, reply_of
from aerogram.fastapi import Versions, install
from aerogram.fastmcp import install as install_tools

ROWS = [{"id": f"UNI-{n}", "amount": n, "body": f"The grant of UNI-{n}. " * 20} for n in range(20)]
CITED = tuple(Citation(f"source-of-{n}", field_paths=(f"/results/{n}/amount", f"/results/{n}/body")) for n in range(20))
WHOLE = Citation("the register", title="Where all of it comes from")


def at(body: Any, path: str) -> Any:
    """What stands at a JSON Pointer; a pointer to nothing is an error."""
    for step in path.split("/")[1:]:
        body = body[int(step)] if isinstance(body, list) else body[step.replace("~1", "/").replace("~0", "~")]
    return body


def assert_true(body: dict[str, Any]) -> None:
    """Every pointer of a body leads into the row that its citation is the source of."""
    for cited in body["citations"]:
        for path in cited.get("field_paths", []):
            at(body, path)
            number = cited["source_id"].rpartition("-")[2]
            assert at(body, "/".join(path.split("/")[:3]))["id"] == f"UNI-{number}"


def sources(body: dict[str, Any]) -> list[str]:
    return [cited["source_id"] for cited in body["citations"]]


@pytest.fixture
def api():
    app = FastAPI()
    install(app, Contract(archive=Archive.in_memory()), Versions(controls=True, default="v2"))

    @app.get("/grants")
    def grants():
        return Reply.ok(ROWS, citations=(WHOLE, *CITED))

    @app.get("/register")
    def register():
        cited = [Citation(f"source-of-{n}", field_paths=(f"/results/0/rows/{n}/body",)) for n in range(20)]
        return Reply.ok({"name": "register", "rows": ROWS}, citations=cited)

    return TestClient(app)


def test_each_page_has_the_citations_of_its_own_rows(api):
    address, seen = "/grants?page_size=3", []
    while address:
        answer = api.get(address)
        body = answer.json()
        assert_true(body)
        assert sources(body) == ["the register", *(f"source-of-{row['amount']}" for row in body["results"])]
        seen += [row["id"] for row in body["results"]]
        address = answer.links["next"]["url"] if "next" in answer.links else None
    assert seen == [row["id"] for row in ROWS]


def test_the_rows_of_an_object_are_paged_with_their_citations(api):
    first = api.get("/register?page_size=4")
    second = api.get(first.links["next"]["url"]).json()
    assert [row["id"] for row in second["results"][0]["rows"]] == ["UNI-4", "UNI-5", "UNI-6", "UNI-7"]
    assert [(one["source_id"], one["field_paths"]) for one in second["citations"]] == [
        (f"source-of-{n + 4}", [f"/results/0/rows/{n}/body"]) for n in range(4)
    ]


def test_members_that_were_not_asked_for_are_not_cited(api):
    body = api.get("/grants?fields=id,amount").json()
    assert_true(body)
    assert [one.get("field_paths") for one in body["citations"]] == [[], *([f"/results/{n}/amount"] for n in range(20))]


def test_a_citation_goes_with_the_last_member_that_it_speaks_of_and_one_of_the_whole_stays(api):
    assert sources(api.get("/grants?response_mode=ids_only").json()) == ["the register"]


@pytest.mark.parametrize("most", [600, 1_000, 1_500, 2_000, 2_500, 3_000, 3_500])
def test_what_a_budget_cuts_is_not_cited(api, most):
    assert_true(api.get(f"/grants?max_tokens={most}").json())


@given(st.integers(300, 5_000), st.booleans())
def test_a_budget_holds_and_no_pointer_dangles_whatever_the_size(budget, paged):
    contract = Contract(dialect="standard-v2", budget=budget, channels="text", archive=Archive.in_memory())
    call = Call(contract, operation="grants", page_size=7 if paged else None)
    reply = asyncio.run(answer(call, Reply.ok(ROWS, citations=CITED)))
    body = contract.speaker.encode(reply)
    if reply.problem is None:
        assert Sizer(contract.speaker, "text")(reply) <= budget
    assert_true(body)


async def test_tools_cite_as_routes_do():
    server = FastMCP("grants")
    install_tools(server, dialect="standard-v2", budgets={"small": 2_500}, archive=Archive.in_memory(), controls=True)

    @server.tool
    def grants() -> Reply:
        return Reply.ok(ROWS, citations=CITED)

    @server.tool
    def small() -> Reply:
        return Reply.ok(ROWS, citations=CITED)

    async with Client(server) as client:
        asked = [("grants", {"page_size": 3}), ("grants", {"fields": ["id"]}), ("grants", {}), ("small", {})]
        bodies = [(await client.call_tool(name, given)).structured_content for name, given in asked]
        cursor = bodies[0]["aerogram"]["page"]["cursor"]
        bodies.append((await client.call_tool("grants", {"cursor": cursor})).structured_content)
    for body in bodies:
        assert_true(body)
    assert [len(body["citations"]) for body in bodies[:3]] == [3, 0, 20]
    assert sources(bodies[-1]) == ["source-of-3", "source-of-4", "source-of-5"]


@pytest.mark.parametrize(
    ("data", "said", "sent"),
    [
        ([{"a": 1}, {"a": 2}], "/1/a", "/results/1/a"),
        ([{"a": 1}, {"a": 2}], "/results/1/a", "/results/1/a"),
        ({"a": {"b/c": 1}}, "/a/b~1c", "/results/0/a/b~1c"),
        ({"a": {"b/c": 1}}, "/results/0/a/b~1c", "/results/0/a/b~1c"),
        ({"results": [{"a": 1}]}, "/results/0/a", "/results/0/results/0/a"),
        ({"results": [{"a": 1}]}, "/results/0/results/0/a", "/results/0/results/0/a"),
        ({"a": 1}, "/meta/request_id", "/meta/request_id"),
        ({"a": 1}, "a note", "a note"),
        ([{"a": 1}], "", ""),
    ],
)
async def test_a_handler_may_point_into_its_data_or_into_the_results(data, said, sent):
    contract = Contract(dialect="standard-v2")
    reply = await answer(Call(contract), Reply.ok(data, citations=[Citation("s", field_paths=(said,))]))
    assert [one.field_paths for one in reply.citations] == [(sent,)]


@pytest.mark.parametrize(
    "path", ["/results/1", "/results/-", "/results/00", "/results/0/b", "/results/²", "/results/0/a/0"]
)
async def test_a_pointer_into_results_that_are_not_there_is_not_sent(path):
    reply = await answer(Call(Contract()), Reply.ok([{"a": 1}], citations=[Citation("s", field_paths=(path,))]))
    assert reply.citations == ()


async def test_the_citations_of_a_digest_point_to_its_text_in_a_standard_body():
    digester = Digester(DigestPolicy(mode="always"), archive=Archive.in_memory())
    text = b"The ferry leaves Holm at six. A ticket costs four crowns."
    batch = await digest_many(digester, {"f.txt": text}, "What does a ticket cost?")
    reply = await answer(Call(Contract(dialect="standard-v2")), reply_of(batch))
    body = dialect("standard-v2").encode(reply)
    assert body["citations"]
    for cited in body["citations"]:
        assert all("four crowns" in at(body, path) for path in cited["field_paths"])
