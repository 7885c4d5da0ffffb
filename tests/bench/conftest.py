"""The benchmarks' own modules can be imported."""

import sys
from pathlib import Path

BENCH = Path(__file__).parents[2] / "bench"
if str(BENCH) not in sys.path:
    sys.path.append(str(BENCH))
