"""The official suite of the protocol finds no difference between a server with Aerogram and the same without."""

import pytest

WITHOUT_FAULT = {
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-list",
    "resources-list",
    "resources-read-text",
    "resources-read-binary",
    "resources-templates-read",
}
MODERN_WITHOUT_FAULT = {
    "server-stateless",
    "caching",
    "sep-2164-resource-not-found",
    "input-required-result-basic-elicitation",
    "input-required-result-multi-round",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
}


campaign = pytest.mark.campaign
"""Each framework and each revision is in every run; the other pairs of them are not."""


@pytest.mark.parametrize(
    ("framework", "revision"),
    [
        ("fastmcp", "2025-11-25"),
        ("sdk", "2026-07-28"),
        pytest.param("fastmcp", "2026-07-28", marks=campaign),
        pytest.param("sdk", "2025-11-25", marks=campaign),
    ],
)
def test_every_required_scenario_ends_the_same_with_aerogram_on_as_off(suite, framework, revision, tmp_path):
    off, on = suite.compare(framework, revision, tmp_path)
    assert on == off
    assert len(on) >= 30
    wanted = WITHOUT_FAULT | (MODERN_WITHOUT_FAULT if revision == "2026-07-28" else set())
    faults = {name: [one for one, status in on[name].items() if status == "FAILURE"] for name in wanted}
    assert {name: found for name, found in faults.items() if found} == {}


@pytest.mark.parametrize("revision", ["2026-07-28", pytest.param("2025-11-25", marks=campaign)])
def test_every_required_scenario_ends_the_same_through_a_gateway(suite, revision, tmp_path):
    off, before = suite.compare("sdk", revision, tmp_path, "before")
    assert before == off
    assert len(before) >= 30
