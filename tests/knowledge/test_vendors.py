"""Vendors: who is who, in four modes, by names as people write them."""

from __future__ import annotations

import datetime as dt
import gzip
import json
import time

import pytest

from aerogram.dialects import dialect
from aerogram.dialects.knowledge_v1 import VendorInfoFull, VendorInfoIDs, VendorInfoMetadata, VendorInfoPreview
from aerogram.errors import Conflict, NotFound, ValidationFailed
from aerogram_knowledge.store import Graph
from aerogram_knowledge.vendors.directory import VendorDirectory
from aerogram_knowledge.vendors.graph import _of_rows
from knowledge.documents import GRAPH


@pytest.mark.parametrize(
    ("mode", "model"),
    [
        ("ids_only", VendorInfoIDs),
        ("metadata", VendorInfoMetadata),
        ("preview", VendorInfoPreview),
        ("full", VendorInfoFull),
    ],
)
def test_each_mode_is_a_record_of_the_contract(shared_vendors, mode, model):
    reply = shared_vendors.vendor("Acme Corporation", response_mode=mode)
    model.model_validate(reply.data, strict=True)
    assert set(reply.data) == set(model.model_fields)
    dialect("knowledge-1.0").validate(dialect("knowledge-1.0").encode(reply.complete()))


def test_the_last_update_is_the_latest_moment_in_utc(shared_vendors):
    assert shared_vendors.vendor("Acme Corporation", response_mode="metadata").data["last_updated"] == (
        "2026-04-01T00:00:00Z"
    )
    dates = ("2026-04-01", "2026-04-02T01:00:00+02:00", dt.date(2026, 3, 1), "last spring", None)
    entities = [
        {"id": f"e{number}", "name": f"Part {number}", "type": "PRODUCT", "vendor": "Acme", "updated": date}
        for number, date in enumerate(dates)
    ]
    graph = Graph([{"id": "v", "name": "Acme", "type": "COMPANY"}, *entities], [])
    assert VendorDirectory(graph).vendor("Acme")["last_updated"] == "2026-04-01T23:00:00Z"


def test_the_caps_of_the_contract_hold_and_are_told(shared_vendors):
    preview = shared_vendors.vendor("Acme Corporation", response_mode="preview")
    assert (len(preview.data["entities"]), len(preview.data["relationships"])) == (5, 5)
    assert preview.notices[0].context == {"total_counts": {"entities": 123, "relationships": 122}}
    full = shared_vendors.vendor("Acme Corporation", response_mode="full").data
    assert (len(full["entities"]), len(full["relationships"])) == (100, 122)


def test_statistics_count_everything_whatever_is_shown(shared_vendors):
    statistics = shared_vendors.vendor("Acme Corporation", response_mode="metadata").data["statistics"]
    assert (statistics["entity_count"], statistics["relationship_count"]) == (123, 122)
    assert statistics["entity_type_distribution"] == {"PRODUCT": 120, "COMPANY": 2, "PERSON": 1}
    assert statistics["relationship_type_distribution"] == {"OWNS": 120, "PARTNER": 1, "EMPLOYS": 1}


def test_mentions_in_documents_are_found_and_lead_to_their_chunks(shared_vendors):
    reply = shared_vendors.vendor("Acme Corporation", response_mode="preview")
    acme, quist = reply.data["entities"][:2]
    assert (acme["name"], acme["mentions"]) == ("Acme Corporation", 2)
    assert (quist["name"], quist["mentions"]) == ("Nora Quist", 1)
    (chunk,) = shared_vendors.chunks(acme["chunk_ids"]).data
    assert "Acme Corporation has written" in chunk["chunk_text"]
    assert reply.actions[0].args == {"chunk_ids": acme["chunk_ids"]}


def test_very_many_names_that_begin_alike_are_looked_for_as_fast_as_others(write, index):
    """Registers of companies and people are full of those; what is written costs what its words do."""
    named = [{"name": f"Harbour Office {number}"} for number in range(20_000)]
    letter = "# Letter\n\n" + "The harbour is open. Harbour Office 7 of the harbour office says so.\n\n" * 10_000
    files = {"vendors.json": json.dumps({"vendors": [*named, {"name": "Harbour Office"}]}), "letter.md": letter}
    started = time.process_time()
    index.ingest(write(files))
    assert time.process_time() - started < 20
    counts = [
        index.vendor(name, response_mode="full").data["entities"][0] for name in ("harbour office 7", "harbour office")
    ]
    assert [one["mentions"] for one in counts] == [10_000, 10_000]


@pytest.mark.parametrize("name", ["acme corporation", "ACME", "acm", "corporation", "Acme Corp", "v1"])
def test_a_partial_name_is_enough_when_it_means_one(shared_vendors, name):
    assert shared_vendors.vendor(name).data["vendor_name"] == "Acme Corporation"


def test_an_ambiguous_name_is_a_conflict_with_its_candidates(shared_vendors):
    with pytest.raises(Conflict) as conflict:
        shared_vendors.vendor("Borealis")
    names = [one["name"] for one in conflict.value.details["candidates"]]
    assert names == ["Borealis Data GmbH", "Borealis Ships AS"]
    assert shared_vendors.vendor(names[1]).data["vendor_name"] == "Borealis Ships AS"


def test_a_near_miss_is_told_what_was_meant(shared_vendors):
    with pytest.raises(NotFound) as missing:
        shared_vendors.vendor("Acne Corporatoin")
    assert missing.value.details["did_you_mean"] == ["Acme Corporation"]
    with pytest.raises(NotFound) as nobody:
        shared_vendors.vendor("Zyx")
    assert nobody.value.details["did_you_mean"] == []
    assert nobody.value.remediation.startswith("Use the name of one of the 3 vendors: Acme Corporation, Borealis Data")


def test_only_vendors_that_are_near_are_offered_for_a_name_that_nobody_has(write, index):
    graph = {"entities": [{"name": "France", "type": "COUNTRY"}, {"name": "Lindqvist Freight AB", "type": "COMPANY"}]}
    index.ingest(write({"vendors.json": json.dumps(graph)}))
    for asked, meant in {
        "acme": [],
        "Frence": [],
        "Linqvist": ["Lindqvist Freight AB"],
        "lindqvist frieght": ["Lindqvist Freight AB"],
        "AC": [],
    }.items():
        with pytest.raises(NotFound) as missing:
            index.vendor(asked)
        assert missing.value.details["did_you_mean"] == meant, asked
        assert ("did you mean" in str(missing.value)) == bool(meant)


def test_an_index_without_vendors_says_so(shared_small):
    with pytest.raises(NotFound) as missing:
        shared_small.vendor("Acme")
    assert "knows of no vendor" in missing.value.remediation


@pytest.mark.parametrize("name", ["", "  ", "…", "x" * 201, None, 7])
def test_a_name_that_is_none_is_refused(shared_vendors, name):
    with pytest.raises(ValidationFailed):
        shared_vendors.vendor(name)


@pytest.mark.parametrize("aliases", [5, True, 1.5, "Zed", "", {"a": 1}, [["x"], None, True, 7, "Zed", {}], None])
def test_aliases_that_are_no_names_stop_nothing(write, index, aliases):
    """In front matter and in a table of JSON: whoever writes a document decides what stands there."""
    record = {"name": "Delta Foods", "type": "COMPANY", "aliases": aliases}
    front = f"---\nentities: [{json.dumps(record | {'name': 'Epsilon'})}]\n---\n# Note\n\nZed and 7 Delta Foods.\n"
    done = index.ingest(write({"v.json": json.dumps([record]), "note.md": front}))
    assert (done.added, done.problems) == (2, {})
    assert index.vendor("Delta Foods").status == "ok"
    assert index.search("qwertz", method="bm25").status == "empty"
    if "Zed" in str(aliases):
        assert {one["name"] for one in _candidates(index, "Zed")} == {"Delta Foods", "Epsilon"}


def _candidates(index, name):
    with pytest.raises(Conflict) as several:
        index.vendor(name)
    return several.value.details["candidates"]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-05:00"])
def test_the_first_and_the_last_moment_there_is_are_told_as_they_are(write, index, moment):
    index.ingest(write({"v.json": json.dumps([{"name": "Delta Foods", "type": "COMPANY", "updated": moment}])}))
    assert index.vendor("Delta Foods").data["last_updated"] == f"{moment[:19]}Z"


@pytest.mark.parametrize("said", [5, "none", [1, 2], None])
def test_what_a_file_says_of_chunks_is_not_taken_for_those_of_the_index(write, index, said):
    record = {"name": "Delta Foods", "type": "COMPANY", "chunk_ids": said, "mentions": said}
    index.ingest(write({"v.json": json.dumps([record])}))
    reply = index.vendor("Delta Foods", response_mode="full")
    assert reply.data["entities"][0]["mentions"] == 0
    assert "chunk_ids" not in reply.data["entities"][0]
    assert [action.tool for action in reply.actions] == ["semantic_search"]


def test_tables_and_front_matter_say_who_is_who_too(write, index):
    index.ingest(
        write(
            {
                "people.csv": "id,name,type,vendor\nc1,Delta Foods,COMPANY,\np9,Ann Berg,PERSON,Delta Foods\n",
                "ties.csv": "source;target;type\nDelta Foods;Ann Berg;employs\n",
                "delta.md": "---\nvendor: Delta Foods\nentities:\n  - name: Delta Oats\n    type: product\n"
                "relationships:\n  - {source: Delta Foods, target: Delta Oats, type: owns}\n---\n# Delta\n\nOats.\n",
            }
        )
    )
    found = index.vendor("delta foods", response_mode="full").data
    assert {one["name"]: one["type"] for one in found["entities"]} == {
        "Delta Foods": "COMPANY",
        "Ann Berg": "PERSON",
        "Delta Oats": "PRODUCT",
    }
    assert {(one["source"], one["type"]) for one in found["relationships"]} == {("c1", "EMPLOYS"), ("c1", "OWNS")}


@pytest.mark.parametrize(
    "data",
    [
        [{"id": 1, "title": "Printer broken", "text": "It prints blank pages."}],
        [{"name": "Ann", "description": "She brings blank pages."}],
        [{"id": 7, "name": "Pad", "type": "product", "vendor": "Acme", "description": "A hundred blank pages."}],
        [{"from": "ann@post", "to": "bob@post", "subject": "The blank pages"}],
        [{"name": "Acme", "type": "COMPANY", "text": "Acme sells blank pages."}],
        [{"name": "Acme", "type": "COMPANY"}, {"id": 2, "summary": "Somebody asks for blank pages."}],
        {"vendors": [{"name": "Acme"}], "body": "Acme sells blank pages."},
        {"entities": [{"name": "Acme", "type": "COMPANY"}], "letters": ["Acme sells blank pages."]},
        {"nodes": [{"id": 1, "label": "blank pages"}], "edges": [{"from": 1, "to": 1}]},
        {"entities": [{"name": "Printer", "description": "It prints blank pages."}]},
    ],
    ids=lambda data: json.dumps(data)[:30],
)
def test_json_that_is_not_surely_a_graph_is_text_that_is_found(write, index, data):
    done = index.ingest(write({"data.json": json.dumps(data)}))
    assert (done.added, done.chunks, done.problems, done.notes) == (1, 1, {}, {})
    assert index.search("blank pages").data[0]["source_file"] == "data.json"
    assert index.directory().vendors() == []


def test_a_table_of_other_things_is_told_and_is_no_graph(write, index):
    done = index.ingest(write({"tickets.csv": "id,title,text\n1,Printer broken,blank pages\n"}))
    assert list(done.problems) == ["tickets.csv"] and index.directory().vendors() == []


@pytest.mark.parametrize("name", ["people.csv.gz", "people.CSV.GZ", "people.csv", "graph.json.gz", "graph.json"])
def test_a_graph_may_be_packed(write, index, name):
    table, graph = "name,type\nDelta Foods,COMPANY\n", {"entities": [{"name": "Delta Foods", "type": "COMPANY"}]}
    text = table if name.startswith("people") else json.dumps(graph)
    root = write({"note.md": "# Oats\n\nDelta Foods sells oats.\n"})
    (root / name).write_bytes(gzip.compress(text.encode()))
    assert index.ingest(root).problems == {}
    assert index.documents() == ["note.md"]
    assert index.vendor("Delta Foods").data["statistics"]["entity_count"] == 1


class Row(dict):
    """A row of a table that counts how often it is compared with another one."""

    compared = 0

    def __eq__(self, other):
        Row.compared += 1
        return super().__eq__(other)

    __hash__ = None


def test_the_rows_of_a_table_of_both_kinds_are_not_compared_with_each_other():
    rows = [Row(source="a", target=f"b{n}") for n in range(100)] + [Row(name=f"b{n}") for n in range(100)]
    found = _of_rows(rows)
    assert (len(found.entities), len(found.relationships), Row.compared) == (100, 100, 0)


def test_a_graph_that_changes_is_followed(vendors, write):
    write({"vendors.json": json.dumps({"entities": GRAPH["entities"][1:3]})})
    vendors.ingest()
    with pytest.raises(NotFound):
        vendors.vendor("Acme Corporation")
    assert vendors.vendor("Borealis Data").data["statistics"]["relationship_count"] == 0
