"""The house in figures: how many rooms there are, how broad and how deep, and how that has changed.

    python tools/house.py [--since REVISION]

Nothing here fails a build. The figures are signs for a person who asks whether a stranger still finds the way; the
second column is what they were at an earlier revision, by default the last one that is a day old.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import tarfile
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONG_FILE = 700
SHORT_FILE = 60
NOT_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
PARTICIPLES = re.compile(
    r"_*(told|said|heard|kept|spoken|held|shown|given|taken|made|sent|seen|gone|meant|written|chosen|drawn|known|found"
    r"|brought|left|(?!embed|exceed|proceed|seed|feed|need|speed)[a-z]{2,}ed)"
    r"(_(apart|as|at|beside|by|for|from|in|inside|of|on|out|to|with)(_\w+)?)?"
)


@dataclass(frozen=True)
class Module:
    """One file of one distribution."""

    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax."""
        return ast.parse(self.text)

    @cached_property
    def code_lines(self) -> int:
        """Its lines without blanks, comments and docstrings."""
        lines: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in NOT_CODE:
                lines.update(range(token.start[0], token.end[0] + 1))
        return len(lines - self._docstring_lines)

    @cached_property
    def _docstring_lines(self) -> set[int]:
        found: set[int] = set()
        for node in ast.walk(self.tree):
            body = getattr(node, "body", None)
            for one in body if isinstance(body, list) else ():
                if (
                    isinstance(one, ast.Expr)
                    and isinstance(one.value, ast.Constant)
                    and isinstance(one.value.value, str)
                ):
                    found.update(range(one.lineno, (one.end_lineno or one.lineno) + 1))
        return found

    @cached_property
    def functions(self) -> list[str]:
        """The names of its functions and methods."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node.name for node in ast.walk(self.tree) if isinstance(node, kinds)]

    @cached_property
    def classes(self) -> list[str]:
        """The names of its public classes."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef) and node.name[0] != "_"]


class House:
    """The modules of all distributions below a folder."""

    def __init__(self, root: Path) -> None:
        sources = sorted((root / "packages").glob("*/src")) or [root / "src"]
        self.modules = {one.name: one for source in sources for one in _read(source)}

    def figures(self) -> dict[str, float]:
        """Each figure by its name."""
        modules = self.modules.values()
        functions = [name for one in modules for name in one.functions]
        private = [name for name in functions if name.startswith("_") and not name.endswith("__")]
        importers = self._importers()
        classes = Counter(name for one in modules for name in one.classes)
        return {
            **self._sizes(),
            "import levels": max(self._levels().values(), default=0),
            "modules with one importer": sum(len(users) == 1 for users in importers.values()),
            f"modules under {SHORT_FILE} lines": sum(one.text.count("\n") < SHORT_FILE for one in modules),
            f"modules over {LONG_FILE} lines": sum(one.text.count("\n") > LONG_FILE for one in modules),
            "private functions, per cent": round(100 * len(private) / max(1, len(functions))),
            "functions named by a participle": sum(_is_participle(name) for name in functions),
            "public class names used twice": sum(count > 1 for count in classes.values()),
        }

    def _sizes(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for package in sorted({name.partition(".")[0] for name in self.modules}):
            own = [one for name, one in self.modules.items() if (name + ".").startswith(f"{package}.")]
            entries = {one.name.split(".")[1] for one in own if "." in one.name}
            found[f"{package}: code lines"] = sum(one.code_lines for one in own)
            found[f"{package}: files"] = len(own)
            found[f"{package}: entries in the root"] = len(entries)
        broadest = Counter(name.rpartition(".")[0] for name in self.modules if name.count(".") > 1)
        found["modules in the broadest folder"] = max(broadest.values(), default=0)
        return found

    def _imports(self, module: Module) -> set[str]:
        found: set[str] = set()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = (f"{node.module}.{alias.name}" for alias in node.names)
                found |= {name if name in self.modules else node.module for name in names}
            elif isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
        return (found & self.modules.keys()) - {module.name}

    def _importers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for one in self.modules.values():
            for target in self._imports(one):
                found[target].add(one.name)
        return found

    def _levels(self) -> dict[str, int]:
        levels: dict[str, int] = {}

        def level(name: str) -> int:
            if name not in levels:
                levels[name] = 1  # a circle ends here; a test finds it
                levels[name] = 1 + max(map(level, self._imports(self.modules[name])), default=0)
            return levels[name]

        for name in self.modules:
            level(name)
        return levels


def _read(source: Path) -> Iterator[Module]:
    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")
        yield Module(name, path.read_text(encoding="utf-8"))


def _is_participle(name: str) -> bool:
    return PARTICIPLES.fullmatch(name) is not None


def earlier(revision: str | None) -> dict[str, float]:
    """The figures at a revision; none where there is no such history."""
    named = revision or _git("rev-list", "-1", "--before=1 day ago", "HEAD").decode().strip()
    packed = _git("archive", named) if named else b""
    if not packed:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        return House(Path(folder)).figures()


def _git(*words: str) -> bytes:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)  # noqa: S603, S607
    return done.stdout if done.returncode == 0 else b""


def main() -> None:
    """Print the figures, and what they were."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--since", metavar="REVISION", help="the revision to compare with")
    before = earlier(parser.parse_args().since)
    for name, figure in House(ROOT).figures().items():
        was = f"{before[name]:>9,}" if name in before else ""
        print(f"   {name:38}{figure:>9,}{was}")


if __name__ == "__main__":
    main()
