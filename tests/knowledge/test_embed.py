"""The embedder that ships: offline, the same everywhere, and honest about what it does not know."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from aerogram.errors import ValidationFailed
from aerogram_knowledge import Embedder, Knowledge, NoEmbedder, embedders
from aerogram_knowledge.embedders import StaticEmbedder, default_embedder, quantise


def test_closer_in_meaning_is_closer_in_the_vectors():
    asked, near, far = default_embedder().embed(["the cat sleeps", "a kitten is asleep", "quarterly tax report"])
    assert asked @ near > asked @ far + 0.2


def test_vectors_have_length_one_and_nothing_has_none():
    rows = default_embedder().embed(["some words", "", "\0"])
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 0, 0], abs=1e-5)


def test_a_text_has_the_same_vector_alone_and_in_company():
    alone = default_embedder().embed(["the harbour at night"])[0]
    together = default_embedder().embed(["other", "the harbour at night", "words " * 500])[1]
    assert alone == pytest.approx(together)


def test_a_word_means_the_same_when_it_comes_again_and_when_it_was_forgotten(monkeypatch):
    text = "Don't\nre-read “the\u00a0harbour”, 渡し船 or libfoo2_1.0-1_all.deb!"
    model = StaticEmbedder(Path(str(files("aerogram_knowledge") / "model")), "again")
    pieces = model._tokenizer.encode(text, add_special_tokens=False).ids
    known = np.array([one for one in pieces if one != model._unknown])
    whole = model._scales[known] @ model._vectors[known]
    first, again = model.embed([text])[0], model.embed([text])[0]
    monkeypatch.setattr(embedders, "REMEMBERED", 0)
    forgotten = model.embed([text])[0]
    assert [*first] == [*again] == [*forgotten] == pytest.approx([*whole / np.linalg.norm(whole)], abs=1e-6)


def test_signed_bytes_keep_the_direction():
    rows = default_embedder().embed(["a river in spring", "the price of bread", "how to mend a bicycle"])
    small = quantise(rows).astype(np.float32)
    small /= np.linalg.norm(small, axis=1, keepdims=True)
    assert np.abs(small @ small.T - rows @ rows.T).max() < 0.01


def test_words_that_fall_to_pieces_are_hardly_known():
    known = default_embedder().coverage
    assert known("how long is a ticket valid") == 1.0
    assert known("E4417-QXZ") < 0.5
    assert known("Kündigungsfristen") < 0.5
    assert known("有効期限") == known("") == 0.0


def test_an_embedder_of_ones_own_takes_its_place(write, where):
    class Colours:
        """Knows three words, each a direction of its own."""

        name, dimensions = "colours", 3

        def embed(self, texts):
            return np.array([[float(word in text) for word in ("red", "green", "blue")] for text in texts], np.float32)

        def coverage(self, text):
            return float(bool(text))

    assert isinstance(Colours(), Embedder)
    folder = write({"a.md": "A red thing.", "b.md": "A blue thing.", "c.md": "A grey thing."})
    with Knowledge(where, embedder=Colours()) as index:
        index.ingest(folder)
        rows = index.search("blue", method="vector").data
    assert [row["source_file"] for row in rows] == ["b.md"]


def test_an_embedder_is_named_by_a_setting(tmp_path):
    with Knowledge(tmp_path / "a", embedder="none") as index:
        assert isinstance(index.embedder, NoEmbedder)
    with Knowledge(tmp_path / "b", embedder="default") as index:
        assert index.embedder is default_embedder()
    with pytest.raises(ValidationFailed):
        Knowledge(tmp_path / "c", embedder="nowhere")
