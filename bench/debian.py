"""Debian's documents: texts that nobody here wrote, fetched once from the archive and kept under `.cache`.

They need `apt-get` and the package lists of a Debian system. The texts are no part of the repository.
"""

import gzip
import re
import subprocess
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".cache" / "debian"
TEXTS = {
    "debian-faq": ("debian-faq", "doc/debian/FAQ/debian-faq.en.txt.gz"),
    "debian-policy": ("debian-policy", "doc/debian-policy/policy.txt.gz"),
    "debian-reference": ("debian-reference-en", "debian-reference/debian-reference.en.txt.gz"),
    "developers-reference": ("developers-reference", "developers-reference/developers-reference.txt.gz"),
    "fhs": ("debian-policy", "doc/debian-policy/fhs/fhs-3.0.txt.gz"),
    "maint-guide": ("maint-guide", "doc/maint-guide/maint-guide.en.txt.gz"),
}
"""The name of each document: its package, and its file under /usr/share."""
SHORTEST, LONGEST = 200, 1_400
_PROSE = re.compile(r"[A-Z“\"'`*]")
_DRAWN = re.compile(r"[│┌├└═─|]|_{6}|-{6}|={6}|\.{6}")


class NotThere(Exception):
    """A document that cannot be had on this machine."""


def read(document):
    """The text of a document."""
    package, path = TEXTS[document]
    file = CACHE / "tree" / "usr" / "share" / path
    if not file.is_file():
        _fetch(package)
    return gzip.decompress(file.read_bytes()).decode("utf-8", "replace")


def fetched(package):
    """Where the files of a package are, of which it has some under /usr/share."""
    tree = CACHE / "trees" / package
    if not tree.is_dir():
        _fetch(package, tree)
    return tree / "usr" / "share"


def _fetch(package, tree=CACHE / "tree"):
    folder = CACHE / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["apt-get", "download", "--quiet", package], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotThere(f"left out: {package} cannot be fetched from Debian's archive ({error})") from None
    (archive,) = folder.glob(f"{package}_*.deb")
    tree.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["dpkg-deb", "-x", archive.name, tree], cwd=folder, check=True)


def squeeze(text):
    """A text with every run of white space as one blank."""
    return " ".join(text.split())


def paragraphs(document):
    """Its paragraphs of prose, each on one line: no tables, no listings, no contents."""
    blocks = (block for block in re.split(r"\n\s*\n", read(document)) if not _DRAWN.search(block))
    lines = dict.fromkeys(squeeze(block) for block in blocks)
    return [line for line in lines if SHORTEST <= len(line) <= LONGEST and _is_prose(line)]


def _is_prose(line):
    words = line.split()
    plain = sum(word.strip(".,;:()“”\"'").isalpha() for word in words)
    return bool(_PROSE.match(line)) and line.rstrip("”\")'")[-1] in ".:?!" and plain > 0.75 * len(words)
