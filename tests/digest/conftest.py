"""The documents and the PDF printer of the benchmark serve the tests too."""

import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
if str(BENCH) not in sys.path:
    sys.path.append(str(BENCH))

from digest_pdf import write_pdf  # noqa: E402  the path is set just above

FERRY = """The ferry to Holm

The ferry leaves Holm at six in the morning and comes back at noon. A ticket costs four crowns, and a bicycle is
carried free of charge. Dogs travel on deck. In fog the captain waits until the church tower can be seen from the
pier. The crossing takes fifty minutes when the sea is calm.

Winter

From November to March the boat sails only on Fridays. Ice thicker than twenty centimetres stops the service, and a
sledge carries the mail instead. The waiting room is heated with driftwood. Coffee is sold by the harbour master.
"""


@pytest.fixture
def ferry():
    """A short document that asks to be questioned."""
    return FERRY


@pytest.fixture
def long_ferry():
    """The same with enough around it that it is worth a digest."""
    filler = [f"On day {day} the keeper of the pier swept the planks and painted post {day % 7}." for day in range(120)]
    return FERRY + "\n\n" + "\n\n".join(filler)


@pytest.fixture
def print_pdf():
    return write_pdf
