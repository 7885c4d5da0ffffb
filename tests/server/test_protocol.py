"""The official TypeScript client, and the official conformance suite, against this server."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from conformance.conftest import Suite, _scenario, suite
from node_packages import node_and_package
from programs import quick_command
from serving import clean_environment, command

__all__ = ["suite"]

CLIENT = "mcp-sdk", "@modelcontextprotocol/client", "2.4.0"
SCRIPT = Path(__file__).with_name("converse.mjs")

WITHOUT_FIXTURES = {
    "2026-07-28": {
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "prompts-list",
        "resources-list",
        "sep-2164-resource-not-found",
        "server-sse-multiple-streams",
        "tools-list",
    },
    "2025-11-25": {
        "dns-rebinding-protection",
        "logging-set-level",
        "ping",
        "prompts-list",
        "resources-list",
        "server-initialize",
        "server-sse-multiple-streams",
        "tools-list",
    },
}
"""The scenarios that call nothing which only the suite's own test server has."""


@pytest.fixture(scope="session")
def converse(tmp_path_factory):
    """Runs the conversation with a client in an era, over HTTP or stdio; gives what it found."""
    node, modules = node_and_package(*CLIENT)
    folder = tmp_path_factory.mktemp("typescript")
    (folder / "node_modules").symlink_to(modules)
    script = shutil.copy(SCRIPT, folder)

    def run(mode, target, environment=None):
        done = subprocess.run(
            [node, script, mode, *target], capture_output=True, text=True, check=False, timeout=120, env=environment
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


FOUND = {
    "complete": True,
    "recovered": True,
    "restored": True,
    "verified": True,
    "refused": [True, "VALIDATION_ERROR"],
}


@pytest.mark.parametrize(("mode", "version"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_typescript_client_does_everything_over_http(served, converse, mode, version):
    assert converse(mode, [served.mcp]) == {"version": version, **FOUND}


def test_the_typescript_client_does_everything_over_stdio(served, converse):
    target = command(served.index, "--stdio", program=quick_command("-m", "aerogram"))
    assert converse("auto", target, clean_environment(served.index)) == {"version": "2026-07-28", **FOUND}


@pytest.mark.parametrize("revision", list(WITHOUT_FIXTURES))
def test_the_conformance_suite_finds_no_fault(served, suite: Suite, revision, tmp_path):
    """In everything that does not ask for the tools of the suite's own test server; those are tested elsewhere."""
    options = ["--url", served.mcp, "--requirements", revision, "-o", str(tmp_path)]
    subprocess.run([*suite.command, "server", *options], capture_output=True, check=False, timeout=600, cwd=tmp_path)
    found = dict(_scenario(path) for path in tmp_path.glob("*/checks.json"))
    wanted = {name: found.get(name, {"not run": "FAILURE"}) for name in WITHOUT_FIXTURES[revision]}
    faults = {name: [one for one, status in checks.items() if status == "FAILURE"] for name, checks in wanted.items()}
    assert {name: checks for name, checks in faults.items() if checks} == {}
