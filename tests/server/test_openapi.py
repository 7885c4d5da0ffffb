"""What the OpenAPI document promises, tried by schemathesis against a real server: every check that it has."""

import subprocess
import sys

import httpx
import pytest

from aerogram.digest import payload_of

SETTINGS = """
[checks]
# 400 is for what a schema cannot say: a name that is no field, a budget that nothing fits into
positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 429, "5xx"]

[[operations]]
include-path = "/v1/vendors/{{name}}"
parameters = {{ "path.name" = "kestrelgate" }}

[[operations]]
include-path = "/v1/content/{{hash}}"
parameters = {{ "path.hash" = "{hash}" }}
"""


def archived(address):
    """The hash of a text that is in the archive."""
    asked = {"source_file": "security/jwt-guide.md", "query": "How long is a token valid?"}
    body = httpx.post(f"{address}/v1/digests", json=asked, timeout=30).json()
    return payload_of(body["sources"][0]).source_text_hash


@pytest.mark.parametrize("examples", ["8", pytest.param("100", marks=pytest.mark.campaign)])
def test_the_server_keeps_what_its_document_promises(served, examples, tmp_path):
    settings = tmp_path / "schemathesis.toml"
    settings.write_text(SETTINGS.format(hash=archived(served.address)), encoding="utf-8")
    options = ["--phases", "examples,coverage,fuzzing", "--checks", "all", "--max-examples", examples, "--seed", "1"]
    document = f"{served.address}/openapi.json"
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "--config-file", settings, "run", "--no-color", *options, document],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 selected / 8 total" in done.stdout
