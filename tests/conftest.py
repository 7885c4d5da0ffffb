"""What all tests share: a state directory of their own, and property tests that come out the same every time."""

import os

import pytest
from hypothesis import HealthCheck, settings

# how long an example takes says how busy the machine is, and nothing about the product
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", unhurried, derandomize=True, max_examples=30)
settings.register_profile("search", unhurried, print_blob=True, max_examples=300)
settings.load_profile(os.environ.get("PROPERTIES", "steady"))


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory):
    """No test reads or writes the keys and archives of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AEROGRAM_STATE", str(tmp_path_factory.mktemp("state")))
        yield
