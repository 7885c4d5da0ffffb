"""Run every benchmark, or the ones named: `python bench core normalize`.

Each module of this folder with a `main` is one; it prints ratios measured in one run. From the first option on, the
arguments are the benchmark's own: `python bench fit --plot fit.svg`.
"""

import ast
import importlib.util
import itertools
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


def names():
    programs = (path for path in HERE.glob("*.py") if path.stem != "__main__" and "def main(" in path.read_text())
    return sorted(path.stem for path in programs)


def run(name):
    print(f"\n== {name}", flush=True)
    spec = importlib.util.spec_from_file_location(f"bench_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.main()


def describe():
    """What this program does, and a line for each benchmark."""
    lines = (
        f"  {name:18}{ast.get_docstring(ast.parse((HERE / f'{name}.py').read_text())).splitlines()[0]}"
        for name in names()
    )
    return "\n".join([__doc__, *lines])


def entry():
    if {"-h", "--help"} & set(sys.argv[1:2]):
        sys.exit(print(describe()))
    chosen = list(itertools.takewhile(lambda one: not one.startswith("--"), sys.argv[1:])) or names()
    unknown = sorted(set(chosen) - set(names()))
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}; there are: {', '.join(names())}")
    for name in chosen:
        run(name)


if __name__ == "__main__":
    entry()
