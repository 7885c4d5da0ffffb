"""The comparison with FTS5 asks both sides over the same chunks, and counts by questions."""

import json
import sys

import pytest

import fts5

CHUNKS = [
    (1, "Guide > Mirrors", "A proxy keeps the packages\nthat were fetched once."),
    (2, "Guide > Locks", "Remove the lock, if nothing else is running."),
    (3, "手引き", "古いパッケージは自動的に削除されます。"),
]


@pytest.fixture
def rival():
    return fts5.Fts5(CHUNKS)


def test_words_are_joined_by_or_and_have_stems(rival):
    assert rival.ask("fetching unheard things", "en") == [CHUNKS[0][2]]


def test_headings_are_searched_too(rival):
    assert rival.ask("mirror", "en") == [CHUNKS[0][2]]


def test_scripts_without_blanks_are_searched_by_three_signs(rival):
    assert rival.ask("パッケージを消すには?", "ja") == [CHUNKS[2][2]]
    assert rival.ask("消す", "ja") == []


def test_an_answer_is_found_whatever_its_case_space_and_punctuation():
    asked = {"answer": "a PROXY keeps the packages, that were fetched"}
    assert fts5.is_found(asked, ["nothing", CHUNKS[0][2]])
    assert not fts5.is_found(asked, [CHUNKS[1][2]])


def test_the_chance_of_a_difference_is_exact():
    assert fts5.mcnemar(8, 3) == pytest.approx(0.2266, abs=1e-4)
    assert fts5.mcnemar(9, 1) == pytest.approx(0.0215, abs=1e-4)
    assert fts5.mcnemar(0, 0) == 1


def test_a_file_of_questions_is_asked_of_both(tmp_path, monkeypatch, capsys):
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "guide.md").write_text("# Guide\n\n## Mirrors\n\nA proxy keeps the packages that were fetched once.\n")
    asked = {"question": "Who keeps packages?", "language": "en", "answer": "A proxy keeps", "document": "guide.md"}
    lost = {**asked, "answer": "Nobody says this"}
    (tmp_path / "asked.jsonl").write_text("\n".join(map(json.dumps, [asked, lost])))
    options = ["--questions", str(tmp_path / "asked.jsonl"), "--documents", str(documents), "--each", "--workers", "1"]
    monkeypatch.setattr(sys, "argv", ["bench", "fts5", *options])
    fts5.main()
    said = capsys.readouterr().out
    assert "2 questions over 1 documents, 1 chunks" in said
    assert "found in the first 5: ours   1, FTS5   1" in said
    assert "neither    en  Who keeps packages? (no chunk has the answer)" in said
