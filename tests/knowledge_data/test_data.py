"""The sample documents, the vendor graph and the judged questions hold together."""

from __future__ import annotations

import csv
import importlib.util
import json
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pypdfium2
import pytest

from aerogram_knowledge.documents.front import date_of, front_of_html, split_front

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"
JUDGED = ROOT / "bench" / "data" / "knowledge"
DOCUMENTS = JUDGED / "documents"
QUESTIONS = [json.loads(line) for line in (JUDGED / "questions.jsonl").read_text("utf-8").splitlines()]
WRITTEN = sorted(one for folder in (SAMPLES, DOCUMENTS) for one in folder.rglob("*") if one.suffix in {".md", ".rst"})
PAGES = sorted(one for folder in (SAMPLES, DOCUMENTS) for one in folder.rglob("*.html"))


def program(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def graph() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The entities and relationships of both files."""
    said = json.loads((SAMPLES / "vendors.json").read_text("utf-8"))
    with (SAMPLES / "vendors.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    entities = said["entities"] + [row for row in rows if row["record"] == "entity"]
    return entities, said["relationships"] + [row for row in rows if row["record"] == "relationship"]


def test_every_answering_passage_stands_in_its_document_exactly_once():
    passages = [one for question in QUESTIONS for one in question["relevant"]]
    times = [(DOCUMENTS / one["path"]).read_text("utf-8").count(one["contains"]) for one in passages]
    assert times == [1] * len(passages)


def test_every_question_has_an_id_and_a_wording_of_its_own():
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS) >= 130
    assert len({question["question"] for question in QUESTIONS}) == len(QUESTIONS)


def test_the_halves_are_balanced_in_every_language_and_topic():
    sizes = Counter((question["half"], question["id"].rpartition("-")[0]) for question in QUESTIONS)
    topics = {topic for _, topic in sizes}
    assert {half for half, _ in sizes} == {"tune", "report"}
    assert all(abs(sizes["tune", topic] - sizes["report", topic]) <= 1 for topic in topics)
    assert Counter(topic[:2] for topic in topics) == {"en": 8, "de": 1, "ja": 1}


def test_every_document_is_asked_about():
    asked = {one["path"] for question in QUESTIONS for one in question["relevant"]}
    assert asked == {one.relative_to(DOCUMENTS).as_posix() for one in DOCUMENTS.rglob("*") if one.is_file()}


def test_keywords_alone_find_fewer_than_three_answers_in_four():
    difficulty = program(JUDGED / "difficulty.py")
    chunks = [one for path in sorted(DOCUMENTS.rglob("*.*")) for one in difficulty.chunks_of(path)]
    recalls = difficulty.measured(chunks, QUESTIONS)["keywords"][:, 0]
    assert 0.4 < float(np.mean(recalls)) < 0.75


@pytest.mark.parametrize("path", WRITTEN, ids=name)
def test_front_matter_says_title_category_publisher_licence_and_dates(path: Path):
    front = split_front(path.read_text("utf-8"))
    assert front.notes == ()
    assert all(front.said[key] for key in ("title", "category", "publisher", "license"))
    published, updated = date_of(front.said, "published"), date_of(front.said, "updated")
    assert published and updated and published <= updated


@pytest.mark.parametrize("path", PAGES, ids=name)
def test_a_page_says_title_category_publisher_licence_and_date(path: Path):
    assert {"title", "category", "publisher", "license", "date"} <= set(front_of_html(path.read_text("utf-8")))


def test_the_records_of_the_jsonl_sample_have_an_id_and_a_text():
    records = [json.loads(line) for line in (SAMPLES / "apis" / "faq.jsonl").read_text("utf-8").splitlines()]
    assert len({one["id"] for one in records}) == len(records) and all(one["text"] for one in records)


def test_the_samples_come_in_every_format_and_three_languages():
    kinds = Counter(one.suffix for one in SAMPLES.rglob("*") if one.is_file())
    assert {".md", ".html", ".txt", ".rst", ".jsonl", ".pdf", ".json", ".csv"} <= set(kinds)
    text = "".join(one.read_text("utf-8") for one in SAMPLES.rglob("*.md"))
    assert "有効期限" in text and "Auftragsverarbeitung" in text


def test_the_pdf_samples_have_several_pages_and_are_what_the_program_writes():
    pdfs = program(SAMPLES / "make_pdfs.py")
    for path, (title, text) in pdfs.DOCUMENTS.items():
        content = (SAMPLES / path).read_bytes()
        document = pypdfium2.PdfDocument(content)
        assert content == pdfs.pdf(title, text)
        assert len(document) >= 3 and title in document[0].get_textpage().get_text_range()
        document.close()


def test_the_vendor_graph_is_what_the_program_writes():
    vendors = program(SAMPLES / "make_vendors.py")
    assert json.loads((SAMPLES / "vendors.json").read_text("utf-8")) == vendors.graph_of_vendors()


def test_every_relationship_ties_two_entities_that_exist():
    entities, relationships = graph()
    ids = {one["id"] for one in entities}
    assert len(ids) == len(entities)
    assert len({one["id"] for one in relationships}) == len(relationships)
    assert {end for one in relationships for end in (one["source"], one["target"])} <= ids


def test_one_vendor_is_larger_than_the_caps_of_every_mode():
    entities, relationships = graph()
    own = {one["id"] for one in entities if one["vendor"] == "Brackwater Logistics B.V."}
    assert len(own) > 100
    assert sum(one["source"] in own and one["target"] in own for one in relationships) > 500


def test_two_vendors_share_a_name_in_part():
    entities, _ = graph()
    alike = [one["name"] for one in entities if one["type"] == "COMPANY" and "Merrowdata" in one.get("aliases", ())]
    assert alike == ["Merrowdata Systems GmbH", "Merrowdata Services Ltd"]


def test_every_vendor_named_in_front_matter_is_in_the_graph():
    entities, _ = graph()
    named = {split_front(path.read_text("utf-8")).said.get("vendor") for path in WRITTEN} - {None}
    assert len(named) >= 12 and named <= {one["name"] for one in entities if one["type"] == "COMPANY"}
