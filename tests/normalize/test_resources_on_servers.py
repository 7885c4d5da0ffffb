"""Contents that handlers make themselves, read from real servers of both frameworks by the official client."""

from __future__ import annotations

import os
from pathlib import Path

import mcp
import pytest

from aerogram.normalize import normalize_resource_payload
from normalize.resource_server import RESOURCES
from programs import quick_command

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
@pytest.mark.parametrize("framework", ["fastmcp", "sdk"])
async def test_contents_keep_what_they_say_and_get_the_mime_type_they_do_not(framework: str, mode: str):
    """The declared one, else the one of what they hold; their own URIs and `_meta` arrive; a whole result is left."""
    program, *words = quick_command(str(TESTS / "normalize" / "resource_server.py"), framework)
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    parameters = mcp.StdioServerParameters(command=program, args=words, env=environment)
    async with mcp.Client(parameters, mode=mode) as client:
        for uri, (_, _, expected) in RESOURCES.items():
            result = await client.read_resource(uri)
            found = [one.model_dump(mode="json", by_alias=True, exclude_none=True) for one in result.contents]
            assert found == expected, uri


@pytest.mark.parametrize("uri", [uri for uri in RESOURCES if uri != "result://whole"])
def test_normaliser_says_the_same_as_the_servers(uri: str):
    declared, make, expected = RESOURCES[uri]
    assert normalize_resource_payload(uri, declared, make()).contents == expected
