"""What all tests share: a state directory of their own."""

import pytest


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory):
    """No test reads or writes the keys and archives of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AEROGRAM_STATE", str(tmp_path_factory.mktemp("state")))
        yield
