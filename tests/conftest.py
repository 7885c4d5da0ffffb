"""What all tests share: a state directory of their own, and property tests that come out the same every time."""

import functools
import gc
import importlib
import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings

# FastMCP prints the errors that tests provoke in colours, which takes longer than all else that these tests do
os.environ.setdefault("FASTMCP_ENABLE_RICH_TRACEBACKS", "false")
os.environ.setdefault("FASTMCP_ENABLE_RICH_LOGGING", "false")

# how long an example takes says how busy the machine is, and nothing about the product
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", unhurried, derandomize=True, max_examples=30)
settings.register_profile("brief", settings.get_profile("steady"), max_examples=4)
settings.register_profile("search", unhurried, print_blob=True, max_examples=300)
settings.load_profile(os.environ.get("PROPERTIES", "steady"))

LONGEST = (
    "tests/fleet/",
    "tests/wheel/",
    "tests/conformance/",
    "tests/adoption/",
    "tests/clients/test_packages.py",
    "tests/gateway/test_real_servers.py",
    "tests/structure/test_mutants.py",
    "tests/normalize/test_bare_forms.py",
    "tests/docs/",
)
"""Where tests take long, or fetch what they need when they are run for the first time; whichever begins last would
leave the other workers waiting for it."""


def pytest_collection_modifyitems(items):
    """What takes long comes first, and the rest in its order."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection_finish():
    """Whatever is loaded by now stays; nobody need look through it again for what can be thrown away."""
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own(tmp_path_factory):
    """No test reads or writes the keys and archives of whoever runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AEROGRAM_STATE", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session", autouse=True)
def authorities_read_once():
    """A client that is told nothing about certificates reads all authorities there are, which takes longer than a
    request; here the clients of one library share what the first has read.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in filter(importlib.util.find_spec, ("httpx", "httpx2")):  # the core is tested without them too
            library = importlib.import_module(name)
            patch.setattr(library._transports.default, "create_ssl_context", _read_once(library.create_ssl_context))
        yield


def _read_once(create):
    @functools.cache
    def shared(*_where):
        return create()

    def context(verify=True, cert=None, trust_env=True):
        if verify is True and cert is None and trust_env:
            return shared(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
        return create(verify=verify, cert=cert, trust_env=trust_env)

    return context
