"""The laws every dialect keeps, for every reply."""

from dataclasses import replace

import jsonschema_rs
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aerogram import Fidelity, Page, Reply, dialect, read
from aerogram.dialects.protocol import KEY
from replies import failures, replies, successes

CONTRACTS = ("response-v2", "standard-v2", "knowledge-1.0")


def completed(reply):
    """The reply with everything that any contract requires, stamped once."""
    return reply.complete(operation="search", duration_ms=1.5, tokens_estimated=7)


def over_the_wire(body):
    return orjson.loads(orjson.dumps(body))


def speakers(reply):
    return (*CONTRACTS, "problem") if reply.problem else CONTRACTS


@pytest.mark.parametrize("name", CONTRACTS)
@given(reply=replies)
def test_what_a_dialect_encodes_it_decodes_to_the_same_reply(name, reply):
    reply = completed(reply)
    body = over_the_wire(dialect(name).encode(reply))
    assert dialect(name).decode(body, lenient=False) == reply


@given(reply=failures)
def test_problem_details_decode_to_the_same_failure(reply):
    body = over_the_wire(dialect("problem").encode(reply))
    assert dialect("problem").decode(body, lenient=False) == reply


@given(reply=replies, data=st.data())
def test_a_reply_survives_any_chain_of_translations(reply, data):
    reply = completed(reply)
    for name in data.draw(st.lists(st.sampled_from(speakers(reply)), min_size=2, max_size=4)):
        reply_again = dialect(name).decode(over_the_wire(dialect(name).encode(reply)))
        assert reply_again == reply
        reply = reply_again


@given(reply=replies)
def test_a_body_is_recognised_as_the_dialect_that_wrote_it(reply):
    reply = completed(reply)
    for name in speakers(reply):
        assert read(orjson.dumps(dialect(name).encode(reply))) == reply


@pytest.mark.parametrize("slim", [False, True])
@given(reply=replies)
def test_every_body_satisfies_its_own_schema(slim, reply):
    reply = completed(reply)
    for name in speakers(reply):
        validator = VALIDATORS[name, slim]
        validator.validate(over_the_wire(dialect(name).encode(reply)))


@given(reply=replies)
def test_encoding_is_deterministic_and_leaves_the_reply_alone(reply):
    reply = completed(reply)
    before = orjson.dumps(reply.data)
    for name in speakers(reply):
        assert orjson.dumps(dialect(name).encode(reply)) == orjson.dumps(dialect(name).encode(reply))
    assert orjson.dumps(reply.data) == before


@given(reply=replies)
@example(replace(Reply.failed("VALIDATION_ERROR", "no"), page=Page(cursor="0"), fidelity=Fidelity("partial")))
@example(Reply.partial([], "more", page=Page(cursor="0"), fidelity=Fidelity("partial", schema_version="v1")))
def test_without_the_extension_every_member_of_the_contract_still_reads(reply):
    reply = completed(reply)
    for name in speakers(reply):
        speaker = dialect(name)
        body = over_the_wire(speaker.encode(reply))
        speaker.place(body).pop(KEY, None)
        heard = speaker.decode(body, lenient=False)
        again = over_the_wire(speaker.encode(heard))
        speaker.place(again).pop(KEY, None)
        assert again == body


@given(reply=successes)
def test_the_bare_dialect_carries_the_data_alone(reply):
    bare = dialect("bare")
    body = bare.encode(reply)
    assert body is reply.data
    assert bare.decode(body).data == reply.data


@given(reply=replies)
def test_a_payload_is_never_copied(reply):
    if isinstance(reply.data, dict) and reply.problem is None:
        assert dialect("response-v2").encode(reply)["data"] is reply.data


VALIDATORS = {
    (name, slim): jsonschema_rs.validator_for(dialect(name).schema(slim=slim))
    for name in (*CONTRACTS, "problem")
    for slim in (False, True)
}
