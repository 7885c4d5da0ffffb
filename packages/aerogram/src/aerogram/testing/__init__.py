"""Testing: the contract as assertions for tests of your own, and a sweep over a whole server.

assert_success(result)             the reply in an answer that succeeded and keeps its dialect's rules
assert_problem(result, "CODE")     the problem in one that failed as it should
sweep(app_or_server)               every route or tool and every source of errors, with a report
"""

from aerogram.testing.assertions import assert_problem, assert_success
from aerogram.testing.report import PROMISES, BrokenPromises, Report, SweepFailure, Visit
from aerogram.testing.sweep import sweep, sweep_async

__all__ = [
    "PROMISES",
    "BrokenPromises",
    "Report",
    "SweepFailure",
    "Visit",
    "assert_problem",
    "assert_success",
    "sweep",
    "sweep_async",
]
