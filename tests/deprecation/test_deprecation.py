"""Deprecations: declared once, and every call that touches them is told."""

from __future__ import annotations

import datetime as dt

import pytest

from aerogram.contract.deprecation import Deprecated, Deprecations


def test_a_deprecated_parameter_is_named_with_what_replaces_it():
    deprecations = Deprecations.of(parameters={"max_results": "page_size"})
    (notice,) = deprecations.notices({"query": "x", "max_results": None})
    assert (notice.code, notice.severity) == ("DEPRECATED_PARAMETER", "warning")
    assert notice.message == "The parameter 'max_results' is deprecated"
    assert notice.suggestion == "Use page_size instead"
    assert notice.context == {"name": "max_results", "instead": "page_size"}
    assert deprecations.notices({"query": "x"}) == ()


def test_a_deprecated_field_is_named_once_however_many_rows_have_it():
    deprecations = Deprecations.of(fields={"state": "status"})
    (notice,) = deprecations.notices({}, [{"id": 1}, {"id": 2, "state": "done"}, {"id": 3, "state": "open"}])
    assert (notice.code, notice.severity) == ("DEPRECATED_FIELD", "info")


@pytest.mark.parametrize(
    ("name", "data", "there"),
    [
        ("state", {"state": None}, True),
        ("state", {"tasks": [{"id": 1}, {"state": "done"}]}, True),
        ("state", {"task": {"state": "done"}}, False),
        ("state", [{"task": {"state": "done"}}], False),
        ("state", "state", False),
        ("state", None, False),
        ("/task/state", {"task": {"state": "done"}}, True),
        ("/tasks/*/state", {"tasks": [{"id": 1}, {"state": "done"}]}, True),
        ("/tasks/*/state", {"tasks": []}, False),
        ("/tasks/0/state", {"tasks": [{"state": 1}]}, True),
        ("/tasks/1/state", {"tasks": [{"state": 1}]}, False),
        ("/tasks/*/*", {"tasks": [{"a": 1}]}, True),
        ("/a~1b/c~0d", {"a/b": {"c~d": 1}}, True),
        ("/state", ["state"], False),
    ],
)
def test_a_field_is_found_where_its_name_or_pointer_says(name, data, there):
    assert bool(Deprecations.of(fields={name: None}).notices({}, data)) is there


def test_dates_and_reasons_are_told():
    old = Deprecated(
        "limit",
        since=dt.date(2026, 1, 1),
        until=dt.date(2026, 12, 31),
        reason="pages have a size",
    )
    (notice,) = Deprecations(parameters=(old,)).notices({"limit": 5})
    assert notice.message == (
        "The parameter 'limit' is deprecated and will be removed on 2026-12-31: pages have a size"
    )
    assert notice.context == {"name": "limit", "since": "2026-01-01", "until": "2026-12-31"}
    assert notice.suggestion == "Do without the parameter"
