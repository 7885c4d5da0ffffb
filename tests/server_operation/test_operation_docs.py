"""The page about operation: its table of settings is the settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from aerogram.server.clients import CLIENTS
from aerogram.server.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs" / "operation.md").read_text(encoding="utf-8")


def table() -> str:
    """The settings as the page shows them."""
    rows = [("setting", "default", "allowed", "meaning"), ("---",) * 4]
    for one in Settings.options():
        default = "" if one.default in (None, "", ()) else f"`{str(one.default).lower()}`"
        rows.append((f"`{one.name}`", default, one.kind.allowed, one.about))
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def test_the_table_of_settings_is_up_to_date():
    shown = re.search(r"<!-- (?:generated: )?settings -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
    assert shown is not None
    assert shown[1] == table()


@pytest.mark.parametrize("name", CLIENTS)
def test_every_client_is_in_the_page(name):
    assert f"| `{name}` |" in PAGE
