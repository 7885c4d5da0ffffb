"""Digests of bad input at full size: each in a process of its own, with its time and its largest memory."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

from aerogram.digest import ReadLimits, UnreadableSource, digest_text, read, verify
from digest_pdf import write_pdf

WIDE = ReadLimits(max_bytes=1 << 28, max_chars=1 << 28)
CASES = {
    "empty file": lambda: read(b""),
    "100 MB of text, default limits": lambda: read(b"a plain line of text\n" * 5_000_000),
    "100 MB of text, limits raised": lambda: read(
        b"a plain line of text that says what it says.\n" * 2_220_000, limits=WIDE
    ),
    "PDF of 10,000 pages": lambda: read(write_pdf([f"Page {number} of the text." for number in range(10_000)])),
    "broken PDF": lambda: read(b"%PDF-1.7\n" + os.urandom(1_000_000)),
    "10 MB of binary noise": lambda: read(os.urandom(10_000_000)),
    "one line of 10 MB, no blanks": lambda: read("x" * 10_000_000),
    "one line of 10 MB, words": lambda: read("word " * 2_000_000),
    "10 MB of dots": lambda: read("." * 10_000_000),
    "10 MB of tiny lines": lambda: read("Go.\n" * 2_500_000),
    "HTML nested 100,000 deep": lambda: read("<html>" + "<div>" * 100_000 + "text" + "</div>" * 100_000),
    "HTML of open comments": lambda: read("<html>" + "<!--" * 2_500_000),
    "HTML of open quotes": lambda: read("<html>" + '<a b="' * 1_500_000),
    "1 MB of accents on one letter": lambda: read("e" + "\u0301" * 1_000_000),
}


def main():
    for name in CASES:
        subprocess.run([sys.executable, __file__, name], check=True, cwd=Path(__file__).parent)


def one(name):
    start = time.perf_counter()
    try:
        text = CASES[name]()
        payload = digest_text(text, "what does the text say")
        assert verify(payload, text)
        outcome = f"{len(text.text):,} characters, {len(payload.evidence_snippets)} snippets, verified"
    except UnreadableSource as error:
        outcome = f"refused ({error.reason}): {error}"
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name:32} {time.perf_counter() - start:6.2f} s {memory:5} MB  {outcome}", flush=True)


if __name__ == "__main__":
    one(sys.argv[1]) if len(sys.argv) > 1 else main()
