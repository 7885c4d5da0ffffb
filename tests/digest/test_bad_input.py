"""Bad input: a clear error or an honest empty digest. Full sizes are in bench/digest_hostile.py."""

import os
import random
import threading
from pathlib import Path

import pytest

from aerogram.digest import ReadLimits, UnreadableSource, digest_text, read, verify

ENCRYPTED = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <" + b"41" * 32 + b"> /U <" + b"42" * 32 + b"> >> "


def refused(source, **options):
    with pytest.raises(UnreadableSource) as caught:
        read(source, **options)
    return caught.value.reason


def test_an_empty_file_gives_an_honest_empty_digest():
    payload = digest_text(read(b""), "anything")
    assert (payload.summary, payload.key_points, payload.evidence_snippets) == ("", [], [])
    assert (payload.original_chars, payload.compression_ratio) == (0, 0.0)
    assert payload.digest_chars == len(payload.to_json())


@pytest.mark.parametrize("declared", ["punycode", "idna", "utf-16", "hex", "unicode_escape", "nonsense"])
def test_a_declared_encoding_that_no_document_is_in_is_not_believed(declared):
    assert read(f'<html><meta charset="{declared}"><p>日本語 & Größe</p>'.encode()).text == "日本語 & Größe"


def test_an_encrypted_pdf_says_so(print_pdf):
    locked = print_pdf(["Secret"]).replace(b"/Root 1 0 R >>", b"/Root 1 0 R " + ENCRYPTED + b"/ID [<00> <00>] >>")
    assert refused(locked) == "encrypted"


def test_a_broken_pdf_says_so(print_pdf):
    assert refused(b"%PDF-1.7\n" + random.Random(1).randbytes(5_000)) == "broken"
    assert refused(b"no pdf at all", kind="pdf") == "broken"


def test_a_pdf_that_lost_its_end_gives_what_is_left(print_pdf):
    whole = print_pdf(["The first page."])
    assert read(whole[: whole.rindex(b"startxref")]).text == "The first page."


def test_a_few_zeros_do_not_make_other_letters_of_a_text():
    short = b"# A\x00B\n\nText with \x00 nul giraffe.\n"
    assert refused(short) == "binary"
    assert "giraffe" in read(short + b"And so it goes on, from one line to the next.\n" * 9, kind="markdown").text


def test_noise_is_refused_as_binary():
    assert refused(random.Random(2).randbytes(50_000)) == "binary"
    assert refused(b"\x89PNG\r\n\x1a\n" + bytes(2_000)) == "binary"


def test_a_missing_file_and_an_unknown_kind_are_named(tmp_path):
    assert refused(tmp_path / "nothing.txt") == "missing"
    assert refused(tmp_path) == "missing"
    assert refused("words", kind="docx") == "unknown_kind"


def test_what_is_too_large_is_refused_before_it_is_read(print_pdf, tmp_path):
    file = tmp_path / "large.txt"
    with file.open("wb") as sparse:
        sparse.truncate(100_000_000)
    assert refused(file) == "too_large"
    assert refused(b"x" * 11, limits=ReadLimits(max_bytes=10)) == "too_large"
    assert refused("x" * 11, limits=ReadLimits(max_chars=10)) == "too_large"
    assert refused(print_pdf(["a"] * 11), limits=ReadLimits(max_pages=10)) == "too_large"
    assert refused(print_pdf(["many words here"] * 3), limits=ReadLimits(max_chars=40)) == "too_large"


def test_reading_a_pdf_stops_at_its_deadline(print_pdf):
    assert refused(print_pdf(["a"] * 50), limits=ReadLimits(seconds=0.0)) == "too_slow"


@pytest.mark.parametrize(
    "text",
    [
        "x" * 300_000,
        "word " * 60_000,
        "." * 300_000,
        ". " * 100_000,
        "answer.\n" * 30_000,
        "# answer\n" * 20_000,
        "answer | b\n" * 20_000,
        " " * 300_000 + "answer",
        "e" + "\u0301" * 100_000,
        "答えは文章の中にある。" * 10_000,
        "\f" * 50_000,
        "<html>" + "<div>" * 100_000 + "the answer" + "</div>" * 100_000,
        "<html>" + "<!--" * 100_000,
        "<html>" + '<a b="' * 100_000,
        "<html>" + '<a ="" ="' * 50_000,
        "<html>" + "<a ='" * 50_000 + '"',
        "<html>" + "<a " * 100_000,
        "<html>" + "<!a" * 100_000,
        "<html>" + "<script>" * 100_000,
        "<!--a-->" * 100_000 + "the answer",
        "<html>" + "<" * 300_000,
        "<html>" + "&" * 300_000,
        "<html>" + "<td>answer" * 50_000,
        "<html><div" + " class=a" * 30_000 + ">answer",
        "<html><div" + " role=a class" * 15_000 + ">answer",
    ],
    ids=lambda text: text[:12].strip() or "blank",
)
def test_degenerate_text_is_digested_in_whole_and_verifies(text):
    """The sizes make anything worse than linear time show as a test that does not end."""
    source = read(text)
    payload = digest_text(source, "where is the answer 答え")
    assert verify(payload, source)
    assert all(len(snippet.text) <= 500 for snippet in payload.evidence_snippets)


def test_a_question_without_words_or_end_does_no_harm(ferry):
    text = read(ferry)
    for query in ("", "???", "\ud800", "the of and", "ferry " * 50_000, "字" * 50_000):
        assert verify(digest_text(text, query), text)


def test_pdfs_can_be_read_from_many_threads(print_pdf):
    content = print_pdf([f"Page {number} says so." for number in range(20)])
    found = []
    threads = [threading.Thread(target=lambda: found.append(read(content).hash)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1


def test_a_device_and_a_pipe_are_refused_and_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refused(pipe) == refused(Path("/dev/zero")) == "missing"
