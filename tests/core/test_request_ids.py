"""Request ids: one form, that of the documents, and unlike all others."""

from __future__ import annotations

import re

from aerogram import new_request_id
from aerogram.reply import accept_request_id, is_generated_id


def test_ids_have_the_form_of_the_documents_and_are_not_alike() -> None:
    ids = [new_request_id() for _ in range(5_000)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("req_[a-z0-9]{8}", one) and accept_request_id(one) == one for one in ids)


def test_an_id_that_was_made_here_is_known() -> None:
    assert is_generated_id(new_request_id())
    assert not any(map(is_generated_id, ("req_7f3a2b1c", "req_abc123", "req_" + "a" * 9, "")))
