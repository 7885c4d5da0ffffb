"""What is given for operation: the compose file, the unit, the balancer's configuration and the page are right."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import httpx
import pytest
import yaml

from aerogram.server.gate import needs_keys
from aerogram.server.settings import Settings
from balancer import wait_for
from servers import find_free_port, wait_until_listening
from serving import SAMPLES, clean_environment

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGE = ROOT / "docs" / "organisation.md"
SEARCH = {"q": "token", "envelope": "v2"}


def composed():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


@pytest.mark.parametrize("name", ["server-1", "server-2"])
def test_the_servers_of_the_compose_file_have_settings_that_exist(name):
    said = composed()[name]["environment"].items()
    given = {key: re.sub(r"\$\{.*?\}", "x", value) for key, value in said}
    settings = Settings.load(environ=given)
    assert settings.store.startswith("postgresql://") and settings.redis and settings.drain > 0
    seconds = int(composed()[name]["stop_grace_period"].removesuffix("s"))
    assert seconds > settings.drain + settings.grace


def test_the_balancer_of_the_compose_file_knows_every_server():
    services = composed()
    named = services["balancer"]["environment"]
    for server in ("server-1", "server-2"):
        port = services[server]["environment"]["AEROGRAM_PORT"]
        assert f"{server}:{port}" in named.values()
    wanted = set(re.findall(r"\$\{(\w+)\}", (DEPLOY / "haproxy.cfg").read_text()))
    assert wanted == set(named)


def test_the_unit_is_one_that_systemd_takes(tmp_path):
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = shutil.copy(DEPLOY / "aerogram@.service", tmp_path / "aerogram@8001.service")
    said = subprocess.run([program, "verify", unit], capture_output=True, text=True, check=False)
    assert (said.returncode, said.stderr) == (0, "")
    line = next(line for line in Path(unit).read_text().splitlines() if line.startswith("ExecStart="))
    flags = dict(re.findall(r"--(\w+) (\w+)", line))
    settings = Settings.load({**flags, "port": "8001"}, environ={})
    assert settings.drain > 0
    assert needs_keys(settings)  # it listens locally, and whoever the balancer lets through is not local


@pytest.fixture
def haproxy():
    program = shutil.which("haproxy")
    if program is None:
        pytest.skip("haproxy is not installed (Debian: apt-get install haproxy)")
    return program


def test_servers_are_replaced_behind_the_configured_balancer_and_no_request_fails(fleet, index, redis, haproxy):
    fleet.add("--index", str(index), "--redis", redis.url, "--drain", "2", count=2)
    port = find_free_port()
    places = {f"SERVER_{number}": f"127.0.0.1:{one.port}" for number, one in enumerate(fleet.members, 1)}
    command = [haproxy, "-f", str(DEPLOY / "haproxy.cfg"), "-db"]
    environment = {**os.environ, **places, "LISTEN": f"127.0.0.1:{port}"}
    balancer = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stop, statuses = threading.Event(), []

    def keep_asking():
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            while not stop.is_set():
                statuses.append(client.get("/v1/search", params=SEARCH).status_code)

    try:
        wait_until_listening(port, balancer)
        context = httpx.get(f"http://127.0.0.1:{port}/page/api/context", timeout=60).json()
        assert context["owner"] is False, "whoever comes through the balancer is not at the server's machine"
        callers = [threading.Thread(target=keep_asking) for _ in range(3)]
        for one in callers:
            one.start()
        for one in fleet.members:
            wait_for(lambda: len(statuses) > 20)
            one.end()
            asked = one.log.read_text().count("GET /v1/search")
            one.start()
            wait_for(lambda one=one, asked=asked: one.log.read_text().count("GET /v1/search") > asked)
        stop.set()
        for one in callers:
            one.join()
    finally:
        stop.set()
        balancer.terminate()
        balancer.wait(10)
    assert set(statuses) == {200}


def commands_of_the_page(ports):
    """What the page says to type, with ports that are free here."""
    text = "\n".join(re.findall(r"```bash\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    for old, new in ports.items():
        text = re.sub(rf"(?<!\d){old}(?!\d)", str(new), text)
    return text


def test_the_page_can_be_followed_from_nothing(haproxy):
    """Every command of the page, in its order, with a real PostgreSQL, a real Redis and a real balancer."""
    if not shutil.which("redis-server") or not shutil.which("curl"):
        pytest.skip("redis-server or curl is not installed")
    ports = {old: find_free_port() for old in (6380, 8001, 8002, 8080, 9401, 9402)}
    folder = Path(tempfile.mkdtemp(prefix="page-"))
    try:
        (folder / "documents").symlink_to(SAMPLES)
        (folder / "deploy").symlink_to(DEPLOY)
        environment = clean_environment(folder / "index")
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        script = "set -e\n" + commands_of_the_page(ports)
        command = ["timeout", "240", "bash", "-c", script]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert '"status":"rich"' in done.stdout
        assert "aerogram_requests_total" in done.stdout
        assert '"redis":{"status":"ok"' in done.stdout
    finally:
        shutil.rmtree(folder, ignore_errors=True)
