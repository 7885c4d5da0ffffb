"""What is given for operation: the compose file, the unit, the balancer's configuration and the page are right."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
import yaml

from aerogram import dialects, read
from aerogram.serving.gate import needs_keys
from aerogram_knowledge.hosting.settings import Settings
from balancer import wait_for
from installations import PROJECTS
from postgres import program as path_of
from programs import quick_programs
from servers import find_free_port, listening
from serving import SAMPLES, clean_environment

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PAGE = ROOT / "docs" / "organisation.md"
SEARCH = {"q": "token", "envelope": "v2"}
END_WHAT_RUNS = "[ $? = 0 ] || kill $(jobs -p) $(cat *.pid) $(head -1 postgres/postmaster.pid)"
"""What a shell does that could not follow the page to its end."""


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


def test_the_compose_file_says_how_the_key_is_made_without_which_its_servers_do_not_begin():
    said = composed()
    (command,) = re.findall(r"run --rm (\S+) (keys create \S+)", (DEPLOY / "compose.yaml").read_text())
    servers, beside = said["server-1"]["environment"], said[command[0]]["environment"]
    assert needs_keys(Settings.load(environ={"AEROGRAM_HOST": servers["AEROGRAM_HOST"]}))
    assert "AEROGRAM_KEYS" not in servers and beside["AEROGRAM_STORE"] == servers["AEROGRAM_STORE"]


def test_what_the_compose_file_ingests_waits_until_the_database_takes_connections(postgres):
    """An ingest that begins without its database ends, and the servers would have nothing to show."""
    said = composed()
    assert said["ingest"]["depends_on"]["postgres"] == {"condition": "service_healthy"}
    kind, program, *arguments = said["postgres"]["healthcheck"]["test"]
    assert kind == "CMD"
    for port, is_there in ((postgres.port, True), (find_free_port(), False)):
        command = [path_of(program), *arguments, f"--port={port}"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode == 0) is is_there, done.stdout


def test_the_balancer_of_the_compose_file_knows_every_server():
    services = composed()
    named = services["balancer"]["environment"]
    for server in ("server-1", "server-2"):
        port = services[server]["environment"]["AEROGRAM_PORT"]
        assert f"{server}:{port}" in named.values()
    wanted = set(re.findall(r"\$\{(\w+)\}", (DEPLOY / "haproxy.cfg").read_text()))
    assert wanted == set(named)


def test_the_image_installs_every_distribution_from_what_it_copies():
    """In one call: each of them asks for the others, in a version that is nowhere else yet."""
    lines = (DEPLOY / "Dockerfile").read_text().replace("\\\n", "").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ")]
    assert copied == [["packages"]]
    (line,) = [line for line in lines if "pip install" in line]
    words = shlex.split(line.partition("RUN ")[2].partition("&&")[0])
    paths = {word for word in words if word.startswith("./")}
    assert {path.partition("[")[0] for path in paths} == {f"./packages/{name}" for name in PROJECTS}
    dry = ["--dry-run", "--no-build-isolation", "--no-index"]  # nothing is fetched: what they need is here already
    command = [sys.executable, "-m", *words, *dry, "--report", "-", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert {one["metadata"]["name"] for one in json.loads(done.stdout)["install"]} == PROJECTS.keys()
    assert "does not provide the extra" not in done.stderr


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


@pytest.fixture
def balanced_by_haproxy(fleet, index, redis, haproxy):
    """The address of the configured balancer, before two servers."""
    fleet.add("--index", str(index), "--redis", redis.url, "--drain", "2", count=2)
    port = find_free_port()
    places = {f"SERVER_{number}": f"127.0.0.1:{one.port}" for number, one in enumerate(fleet.members, 1)}
    command = [haproxy, "-f", str(DEPLOY / "haproxy.cfg"), "-db"]
    environment = {**os.environ, **places, "LISTEN": f"127.0.0.1:{port}"}
    with listening(command, port, env=environment, stderr=subprocess.DEVNULL):
        yield f"http://127.0.0.1:{port}"


def test_the_configured_balancer_begins_before_its_servers_have_addresses_and_says_so_in_shape(haproxy):
    port = find_free_port()
    places = {f"SERVER_{number}": f"server-{number}.invalid:8000" for number in (1, 2)}
    environment = {**os.environ, **places, "LISTEN": f"127.0.0.1:{port}"}
    command = [haproxy, "-f", str(DEPLOY / "haproxy.cfg"), "-db"]
    with listening(command, port, env=environment, stderr=subprocess.DEVNULL):
        reply = httpx.get(f"http://127.0.0.1:{port}/v1/search", params=SEARCH, timeout=30)
    assert (reply.status_code, read(reply.json()).problem.code) == (503, "UNAVAILABLE")


def test_servers_are_replaced_behind_the_configured_balancer_and_no_request_fails(fleet, balanced_by_haproxy):
    stop, statuses = threading.Event(), []

    def keep_asking():
        with httpx.Client(base_url=balanced_by_haproxy, timeout=60) as client:
            while not stop.is_set():
                statuses.append(client.get("/v1/search", params=SEARCH).status_code)

    callers = [threading.Thread(target=keep_asking) for _ in range(3)]
    try:
        for one in callers:
            one.start()
        for one in fleet.members:
            wait_for(lambda: len(statuses) > 20)
            one.end()
            asked = one.log.read_text().count("GET /v1/search")
            one.start()
            wait_for(lambda one=one, asked=asked: one.log.read_text().count("GET /v1/search") > asked)
    finally:
        stop.set()
        for one in callers:
            one.join()
    assert set(statuses) == {200}


def test_whoever_comes_through_the_configured_balancer_is_not_the_owner(balanced_by_haproxy):
    """The owner is at the server's machine, and so is the balancer; but it says for whom it asks."""
    context = httpx.get(f"{balanced_by_haproxy}/page/api/context", timeout=60).json()
    assert context["owner"] is False


def test_what_the_configured_balancer_says_itself_is_in_shape(fleet, balanced_by_haproxy):
    """Nobody is there who could answer, or the one who was asked is gone."""
    for one in fleet.members:
        one.send(signal.SIGSTOP)
    with httpx.Client(base_url=balanced_by_haproxy, timeout=60) as client:

        def nobody_is_there():
            with contextlib.suppress(httpx.ReadTimeout):  # it was passed on to one of them a moment ago
                return client.get("/v1/search", params=SEARCH, timeout=1).status_code == 503

        wait_for(nobody_is_there)
        for answer in (client.get("/v1/search", params=SEARCH), client.post("/v1/digests", json={})):
            assert answer.headers["content-type"] == "application/problem+json"
            told = read(answer.json(), dialect="problem").problem
            assert (told.code, told.retryable, told.retry_after) == ("UNAVAILABLE", True, 1)
            assert answer.headers["retry-after"] == "1"


def send_slowly(line, letter):
    """Whether the line is closed by now."""
    try:
        line.sendall(letter)
    except ConnectionError:
        return True
    time.sleep(1)
    return False


def test_a_head_that_comes_letter_by_letter_does_not_hold_a_place_of_the_configured_balancer(balanced_by_haproxy):
    """Some seconds are enough for a head; each letter alone would begin them anew."""
    letters = [b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", *[b"a"] * 20]
    with socket.create_connection(("127.0.0.1", urlsplit(balanced_by_haproxy).port)) as line:
        closed = (send_slowly(line, letter) for letter in letters)
        assert any(closed)


def test_one_address_leaves_places_of_the_configured_balancer_to_others(balanced_by_haproxy):
    """What it holds beyond its share is closed; another address is answered meanwhile."""
    place = ("127.0.0.1", urlsplit(balanced_by_haproxy).port)
    with contextlib.ExitStack() as held:
        lines = [held.enter_context(socket.create_connection(place)) for _ in range(520)]
        lines[-1].settimeout(5)  # a line that has a place is kept for longer
        with contextlib.suppress(ConnectionError):
            assert lines[-1].recv(1) == b""
        transport = httpx.HTTPTransport(local_address="127.0.0.2")
        with httpx.Client(transport=transport, base_url=balanced_by_haproxy, timeout=60) as client:
            assert client.get("/v1/health").status_code == 200


@pytest.mark.parametrize("status", [502, 503, 504])
def test_each_answer_of_the_balancer_is_problem_details_with_its_own_status(status):
    (said,) = re.findall(rf"http-error status {status} .* string '(.*)'", (DEPLOY / "haproxy.cfg").read_text())
    problem = json.loads(said)
    assert problem["status"] == status
    assert dialects.validate(problem, dialect="problem")


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
        environment["PATH"] = quick_programs(folder / "bin")
        script = f"set -e\ntrap '{END_WHAT_RUNS}' EXIT\n" + commands_of_the_page(ports)
        command = ["timeout", "900", "bash", "-c", script]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        assert '"status":"rich"' in done.stdout
        assert "aerogram_requests_total" in done.stdout
        assert '"redis":{"status":"ok"' in done.stdout
    finally:
        shutil.rmtree(folder, ignore_errors=True)
