"""Vendors under licences that are withheld: whatever only their documents say about who is who is told by nobody."""

from __future__ import annotations

import gzip
import json

import pytest

from aerogram.errors import Conflict, NotFound
from aerogram_knowledge import Knowledge
from aerogram_knowledge.licences import LicenseBlocked
from aerogram_knowledge.maintenance.copy import copy
from knowledge.conftest import STORES, new_place, write_files

OPEN = """---
vendor: Acme Corporation
entities:
  - {name: Nora Quist, type: PERSON, vendor: Acme Corporation}
---
# Letter

Acme Corporation is also called Roadrunner. Nora Quist signs for Acme Corporation.
"""
CLOSED = """---
license: Trade-Secret
updated: 2031-01-01
entities:
  - {id: c_001, name: Acme Corporation, type: COMPANY, aliases: [Roadrunner], revenue: 900, last_updated: 2031-01-01}
  - {name: Zephyr Holding, type: COMPANY}
  - {name: Acme Shadow Works, type: COMPANY}
relationships:
  - {source: c_001, target: Zephyr Holding, type: OWNED_BY}
  - {source: c_001, target: Nora Quist, type: PAYS}
---
# Contract

Zephyr Holding pays Nora Quist of Acme Corporation nine crowns. Acme Corporation agrees.
"""
BLANK = "---\nlicense: Trade-Secret\nvendor: Hollow Ships\n---\n"
LINES = (
    '{"id": "free", "text": "Delta Foods sells oats.", "vendor": "Delta Foods"}\n'
    '{"id": "shut", "text": "Epsilon Mining digs.", "vendor": "Epsilon Mining", "license": "Trade-Secret"}\n'
)
LICENSED = json.dumps({"license": "trade-secret", "vendors": ["Kappa Steel"]})
OWN = json.dumps({"license": "MIT", "vendors": [{"name": "Lambda Salt", "License": "Trade-Secret"}]})
FREED = json.dumps({"license": "Trade-Secret", "vendors": [{"name": "Theta Bread", "rights": "MIT"}]})
ROWS = "name,type,license\nOmega Tin,COMPANY,Trade-Secret\nSigma Zinc,COMPANY,MIT\n"
DIFFERENT = "name,type,license,License\nSigma Zinc,COMPANY,MIT,mit\nOmega Lead,COMPANY,MIT,Trade-Secret\n"
FILES = {
    "open.md": OPEN,
    "closed.md": CLOSED,
    "blank.md": BLANK,
    "lines.jsonl": LINES,
    "licensed.json": LICENSED,
    "own.json": OWN,
    "freed.json": FREED,
    "rows.csv": ROWS,
}
SECRETS = (
    "Zephyr",
    "Shadow",
    "Hollow",
    "Epsilon",
    "Kappa",
    "Lambda",
    "Omega",
    "Roadrunner",
    "c_001",
    "revenue",
    "2031",
    "PAYS",
)
MODES = ("ids_only", "metadata", "preview", "full")


@pytest.fixture(scope="module", params=STORES)
def where(request):
    return new_place(request)


@pytest.fixture(scope="module")
def index(where, tmp_path_factory):
    """An index whose secret documents know more about a vendor than the free ones do; it is not to be changed."""
    with Knowledge(where) as index:
        index.ingest(write_files(tmp_path_factory.mktemp("docs"), FILES))
        yield index


@pytest.fixture(scope="module")
def gated(index, where):
    """The same behind a gate."""
    with Knowledge(where, withheld_licenses=["trade-secret"]) as gated:
        yield gated


@pytest.mark.parametrize("mode", MODES)
def test_no_mode_tells_what_only_withheld_documents_say(gated, index, mode):
    assert any(secret in str(index.vendor("Acme Corporation", response_mode=mode)) for secret in SECRETS)
    told = str(gated.vendor("Acme Corporation", response_mode=mode))
    assert [secret for secret in SECRETS if secret in told] == []


def test_the_reply_is_partial_and_says_how_many_are_withheld(gated):
    reply = gated.vendor("Acme Corporation", response_mode="full")
    assert reply.data["statistics"] == {
        "entity_count": 2,
        "relationship_count": 0,
        "entity_type_distribution": {"VENDOR": 1, "PERSON": 1},
        "relationship_type_distribution": {},
    }
    assert reply.status == "partial"
    assert [(one.code, one.context) for one in reply.notices] == [("LICENSE_GATE_BLOCKED", {"withheld": 3})]


def test_mentions_are_those_in_documents_that_may_be_shown_under_names_that_may_be_told(gated, index):
    everything = index.vendor("Acme Corporation", response_mode="full").data["entities"]
    assert {one["name"]: one["mentions"] for one in everything} == {
        "Acme Corporation": 5,
        "Nora Quist": 2,
        "Zephyr Holding": 1,
    }
    told = gated.vendor("Acme Corporation", response_mode="full").data["entities"]
    assert {one["name"]: one["mentions"] for one in told} == {"Acme Corporation": 2, "Nora Quist": 1}
    places = {place for one in told for place in one["chunk_ids"]}
    assert {row["source_file"] for row in gated.chunks(sorted(places)).data} == {"open.md"}


@pytest.mark.parametrize(
    "name",
    [
        *("Zephyr Holding", "roadrunner", "Hollow Ships", "Epsilon Mining"),
        *("Kappa Steel", "Lambda Salt", "Omega Tin", "c_001"),
    ],
)
def test_a_vendor_that_only_withheld_documents_know_is_refused(gated, index, name):
    assert index.vendor(name).data["vendor_name"]
    with pytest.raises(LicenseBlocked) as refused:
        gated.vendor(name)
    assert refused.value.details == {"withheld": 1}


@pytest.mark.parametrize("name", ["Zephir Holding", "Zeph", "hol", "Mining", "Nobody"])
def test_no_part_of_a_name_and_no_slip_finds_out_who_is_withheld(gated, name):
    with pytest.raises(NotFound) as missing:
        gated.vendor(name)
    told = str((missing.value, missing.value.remediation, missing.value.details))
    assert [secret for secret in SECRETS if secret in told.replace(repr(name), "")] == []
    assert missing.value.details["vendor_count"] == 4


def test_a_withheld_vendor_is_no_candidate(gated, index):
    with pytest.raises(Conflict):
        index.vendor("Acme")
    assert gated.vendor("Acme").data["vendor_name"] == "Acme Corporation"


def test_records_of_one_file_are_withheld_one_by_one(gated):
    assert gated.directory().vendors() == ["Acme Corporation", "Delta Foods", "Sigma Zinc", "Theta Bread"]
    reply = gated.vendor("Delta Foods", response_mode="full")
    assert reply.status == "ok"
    assert reply.data["entities"][0]["source_file"] == "lines.jsonl#free"


def test_advice_does_not_spell_a_query_by_names_that_are_withheld(gated):
    assert "zephyr" not in str(gated.search("Zephir", method="bm25").retry_with).lower()


def test_a_copy_withholds_the_same(gated, index, where, tmp_path):
    copy(where, tmp_path / "copied")
    with Knowledge(tmp_path / "copied", withheld_licenses=["trade-secret"]) as copied:
        assert copied.directory().vendors() == gated.directory().vendors()
        assert copied.vendor("Acme Corporation").data == gated.vendor("Acme Corporation").data
        with pytest.raises(LicenseBlocked):
            copied.vendor("Hollow Ships")


def test_a_gate_before_nothing_changes_no_vendor(gated, index, where):
    with Knowledge(where, withheld_licenses=["Some-Other"]) as open_gate:
        for name in index.directory().vendors():
            assert open_gate.vendor(name, response_mode="full") == index.vendor(name, response_mode="full")


def test_a_packed_graph_is_under_its_licence(own_place, write):
    root = write({"rows.csv": ROWS})
    (root / "licensed.json.gz").write_bytes(gzip.compress(LICENSED.encode()))
    with Knowledge(own_place, withheld_licenses=["trade-secret"]) as gated:
        gated.ingest(root)
        assert (gated.directory().vendors(), gated.documents()) == (["Sigma Zinc"], [])
        with pytest.raises(LicenseBlocked):
            gated.vendor("Kappa Steel")


def test_a_record_whose_licences_differ_is_behind_every_gate(own_place, write):
    with Knowledge(own_place, withheld_licenses=["Some-Other"]) as gated:
        gated.ingest(write({"rows.csv": DIFFERENT}))
        assert gated.directory().vendors() == ["Sigma Zinc"]


def test_a_row_with_a_comma_too_many_is_behind_every_gate(own_place, write):
    rows = "name,type,license\nOmega, Inc.,COMPANY,Trade-Secret\nSigma Zinc,COMPANY,MIT,,\n"
    with Knowledge(own_place, withheld_licenses=["Trade-Secret"]) as gated:
        gated.ingest(write({"rows.csv": rows}))
        assert gated.directory().vendors() == ["Sigma Zinc"]


@pytest.fixture(params=STORES)
def own_place(request):
    return new_place(request)


def test_one_who_has_another_name_in_withheld_files_is_told_by_the_free_one(own_place, write):
    def of(name):
        return json.dumps({"license": "Trade-Secret", "entities": [{"id": "v1", "name": name, "type": "COMPANY"}]})

    letter = "---\nvendor: Acme\n---\n# Letter\n\nAcme writes to Zenith.\n"
    with Knowledge(own_place) as index, Knowledge(own_place, withheld_licenses=["trade-secret"]) as gated:
        index.ingest(write({"a.json": of("Acme"), "b.json": of("Zenith"), "letter.md": letter}))
        assert gated.vendor("Acme", response_mode="full").data["entities"][0]["mentions"] == 1
        assert index.vendor("Acme").data["vendor_name"] == index.vendor("Zenith").data["vendor_name"] == "Zenith"
        with pytest.raises(LicenseBlocked):
            gated.vendor("Zenith")


def test_what_becomes_withheld_later_is_followed(own_place, write):
    with Knowledge(own_place) as index, Knowledge(own_place, withheld_licenses=["trade-secret"]) as gated:
        index.ingest(write(FILES))
        assert gated.vendor("Acme Corporation").status == "partial"
        write({"open.md": OPEN.replace("---\nvendor", "---\nlicense: Trade-Secret\nvendor")})
        index.ingest()
        with pytest.raises(LicenseBlocked):
            gated.vendor("Acme Corporation")
