"""What fuzzing has once found, tried again; and a few cases of every target, always the same."""

from __future__ import annotations

import json
import logging
import random
from pathlib import Path

import httpx
import pytest

from fuzz_targets import TARGETS
from serving import SAMPLES, serving

CORPUS = sorted((Path(__file__).parent / "corpus").glob("*.json"))
CASES = 25


@pytest.fixture(autouse=True)
def quiet(caplog):
    caplog.set_level(logging.CRITICAL)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz") / "index"
    with serving(folder, documents=SAMPLES / "security") as served, httpx.Client(base_url=served.address) as client:
        client.timeout = 30
        yield client


def attempt(request, target, case):
    if target.needs_server:
        target.run(case, request.getfixturevalue("server"))
    else:
        target.run(case)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_was_once_found_is_found_no_more(request, path):
    target = TARGETS[path.stem.partition("-")[0]]
    attempt(request, target, json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", TARGETS)
def test_some_cases_of_every_target_keep_all_promises(request, name):
    chance, target = random.Random(20_261_116), TARGETS[name]
    for _ in range(CASES):
        attempt(request, target, json.loads(json.dumps(target.make(chance))))
