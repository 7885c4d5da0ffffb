"""Four server processes, one for each framework, and what their clients received, asked once for all tests."""

import pytest

from wire.recordings import Recordings


@pytest.fixture(scope="session")
def wire(tmp_path_factory):
    """What clients of every framework receive."""
    recordings = Recordings(tmp_path_factory.mktemp("wire"))
    yield recordings
    recordings.close()
