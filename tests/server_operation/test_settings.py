"""Settings: what counts, where it comes from, and what is said of a bad one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from aerogram_knowledge.hosting.settings import OTHER_VARIABLES, BadSetting, Settings

ROOT = Path(__file__).parents[2]


def test_a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default(tmp_path):
    file = tmp_path / "here.toml"
    file.write_text("port = 1\nhost = '::1'\ntimeout = 5\n")
    environ = {"AEROGRAM_PORT": "2", "AEROGRAM_HOST": "localhost", "PATH": "/bin"}
    found = Settings.load({"port": "3", "watch": None, "documents": []}, file=file, environ=environ)
    assert (found.port, found.host, found.timeout, found.grace) == (3, "localhost", 5.0, 10.0)
    assert [found.origin(name) for name in ("port", "host", "timeout", "grace", "watch")] == [
        "flag --port",
        "environment AEROGRAM_HOST",
        f"file {file}",
        "default",
        "default",
    ]


def test_the_environment_can_name_the_file(tmp_path):
    file = tmp_path / "elsewhere.toml"
    file.write_text("port = 7")
    assert Settings.load(environ={"AEROGRAM_CONFIG": str(file)}).port == 7


def test_a_variable_that_is_empty_says_nothing():
    assert Settings.load(environ={"AEROGRAM_PORT": ""}).port == 8000


def test_paths_in_a_file_are_meant_from_its_folder(tmp_path):
    (tmp_path / "aerogram.toml").write_text("documents = ['docs', '/srv/more']\nindex = 'kept'")
    found = Settings.load(file=tmp_path / "aerogram.toml", environ={})
    assert found.documents == (tmp_path / "docs", Path("/srv/more"))
    assert found.index == tmp_path / "kept"


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("port", "0", 0),
        ("port", 65535, 65535),
        ("watch", "off", False),
        ("watch", True, True),
        ("max_body", "512 KiB", 524_288),
        ("max_body", "2MB", 2_000_000),
        ("max_body", 10, 10),
        ("timeout", "2.5", 2.5),
        ("timeout", 0, 0.0),
        ("allowed_hosts", "a.example, *.B.example", ("a.example", "*.b.example")),
        ("allowed_hosts", ["*"], ("*",)),
        ("allowed_hosts", "[FE80::1], 10.0.0.1", ("fe80::1", "10.0.0.1")),
        ("allowed_origins", ["https://App.example:8443/", "null"], ("https://app.example:8443", "null")),
        ("limits", "60/minute, 5000/day, search=5/second", "60/minute, 5000/day, search=5/second"),
        ("limits", "", ""),
        ("budget", 4000, "4000"),
        ("budget", "10240 bytes", "10240 bytes"),
        ("dialect", "standard-v2", "standard-v2"),
    ],
)
def test_a_value_is_read_as_its_kind_has_it(name, given, meant):
    assert getattr(Settings.load({name: given}, environ={}), name) == meant


@pytest.mark.parametrize(
    ("name", "given", "allowed"),
    [
        ("port", "65536", "from 0 to 65535"),
        ("port", "eighty", "from 0 to 65535"),
        ("port", True, "from 0 to 65535"),
        ("port", 80.5, "from 0 to 65535"),
        ("watch", "perhaps", "true or false"),
        ("max_body", "0", "512 KiB"),
        ("max_body", "2 stones", "512 KiB"),
        ("max_body", "9 GiB", "512 KiB"),
        ("timeout", "nan", "from 0 to 86400"),
        ("timeout", "-1", "from 0 to 86400"),
        ("timeout", "soon", "from 0 to 86400"),
        ("timeout", True, "from 0 to 86400"),
        ("host", "a\nb", "one line of text"),
        ("host", 7, "one line of text"),
        ("transport", "carrier pigeon", "http, stdio"),
        ("index", "~nobody-has-this-name/x", ""),
        ("keys", "~nobody-has-this-name/x", ""),
        ("documents", ["~nobody-has-this-name/x"], ""),
        ("archive", "~nobody-has-this-name/x", ""),
        ("transport", ["http"], "http, stdio"),
        ("allowed_hosts", "http://a.example", "without a port"),
        ("allowed_hosts", "a.example:80", "without a port"),
        ("allowed_hosts", "a:80", "without a port"),
        ("allowed_hosts", "10.0.0.1:80", "without a port"),
        ("allowed_hosts", 3, "without a port"),
        ("allowed_hosts", [3], "without a port"),
        ("allowed_origins", "a.example", "https://app.example.com"),
        ("allowed_origins", "https://a.example/path", "https://app.example.com"),
        ("limits", "60 a minute", "60/minute"),
        ("limits", "=60/minute", "60/minute"),
        ("budget", "a lot", "a number of tokens"),
        ("budget", "0", "a number of tokens"),
        ("dialect", "problem", "knowledge-1.0"),
        ("index", {"a": 1}, "a path"),
        ("documents", {"a": 1}, "paths"),
    ],
)
def test_a_bad_value_names_the_key_the_origin_and_what_is_allowed(name, given, allowed):
    with pytest.raises(BadSetting) as refused:
        Settings.load({name: given}, environ={})
    message = str(refused.value)
    assert message.startswith(f"{name} (flag --{name.replace('_', '-')}): ")
    assert allowed in message
    assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prot = 1", "prot (file {file}): no such setting; did you mean port?"),
        ("zzz = 1", "there are documents, index"),
        ("[server]\nport = 1", "server (file {file}): no such setting"),
        ("port = ", "{file} (file): not TOML"),
        ("port = 1\nport = 2", "{file} (file): not TOML"),
        ("\xff", "{file} (file): not TOML"),
        (
            f"port = 0x{'F' * 5_000}",
            "port (file {file}): a number of more than 4,300 digits is not allowed; allowed: a whole",
        ),
        (f"timeout = 0x{'F' * 5_000}", "a number of more than 4,300 digits is not allowed; allowed: seconds"),
        (f"documents = [0x{'F' * 5_000}]", "a number of more than 4,300 digits is not allowed; allowed: paths"),
        ("#" * 2_000_000, "{file} (file): it has more than 1,048,576 bytes"),
    ],
    ids=lambda text: text[:40],
)
def test_a_bad_file_is_named(text, said, tmp_path):
    file = tmp_path / "aerogram.toml"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadSetting) as refused:
        Settings.load(file=file, environ={})
    assert said.format(file=file) in str(refused.value)


def test_a_variable_that_does_not_exist_is_a_typing_error():
    with pytest.raises(BadSetting, match=r"AEROGRAM_PROT \(environment AEROGRAM_PROT\): .* did you mean AEROGRAM_PORT"):
        Settings.load(environ={"AEROGRAM_PROT": "1"})


def test_a_flag_that_does_not_exist_is_a_typing_error():
    with pytest.raises(BadSetting, match="did you mean timeout"):
        Settings.load({"timout": "1"}, environ={})


def test_every_variable_that_the_source_reads_is_known():
    """So that none of them is taken for a typing error."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "packages").rglob("*.py")]
    read = set(re.findall(r"\"(AEROGRAM_[A-Z_]*[A-Z])\"", "".join(texts)))
    known = OTHER_VARIABLES | {one.variable for one in Settings.options()}
    assert {"AEROGRAM_STATE", "AEROGRAM_INDEX"} <= read
    assert read - known == set()


def test_the_settings_can_be_said_again_as_flags_from_any_folder():
    flags = {"index": "kept", "watch": False, "allowed_hosts": ["a.example", "b.example"], "budget": "99"}
    found = Settings.load(flags, environ={})
    assert found.arguments(("index", "watch", "allowed_hosts", "port")) == [
        "--index",
        str(Path("kept").absolute()),
        "--no-watch",
        "--allowed-hosts",
        "a.example",
        "--allowed-hosts",
        "b.example",
    ]


def test_config_shows_every_setting_with_its_origin(aerogram, tmp_path):
    (tmp_path / "aerogram.toml").write_text("host = 'localhost'\nallowed_hosts = ['a.example', 'b.example']")
    done = aerogram("config", "--port", "9000", "--watch", AEROGRAM_TIMEOUT="2.5")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: re.split(r" {2,}", line)[1:] for line in done.stdout.splitlines()}
    assert list(rows) == [one.name for one in Settings.options()]
    assert rows["port"] == ["9000", "flag --port"]
    assert rows["watch"] == ["true", "flag --watch"]
    assert rows["timeout"] == ["2.5", "environment AEROGRAM_TIMEOUT"]
    assert rows["host"] == ["localhost", "file aerogram.toml"]
    assert rows["allowed_hosts"] == ["a.example, b.example", "file aerogram.toml"]
    assert rows["grace"] == ["10", "default"]


def test_config_in_json_has_the_values_as_they_are(aerogram):
    done = aerogram("config", "--json", "--max-body", "1 KiB", "--documents", "a", "--documents", "b")
    said = json.loads(done.stdout)
    assert said["max_body"] == {"value": 1024, "origin": "flag --max-body"}
    assert said["documents"] == {"value": ["a", "b"], "origin": "flag --documents"}
    assert said["keys"] == {"value": None, "origin": "default"}


def test_config_reads_the_file_that_it_is_told(aerogram, tmp_path):
    (tmp_path / "other.toml").write_text("port = 1234")
    assert "1234" in aerogram("config", "--config", "other.toml").stdout
    missing = aerogram("config", "--config", "absent.toml")
    assert (missing.returncode, missing.stderr) == (1, "aerogram: absent.toml: No such file or directory\n")


def test_a_bad_setting_is_one_line(aerogram):
    done = aerogram("config", AEROGRAM_PORT="http")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "aerogram: port (environment AEROGRAM_PORT): 'http' is not allowed; allowed: a whole number from 0 to 65535\n"
    )
    as_json = aerogram("config", "--json", AEROGRAM_PORT="http")
    assert json.loads(as_json.stdout)["code"] == "VALIDATION_ERROR"


UNUSABLE = (
    "redis://:secretpw@h:99999/0",
    "redis://:secretpw@h:port/0",
    "redis://:secretpw@h:0/0",
    "redis://:secretpw@h/x",
    "redis://:secretpw@h/1/2",
    "redis://:secretpw@h/-1",
    "redis://:secretpw@h/0#1",
    "redis://:secretpw@h/0?foo=bar",
    "redis://:secretpw@h/?db=x",
    "redis://:secretpw@h/?db=-1",
    "rediss://:secretpw@h/0?socket_timeout=soon",
)


@pytest.mark.parametrize("address", UNUSABLE)
@pytest.mark.parametrize("name", ["redis", "archive"])
def test_an_address_of_redis_that_cannot_be_used_as_it_is_written_is_refused(name, address):
    """Redis's client passes over what it does not know, and would take database 0 for another."""
    with pytest.raises(BadSetting) as refused:
        Settings.load({name: address}, environ={})
    assert "is not allowed; allowed: " in str(refused.value)
    assert "secretpw" not in str(refused.value)


@pytest.mark.parametrize("command", ["config", "serve"])
def test_a_port_that_no_redis_can_have_is_refused_in_one_line(command, aerogram):
    done = aerogram(command, AEROGRAM_REDIS=UNUSABLE[0])
    assert (done.returncode, done.stdout) == (1, "")
    told = "aerogram: redis (environment AEROGRAM_REDIS): 'redis://***' is not allowed; allowed: "
    assert done.stderr.startswith(told)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "address",
    [
        "redis://h",
        "redis://h/",
        "redis://:pw@h:6379/15",
        "redis://ada:p%40w@[::1]:6379/0?db=3&socket_timeout=1.5",
        "rediss://:pw@h/0?ssl_ca_certs=ca.pem&ssl_cert_reqs=required",
    ],
)
@pytest.mark.parametrize("name", ["redis", "archive"])
def test_an_address_of_redis_may_say_what_its_client_knows(name, address):
    assert getattr(Settings.load({name: address}, environ={}), name) == address


@pytest.mark.parametrize(
    "endpoint", ["http://key:secretpw@storage.example", "http%3A%2F%2Fkey%3Asecretpw%40storage.example"]
)
@pytest.mark.parametrize("name", ["archive", "store"])
def test_no_password_of_an_address_within_an_address_is_shown(name, endpoint, aerogram):
    shown = aerogram("config", **{f"AEROGRAM_{name.upper()}": f"s3://bucket/?endpoint={endpoint}&region=x"})
    assert "secretpw" not in shown.stdout + shown.stderr and "storage.example" in shown.stdout + shown.stderr


@pytest.mark.parametrize(
    "said",
    [
        'replicas = ["postgresql://u:secretpw@h/x", "x"]',
        'redis = ["redis://:secretpw@h/0"]',
        'store = {url = "postgresql://u:secretpw@h/x"}',
        'store = {parts = [{host = "h", password = "secretpw"}]}',
    ],
)
def test_no_password_in_a_refused_list_or_table_is_shown(said, tmp_path):
    (tmp_path / "c.toml").write_text(said, encoding="utf-8")
    with pytest.raises(BadSetting, match="is not allowed") as refused:
        Settings.load(file=tmp_path / "c.toml", environ={})
    assert "secretpw" not in str(refused.value) and "h" in str(refused.value)
