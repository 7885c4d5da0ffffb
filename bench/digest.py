"""Digests: does the evidence hold the answer, and what does a digest cost?"""

import time

import digest_quality as quality
from aerogram.digest import digest_text, read
from digest_pdf import write_pdf

QUERY = "After how many failures does the program give up on a job?"
ROUNDS = 3


def main():
    report_quality()
    report_growth()
    report_speed()


def report_quality():
    report_set("held_out", quality.questions("held_out"))
    report_set("tuning", quality.questions("tuning"))
    far = [quality.by_digest(question) for question in quality.distant()]
    print(quality.describe(f"  {len(far)} in distant words", far))


def report_set(name, asked):
    print(f"{name}: {len(asked)} questions on {len({q['document'] for q in asked})} documents")
    for label, find in (("evidence", quality.by_digest), ("keyword windows", quality.by_keywords)):
        results = [find(question) for question in asked]
        print(quality.describe(f"  {label}", results))
        for key in ("language", "form"):
            print(f"    found (in the first {quality.FIRST}) by {key}: {quality.breakdown(results, key)}")


def prose(size):
    """Text of a given size, made of the Markdown documents of the question set."""
    parts = [path.read_text(encoding="utf-8") for path in sorted((quality.DATA / "tuning").glob("*.md"))]
    whole = "\n\n".join(parts)
    return (whole * (size // len(whole) + 1))[:size]


def best_of(work, rounds=ROUNDS):
    """The least processor time of several rounds, which a busy machine does not change."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def report_growth():
    """Eight times the text may cost at most nine times as much."""
    small, large = prose(1_000_000), prose(8_000_000)
    once = best_of(lambda: digest_text(read(small), QUERY))
    eight = best_of(lambda: digest_text(read(large), QUERY))
    print(f"text to digest: 1 MB {once:.2f} s, 8 MB {eight:.2f} s; growing 8x costs {eight / once:.1f}x")
    print(f"text to digest: {8 / eight:.1f} MB/s")


def report_speed():
    text = prose(4_000_000)
    markup = "<html><body>" + "".join(f"<p>{line}</p>\n" for line in text.split("\n")) + "</body></html>"
    pages = [text[start : start + 3_000] for start in range(0, 900_000, 3_000)]
    printed = write_pdf(pages)
    plain = best_of(lambda: read(text))
    html = best_of(lambda: read(markup))
    pdf = best_of(lambda: read(printed))
    print(f"reading: plain text {4 / plain:.0f} MB/s, HTML {len(markup) / 1e6 / html:.1f} MB/s")
    print(f"reading: PDF {len(pages) / pdf:.0f} pages/s")


if __name__ == "__main__":
    main()
