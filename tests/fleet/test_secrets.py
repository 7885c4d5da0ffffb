"""Passwords in addresses are used, and said nowhere."""

from __future__ import annotations

import json
import os
import signal

import pytest

from balancer import wait_for
from programs import run_program
from servers import find_free_port
from serving import clean_environment

SECRET = "g3he1m"
SETTINGS = {
    "AEROGRAM_STORE": f"postgresql://ada:{SECRET}@127.0.0.1:1/papers?password={SECRET}",
    "AEROGRAM_REPLICAS": f"postgresql://ada:{SECRET}@127.0.0.1:2/papers",
    "AEROGRAM_REDIS": f"redis://:{SECRET}@127.0.0.1:1/0",
    "AEROGRAM_ARCHIVE": f"rediss://ada:{SECRET}@127.0.0.1:1/0",
}


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_settings_are_shown_without_passwords(tmp_path, flags):
    environment = {**clean_environment(tmp_path / "index"), **SETTINGS}
    done = run_program(["config", *flags], env=environment, text=True, check=True)
    assert SECRET not in done.stdout + done.stderr
    assert "ada:***@127.0.0.1:1/papers" in done.stdout
    if flags:
        assert json.loads(done.stdout)["redis"]["value"] == "redis://:***@127.0.0.1:1/0"


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("store", f"mysql://ada:{SECRET}@host/x"),
        ("redis", f"http://ada:{SECRET}@host"),
        ("archive", f"gs://ada:{SECRET}@bucket"),
        ("archive", f"s3://ada:{SECRET}@bucket/x"),
    ],
)
def test_an_address_that_is_refused_is_named_without_its_password(tmp_path, name, address):
    words = ["serve", str(tmp_path), "--port", "0", f"--{name}", address]
    done = run_program(words, env=clean_environment(tmp_path / "index"), text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("aerogram: ") and name in done.stderr
    assert SECRET not in done.stdout + done.stderr


def test_a_server_whose_database_and_redis_are_away_logs_no_password(fleet):
    log = fleet.folder / "away.log"
    fleet.environment |= SETTINGS
    pid = fleet.fork(["serve", "--port", str(find_free_port())], log)
    try:
        wait_for(lambda: log.exists() and all(one in log.read_text() for one in ("tried again", "shared clock")))
    finally:
        os.kill(pid, signal.SIGKILL)
    assert SECRET not in log.read_text()
