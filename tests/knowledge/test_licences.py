"""Licences: what may not be shown is not, whichever way it is asked for, and the reply says so."""

from __future__ import annotations

import json
import shutil
import time

import anyio
import pytest

from aerogram.dialects import dialect
from aerogram.errors import Forbidden
from aerogram.state import file_lock
from aerogram_knowledge import Knowledge
from aerogram_knowledge.licences import LicenceName, LicenseBlocked

OPEN = "---\nlicense: CC-BY-4.0\n---\n# Ferry\n\nThe ferry to Holm leaves at noon.\n"
CLOSED = "---\nlicense: Trade-Secret\n---\n# Ferry contract\n\nThe ferry company pays nine crowns for each berth.\n"
SILENT = "# Ferry weather\n\nThe ferry waits when there is fog.\n"


@pytest.fixture
def gated(write, index, where):
    """An index over a free, a secret and a silent document, with and without its gate."""
    index.ingest(write({"open.md": OPEN, "secret/closed.md": CLOSED, "silent.md": SILENT}))
    with Knowledge(where, withheld_licenses=["trade-secret", " "]) as gated:
        yield gated


@pytest.mark.parametrize("method", ["hybrid", "bm25", "vector"])
def test_a_withheld_document_is_not_found_and_the_reply_is_partial(gated, index, method):
    assert "secret/closed.md" in {row["source_file"] for row in index.search("ferry", method=method).data}
    reply = gated.search("ferry", method=method, response_mode="full")
    assert {row["source_file"] for row in reply.data} == {"open.md", "silent.md"}
    assert reply.page.total == 2
    assert reply.status == "partial"
    (notice,) = [one for one in reply.notices if one.code == "LICENSE_GATE_BLOCKED"]
    assert notice.context == {"withheld": 1}
    assert "nine crowns" not in str(reply)


def test_a_reply_without_anything_withheld_is_as_it_would_be_without_a_gate(gated, index):
    asked = {"query": "noon Holm", "method": "bm25", "response_mode": "full"}
    assert gated.search(**asked).data == index.search(**asked).data
    assert gated.search(**asked).status == "ok"


def test_when_everything_is_withheld_the_caller_is_refused(gated):
    with pytest.raises(LicenseBlocked) as refused:
        gated.search("berth crowns", method="bm25")
    assert isinstance(refused.value, Forbidden)
    assert refused.value.code == "LICENSE_GATE_BLOCKED"
    assert refused.value.details == {"withheld": 1}


def test_no_filter_opens_the_gate(gated):
    with pytest.raises(LicenseBlocked):
        gated.search("ferry", filters={"license": "Trade-Secret"})
    with pytest.raises(LicenseBlocked):
        gated.search("ferry", filters={"path": "secret"})


def test_withheld_chunks_are_not_read_by_their_ids(gated, index):
    ids = {row["source_file"]: row["chunk_id"] for row in index.search("ferry").data}
    reply = gated.chunks(list(ids.values()))
    assert reply.status == "partial"
    assert {row["source_file"] for row in reply.data} == {"open.md", "silent.md"}
    assert [one.code for one in reply.notices] == ["LICENSE_GATE_BLOCKED"]
    with pytest.raises(LicenseBlocked):
        gated.chunks([ids["secret/closed.md"]])


def test_a_withheld_document_is_neither_read_nor_digested(gated):
    assert gated.text("open.md").endswith("The ferry to Holm leaves at noon.")
    with pytest.raises(LicenseBlocked):
        gated.text("secret/closed.md")
    with pytest.raises(LicenseBlocked):
        anyio.run(gated.digest, "secret/closed.md", "What does a berth cost?")


def test_a_document_that_says_by_now_that_it_is_withheld_is_neither_read_nor_digested(write, tmp_path):
    folder = write({"open.md": OPEN})
    with Knowledge(tmp_path / "own", withheld_licenses=["trade-secret"]) as gated:
        gated.ingest(folder)
        write({"open.md": CLOSED})
        with pytest.raises(LicenseBlocked):
            gated.text("open.md")
        with pytest.raises(LicenseBlocked):
            anyio.run(gated.digest, "open.md", "What does a berth cost?")
        write({"open.md": OPEN.replace("noon", "dawn").replace("# Ferry", "# Boat")})
        (source,) = anyio.run(gated.digest, "open.md", "When does the ferry leave?").data["sources"]
    assert source["title"] == "Boat"


def test_a_withheld_copy_of_a_document_is_not_told_as_its_likeness(write, index, where):
    text = "# Ferry\n\n" + " ".join(f"The ferry number {n} leaves the pier at noon." for n in range(12))
    index.ingest(write({"open.md": text, "closed.md": f"---\nlicense: Trade-Secret\n---\n{text}"}))
    (row,) = index.search("ferry pier noon", response_mode="full").data
    assert row["deduplication"]["similar_chunk_ids"]
    with Knowledge(where, withheld_licenses=["trade-secret"]) as gated:
        (row,) = gated.search("ferry pier noon", response_mode="full").data
    assert row["deduplication"] == {"is_duplicate": False, "similar_chunk_ids": [], "confidence": 0.0}


def test_a_callers_own_filter_that_leaves_nothing_is_told_as_well(index, write):
    index.ingest(write({"open.md": OPEN}))
    reply = index.search("ferry", filters={"license": "MIT"})
    assert (reply.status, reply.empty_reason) == ("empty", "license_blocked")
    assert [one.code for one in reply.notices] == ["LICENSE_GATE_BLOCKED"]


@pytest.mark.parametrize("name", ["standard-v2", "knowledge-1.0", "response-v2"])
def test_every_dialect_can_say_so(gated, name):
    body = dialect(name).encode(gated.search("ferry").complete(request_id="r1"))
    dialect(name).validate(body)
    assert "LICENSE_GATE_BLOCKED" in str(body)


SAME = {
    "trade-secret": (
        "Trade Secret", "TradeSecret", "TRADE_SECRET", "trade\u2010secret", "Ｔｒａｄｅ-Secret", "trade\u200bsecret",
        "LicenseRef-Trade-Secret", "MIT OR Trade-Secret", "(MIT AND Trade Secret)", "Trade Secret of Palmaris",
    ),
    "GPL-3.0": (
        "gpl3", "GPL v3", "GPLv3+", "GPL-3.0-only", "GPL-3.0-or-later WITH Classpath-exception-2.0", "GPL",
        "GPL-2.0-or-later", "GPL (>= 2)", "GNU General Public License, version 2 or any later version",
        "https://www.gnu.org/licenses/gpl-3.0.html", "GPL 2 or (at your option) any later version", "GPL 2 or 3",
        "GNU General Public License version 2 or, at your option, any later version", "GPL 2.0 - 3.0",
        "GPL version 2 of the License, or (at your option) any later version", "GNU Public License v3", "GPL 2 and v3",
        "GPL 1 or 2 or later", "GPL-2.0, GPL-3.0", "GPL-2.0 or any later versions", "GPL-2.0+ 2.1",
    ),
    "AGPL-3.0": ("GNU Affero GPL v3", "Affero GPL", "GNU Affero General Public License"),
    "LGPL-2.1": ("GNU Lesser GPL", "GNU Library GPL 2.1", "Lesser General Public License 2 or 2.1"),
    "CC-BY-NC-4.0": (
        "CC BY-NC 4.0", "https://creativecommons.org/licenses/by-nc/4.0/",
        "Creative Commons Attribution-NonCommercial 4.0 International", "Attribution-NonCommercial 4.0",
        "CC Attribution NonCommercial",
    ),
    "CC0": ("CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
    "BSD-3-Clause": ("3-Clause BSD License", "BSD"),
    "W3C": ("w3c",),
    "license": ("License",),
}  # fmt: skip
OTHERS = {
    "GPL-3.0": (
        "MIT",
        "LGPL-3.0",
        "GNU Affero General Public License v3",
        "GPL-2.0",
        "GPL-4.0-or-later",
        "Apache-2.0",
        "GNU Affero GPL v3",
        "GPL 1 or 2",
        "GPL 1.0 - 2.0",
        "GNU Lesser GPL 3",
    ),
    "CC-BY-NC-4.0": ("CC-BY-4.0", "CC0-1.0", "CC-BY-NC-3.0", "https://creativecommons.org/licenses/by/4.0/"),
    "BSD-3-Clause": ("BSD-2-Clause",),
    "CC-BY-4.0": ("Attribution Assurance License",),
    "MIT": ("permit",),
    "W3C": ("WC",),
    "license": ("MIT License",),
}


@pytest.mark.parametrize(("named", "stated"), [(name, one) for name, several in SAME.items() for one in several])
def test_a_licence_is_known_by_each_of_its_spellings(named, stated):
    assert LicenceName.of(named).is_in(stated)


@pytest.mark.parametrize(("named", "stated"), [(name, one) for name, several in OTHERS.items() for one in several])
def test_another_licence_is_not_taken_for_it(named, stated):
    assert not LicenceName.of(named).is_in(stated)


@pytest.mark.parametrize("method", ["hybrid", "bm25", "vector"])
def test_what_is_withheld_is_so_in_each_of_its_spellings(write, index, where, method):
    """Also one that comes into the index while the gate is there."""
    index.ingest(write({"open.md": OPEN, "one.md": CLOSED.replace("Trade-Secret", "TRADE SECRET")}))
    with Knowledge(where, withheld_licenses=["trade-secret"]) as gated:
        assert {row["source_file"] for row in gated.search("ferry", method=method).data} == {"open.md"}
        gated.ingest(write({"two.md": CLOSED.replace("Trade-Secret", "MIT OR LicenseRef-TradeSecret")}))
        reply = gated.search("ferry", method=method)
        assert {row["source_file"] for row in reply.data} == {"open.md"}
        assert gated.documents() == ["open.md"]
        with pytest.raises(LicenseBlocked):
            gated.text("two.md")


def test_a_licence_with_a_number_in_signs_that_no_decimals_are_made_of_stops_no_search(write, index, where):
    stated = {"ethiopic.md": "Licence \u1369", "circled.md": "Licence \u2460", "secret.md": "Trade-Secret \u1369"}
    index.ingest(write({name: f"---\nlicense: {one}\n---\nThe ferry of {name}.\n" for name, one in stated.items()}))
    with Knowledge(where, withheld_licenses=["trade-secret"]) as gated:
        found = gated.search("ferry", method="bm25")
    assert (found.status, {row["source_file"] for row in found.data}) == ("partial", {"circled.md", "ethiopic.md"})


def test_licences_that_are_made_to_be_read_slowly_hold_up_no_search(write, tmp_path):
    """One sign of Arabic stands for eighteen, and each licence that documents state is held against those withheld."""
    lines = [json.dumps({"text": f"Ferry {one}.", "license": "\ufdfa" * 290 + str(one)}) for one in range(300)]
    withheld = ["GPL-3.0", "AGPL-3.0", "Trade-Secret", "CC-BY-NC-4.0"]
    with Knowledge(tmp_path / "index", withheld_licenses=withheld) as gated:
        gated.ingest(write({"open.md": OPEN, "many.jsonl": "\n".join(lines)}))
        started = time.process_time()
        assert {row["source_file"] for row in gated.search("ferry").data} == {"open.md"}
        assert time.process_time() - started < 5


@pytest.mark.parametrize("method", ["hybrid", "bm25", "vector"])
def test_a_document_that_becomes_withheld_is_not_shown_while_its_writer_is_between_two_steps(write, tmp_path, method):
    folder, place = write({"open.md": OPEN, "silent.md": SILENT}), tmp_path / "own"
    with Knowledge(place) as index:
        index.ingest(folder)
        shutil.copytree(place / "keywords", tmp_path / "before")
        write({"open.md": OPEN.replace("CC-BY-4.0", "Trade-Secret")})
        index.ingest()
    shutil.rmtree(place / "keywords")
    shutil.copytree(tmp_path / "before", place / "keywords")
    with Knowledge(place, withheld_licenses=["trade-secret"]) as gated, file_lock(place / "write.lock"):
        found = gated.search("ferry noon", method=method, response_mode="full")
    assert (found.status, {row["source_file"] for row in found.data}) == ("partial", {"silent.md"})
    assert "Holm" not in str(found)


def test_a_gate_in_front_of_free_documents_holds_nothing_back(write, index, where):
    index.ingest(write({"open.md": OPEN, "silent.md": SILENT}))
    with Knowledge(where, withheld_licenses=["trade-secret"]) as gated:
        reply = gated.search("ferry")
        assert (reply.status, len(reply.data)) == ("ok", 2)
