"""Python processes that a test starts see the change that the test is run with, and are traced when it is."""

import os
import sys
from pathlib import Path

if "MUTANTS_CHANGE" in os.environ or "MUTANTS_TRACE" in os.environ:
    sys.path.append(str(Path(__file__).parents[2]))
    from mutants import imports, tracing

    if imports.CHANGE in os.environ:
        imports.install_change(Path(os.environ[imports.CHANGE]))
    if imports.TRACE in os.environ:
        tracing.trace_process(Path(os.environ[imports.TRACE]))
