"""Flags: states, switches, fallbacks, and what a caller is told."""

from __future__ import annotations

import pytest

from aerogram import AerogramError, Reply, problem_of
from aerogram.contract.flags import RESPONSE_CONTRACT_V2, STATES, Flag, Flags, UnknownFlag
from aerogram.dialects import dialect
from aerogram.errors import FeatureDisabled


@pytest.mark.parametrize(
    ("state", "on"),
    [("experimental", False), ("beta", False), ("stable", True), ("deprecated", True), ("removed", False)],
)
def test_a_feature_is_on_or_off_by_its_state(state, on):
    assert Flags(Flag("search", state=state)).is_enabled("search") is on


def test_a_feature_can_be_switched_for_everyone_and_for_one_client():
    flags = Flags(Flag("search", state="beta"))
    flags.switch("search", on=True, client="ada")
    assert [flags.is_enabled("search", client) for client in (None, "ada", "bob")] == [False, True, False]
    flags.switch("search", on=True)
    flags.switch("search", on=False, client="ada")
    assert [flags.is_enabled("search", client) for client in (None, "ada", "bob")] == [True, False, True]
    flags.switch("search", on=None, client="ada")
    assert flags.is_enabled("search", "ada")


def test_the_default_of_a_state_can_be_overridden():
    assert Flags(Flag("search", state="beta", enabled=True)).is_enabled("search")
    assert not Flags(Flag("search", enabled=False)).is_enabled("search")


def test_a_feature_needs_what_it_requires():
    flags = Flags(Flag("index"), Flag("search", requires=("index",)))
    assert flags.is_enabled("search")
    flags.switch("index", on=False, client="ada")
    assert not flags.is_enabled("search", "ada")
    assert flags.is_enabled("search", "bob")


def test_a_requirement_that_nobody_declared_is_refused():
    with pytest.raises(UnknownFlag):
        Flags(Flag("search", requires=("index",)))


def test_life_goes_forward_only():
    flags = Flags(Flag("search", state="experimental"))
    for state in STATES[1:]:
        flags.advance("search", state)
    for state in STATES:
        with pytest.raises(ValueError, match="cannot become"):
            flags.advance("search", state)


def test_what_was_removed_stays_off():
    flags = Flags(Flag("search"))
    flags.switch("search", on=True)
    flags.advance("search", "removed")
    assert not flags.is_enabled("search")
    with pytest.raises(ValueError, match="removed"):
        flags.switch("search", on=True)


def test_a_call_into_a_feature_that_is_off_is_told_so():
    flags = Flags(Flag("search", state="beta"))
    with pytest.raises(FeatureDisabled) as refused:
        flags.require("search")
    reply = Reply.failed(problem_of(refused.value))
    body = dialect("response-v2").encode(reply)
    assert body["error"] == "Feature 'search' is not enabled"
    assert (body["data"]["error_code"], body["data"]["error_type"]) == ("FEATURE_DISABLED", "feature_flag")
    assert body["data"]["feature"] == "search"  # as the document shows it
    assert body["data"]["details"] == {"feature": "search", "state": "beta"}
    assert dialect("response-v2").decode(body) == reply and "aerogram" not in body["meta"]
    assert reply.problem.status == 403 and not reply.problem.retryable


def test_a_removed_feature_names_its_replacement():
    flags = Flags(Flag("old_search", state="removed", replacement="search"))
    with pytest.raises(FeatureDisabled) as refused:
        flags.require("old_search")
    assert refused.value.remediation == "The feature is gone: use search"


def test_a_fallback_serves_and_says_so():
    flags = Flags(Flag("semantic_search", state="beta", fallback="keyword search"))
    decision = flags.require("semantic_search")
    assert (decision.enabled, decision.serves) == (False, "keyword search")
    (notice,) = decision.notices
    assert (notice.code, notice.context) == ("FALLBACK_USED", {"feature": "semantic_search"})
    flags.switch("semantic_search", on=True)
    assert flags.require("semantic_search").serves == "semantic_search"
    assert flags.require("semantic_search").notices == ()


def test_the_response_contract_is_on_by_default_and_its_fallback_is_deprecated():
    flags = Flags(RESPONSE_CONTRACT_V2)
    assert flags.decide("response_contract_v2").enabled
    flags.switch("response_contract_v2", on=False)
    decision = flags.decide("response_contract_v2")
    assert decision.serves == "the legacy format"
    (notice,) = decision.notices
    assert "deprecated" in notice.message and notice.severity == "warning"


def test_a_deprecated_feature_warns_those_who_use_it():
    (notice,) = Flags(Flag("search", state="deprecated", replacement="find")).require("search").notices
    assert (notice.code, notice.suggestion) == ("DEPRECATED_FEATURE", "Move to find")


def test_flags_are_switched_by_the_environment(monkeypatch):
    monkeypatch.setenv("AEROGRAM_FLAGS", "search=on, response_contract_v2 = OFF,")
    flags = Flags.from_environment(RESPONSE_CONTRACT_V2, Flag("search", state="beta"))
    assert [flags.is_enabled(name) for name in ("search", "response_contract_v2")] == [True, False]


@pytest.mark.parametrize(("setting", "error"), [("serach=on", UnknownFlag), ("search=maybe", ValueError)])
def test_a_misspelt_setting_is_refused_at_the_start(monkeypatch, setting, error):
    monkeypatch.setenv("AEROGRAM_FLAGS", setting)
    with pytest.raises(error):
        Flags.from_environment(Flag("search"))


def test_an_unknown_flag_names_the_known_ones():
    with pytest.raises(AerogramError, match="known: search"):
        Flags(Flag("search")).is_enabled("serach")


def test_a_flag_is_declared_once_and_in_a_known_state():
    with pytest.raises(ValueError, match="twice"):
        Flags(Flag("search"), Flag("search"))
    with pytest.raises(ValueError, match="one of"):
        Flag("search", state="alpha")


def test_features_describe_themselves_for_negotiation():
    flags = Flags(RESPONSE_CONTRACT_V2, Flag("search", state="beta"))
    flags.switch("search", on=True, client="ada")
    assert flags.describe("ada")["search"] == {"state": "beta", "enabled": True}
    assert flags.describe()["search"]["enabled"] is False
    assert "search" in flags and [flag.name for flag in flags] == ["response_contract_v2", "search"]
