"""The documentation of the normaliser says what the tests prove."""

from __future__ import annotations

import re

from normalize.forms_table import PAGE, ROWS, page_with_table


def test_table_of_forms_is_up_to_date():
    """Run `python tests/normalize/forms_table.py` when this fails."""
    page = PAGE.read_text(encoding="utf-8")
    assert page == page_with_table(page)


def test_every_value_with_a_form_is_shown_without_repr_or_address():
    for row in ROWS:
        assert not re.search(r"<.* object at|0x[0-9a-f]{8,}>", str(row.data)), row.name
        assert "lost" not in row.says and "repr" not in row.says
