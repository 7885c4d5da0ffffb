"""What fleets of servers stand on in these tests: one index over the samples, in a folder and in PostgreSQL."""

from __future__ import annotations

import contextlib
import shutil

import httpx
import pytest

from backends import redis, s3_url
from balancer import balancing
from fleets import fleet_in, ingest_samples
from postgres import postgres

__all__ = ["postgres", "redis", "s3_url"]


@pytest.fixture(scope="session")
def made_index(tmp_path_factory):
    """An index over the samples, made once."""
    folder = tmp_path_factory.mktemp("made")
    ingest_samples(str(folder / "index"), folder)
    return folder / "index"


@pytest.fixture(scope="session")
def made_database(postgres, tmp_path_factory):
    """The name of a database with the samples, from which others are copied."""
    url = postgres.new_database()
    ingest_samples(url, tmp_path_factory.mktemp("database"))
    return url.rpartition("/")[2]


@pytest.fixture
def index(made_index, tmp_path):
    """An index of one's own, in a folder."""
    return shutil.copytree(made_index, tmp_path / "index")


@pytest.fixture
def copied_database(made_database, postgres):
    """An index of one's own, in PostgreSQL."""
    return postgres.new_database(template=made_database)


@pytest.fixture(params=["folder", "postgres"])
def store(request):
    """The arguments that name a store: a folder, or a PostgreSQL."""
    if request.param == "folder":
        return ("--index", str(request.getfixturevalue("index")))
    return ("--store", request.getfixturevalue("copied_database"))


@pytest.fixture
def fleet(tmp_path):
    """A fleet without servers yet."""
    with fleet_in(tmp_path) as found:
        yield found


@pytest.fixture
def balanced():
    """What puts a balancer before a fleet: a client of it, and the balancer."""
    with contextlib.ExitStack() as opened:

        def balance(fleet, **options):
            balancer = opened.enter_context(balancing(fleet.addresses, **options))
            return opened.enter_context(httpx.Client(base_url=balancer.address, timeout=90)), balancer

        yield balance
