"""Addresses as they are shown: without their passwords, also where they cannot be read."""

import pytest

from aerogram_knowledge.hosting.addresses import without_secrets
from programs import run_program
from serving import clean_environment


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://u:pa/ssw0rd@h:1/db",
        "postgresql://u:pa#ssw0rd@h:1/db",
        "postgresql://u:pa?ssw0rd@h:1/db",
        "postgresql://u:99/ssw0rd@h/db",
        "postgresql://u:99?ssw0rd@h/db?sslmode=on",
        "postgresql://u:99#ssw0rd@h/db",
        "redis://:pa/ssw0rd@h:1/0",
        "host=h password=ssw0rd",
        "host=h password = 'a ssw0rd'",
    ],
)
def test_a_password_is_not_shown_where_the_address_cannot_be_read(address, tmp_path):
    assert "ssw0rd" not in without_secrets(address)
    option = "--redis" if address.startswith("redis") else "--store"
    done = run_program(["config", option, address], cwd=tmp_path, env=clean_environment(tmp_path / "index"))
    assert b"ssw0rd" not in done.stdout + done.stderr


def test_what_can_be_read_is_shown_but_for_its_secrets():
    assert without_secrets("postgresql://u:x@h:1/db?sslmode=on") == "postgresql://u:***@h:1/db?sslmode=on"
    assert without_secrets("redis://h/0") == "redis://h/0"
    assert without_secrets("/data/index=1") == "/data/index=1"


def test_an_error_about_the_address_of_a_store_does_not_repeat_its_password(tmp_path):
    (tmp_path / "a.md").write_text("alpha")
    address = "postgresql://u:pa?ssw0rd@127.0.0.1:1/db"
    done = run_program(["ingest", "a.md", "--store", address], cwd=tmp_path, env=clean_environment(tmp_path / "index"))
    assert done.returncode != 0
    assert b"ssw0rd" not in done.stdout + done.stderr
    assert b"%2F" in done.stderr
