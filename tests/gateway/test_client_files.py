"""A client's file: wrapped with one command, and as it was with another."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tomllib

import pytest

from cli.conftest import aerogram  # noqa: F401
from gateway.conftest import behind
from gateway.test_wire import Wire

FILE = """{
    "note": "keep me",
    "mcpServers": {
        "git": {"command": "uvx", "args": ["mcp-server-git"],
                "env": {"GIT_TOKEN": "ghp_0123456789abcdefghij0123456789abcdef"}},
        "far": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer abc"}},
        "odd": {"disabled": true}
    }
}"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / ".mcp.json"
    path.write_text(FILE)
    path.chmod(0o640)
    return path


def servers(path):
    return json.loads(path.read_text())["mcpServers"]


def test_each_server_is_wrapped_and_comes_back_byte_for_byte(aerogram, file):  # noqa: F811
    done = aerogram("wrap", "--config", str(file), "--for", "claude-code", "--yes")
    assert done.returncode == 0 and b"git, far: wrapped" in done.stderr
    git, far, odd = servers(file).values()
    assert git["args"][3:] == ["wrap", "--budget", "claude-code", "--env", "GIT_TOKEN", "--", "uvx", "mcp-server-git"]
    assert far["args"][-1] == "https://mcp.example.com/mcp" and "Bearer abc" not in far["args"]
    assert far["env"] == {"AEROGRAM_HEADER_1": "Bearer abc"} and "headers" not in far
    assert odd == {"disabled": True} and json.loads(file.read_text())["note"] == "keep me"
    (backup,) = file.parent.glob(".mcp.json.aerogram-*")
    assert backup.read_text() == FILE and stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert aerogram("wrap", "--config", str(file), "--yes").returncode == 1  # not twice

    assert aerogram("unwrap", str(file), "--yes").returncode == 0
    assert file.read_text() == FILE
    assert [one.name for one in file.parent.iterdir()] == [".mcp.json"]


def test_the_change_is_shown_without_secrets_and_not_made_unless_somebody_agrees(aerogram, file):  # noqa: F811
    done = aerogram("wrap", "--config", str(file))
    assert done.returncode == 1 and b"nothing was changed" in done.stderr
    assert b'"aerogram"' in done.stdout and b"ghp_0123" not in done.stdout
    assert b"Bearer abc" not in done.stdout and b'"AEROGRAM_HEADER_1": "[redacted]"' in done.stdout
    assert file.read_text() == FILE


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mcp.json", r'{"mcpServers": {"a": {"command": "x", "env": {"K": "hunter\u002dtwo"}}}}'),
        ("mcp.json", '{"mcpServers": {"a": {"command": "x", "env": {"K": "hunter-two-é"}}}}'),
        ("mcp.json", r'{"mcpServers": {/* " */ "a": {"url": "https:\/\/h.example.com\/?hunter-two"}}}'),
        ("config.toml", "[mcp_servers.a]\ncommand = 'x'\nenv = { K = 'hunter-two' }\n"),
        ("config.toml", '[mcp_servers.a]\ncommand = "x"\nenv.K = """\nhunter\n-two"""\nargs = ["x"]\n'),
    ],
)
def test_a_secret_is_not_shown_however_it_is_written(aerogram, tmp_path, name, text):  # noqa: F811
    file = tmp_path / name
    file.write_text(text)
    done = aerogram("wrap", "--config", str(file))
    assert b"+" in done.stdout and b"hunter" not in done.stdout and b"[redacted]" in done.stdout


def test_what_others_have_changed_since_stays(aerogram, file):  # noqa: F811
    aerogram("wrap", "--config", str(file), "--yes")
    document = json.loads(file.read_text())
    document["mcpServers"]["new"] = {"command": "other", "args": []}
    del document["mcpServers"]["odd"]
    file.write_text(json.dumps(document))
    assert aerogram("unwrap", str(file), "--yes").returncode == 0
    original = json.loads(FILE)["mcpServers"]
    assert servers(file) == {"git": original["git"], "far": original["far"], "new": {"command": "other", "args": []}}


def test_what_others_have_put_into_a_wrapped_entry_is_carried_over(aerogram, file):  # noqa: F811
    """It is said what that is, and the original is kept, because the file is not what it was."""
    aerogram("wrap", "--config", str(file), "--yes")
    document = json.loads(file.read_text())
    document["mcpServers"]["git"]["env"]["NEW"] = "1"
    document["mcpServers"]["git"]["args"].append("--verbose")
    document["mcpServers"]["far"]["timeout"] = 30
    file.write_text(json.dumps(document))
    done = aerogram("unwrap", str(file), "--yes")
    (backup,) = file.parent.glob(".mcp.json.aerogram-*")
    assert b"what was changed since is kept: git.args, git.env, far.timeout" in done.stderr
    assert backup.name.encode() in done.stderr and backup.read_text() == FILE
    original = json.loads(FILE)["mcpServers"]
    git, far, _ = servers(file).values()
    assert git == {
        **original["git"],
        "args": ["mcp-server-git", "--verbose"],
        "env": {**original["git"]["env"], "NEW": "1"},
    }
    assert far == {**original["far"], "timeout": 30}


def test_the_original_of_a_file_is_found_whatever_the_file_is_called(aerogram, file):  # noqa: F811
    file = file.rename(file.with_name("servers[1]*.json"))
    aerogram("wrap", "--config", str(file), "--yes")
    file.write_text(file.read_text().replace("mcp-server-git", "mcp-server-time"))
    done = aerogram("unwrap", str(file), "--yes")
    assert b"what was changed since is kept: git.args" in done.stderr


COMMENTED = """{
  // who may look at the code
  "servers": {
    "git": {"command": "uvx", "args": ["mcp-server-git"]}, // see http://example.com
    /* and the others */
    "far": {"type": "sse", "url": "https://mcp.example.com/sse"},
  },
}
"""
CODEX = """model = "some"   # not this one

[mcp_servers.git]
command = "uvx"          # from the tools
args = ["mcp-server-git"]
startup_timeout_sec = 20
enabled = true

[mcp_servers.git.env]
GIT_TOKEN = "ghp_0123456789abcdefghij0123456789abcdef"

[mcp_servers.far]
url = "https://mcp.example.com/mcp"
bearer_token_env_var = "FAR_TOKEN"

[mcp_servers.far.http_headers]
X-Org = "abc123"

[other]
kept = true
"""


@pytest.mark.parametrize(("name", "text"), [("mcp.json", COMMENTED), ("config.toml", CODEX)])
def test_a_file_that_is_no_plain_json_changes_in_its_servers_alone(aerogram, tmp_path, name, text):  # noqa: F811
    file = tmp_path / name
    file.write_text(text)
    done = aerogram("wrap", "--config", str(file), "--yes")
    assert done.returncode == 0 and b"ghp_0123" not in done.stdout and b"abc123" not in done.stdout
    wrapped = file.read_text()
    comments = [
        line for line in text.splitlines() if line.lstrip().startswith(("//", "/*", "model", "[other]", "kept"))
    ]
    assert comments and all(line in wrapped.splitlines() for line in comments)
    assert wrapped.count('"wrap"') == 2
    assert aerogram("unwrap", str(file), "--yes").returncode == 0
    assert file.read_text() == text and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://mcp.example.com/mcp", "headers": ["A: b"]},
        {"url": "https://mcp.example.com/mcp", "env": [1]},
        {"command": "uvx", "args": {"a": 1}},
        {"command": "uvx", "env": "A=b"},
        {"command": "uvx", "envFile": {"path": ".env"}},
        {"command": "uvx", "env_vars": [{"name": "A"}]},
        {"command": ""},
    ],
    ids="-".join,
)
def test_an_entry_that_no_client_would_read_is_left_and_named(aerogram, tmp_path, entry):  # noqa: F811
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"odd": entry, "git": {"command": "git"}}}))
    done = aerogram("wrap", "--config", str(file), "--yes")
    assert done.returncode == 0 and b"not wrapped, for there is no way to do it: odd" in done.stderr
    assert servers(file)["odd"] == entry


def test_what_holds_for_each_server_is_taken_over_into_its_entry(aerogram, file):  # noqa: F811
    options = ("--budget", "500", "--timeout", "5", "--redact", "--page", "--quiet")
    assert aerogram("wrap", "--config", str(file), *options, "--yes").returncode == 0
    words = ["--budget", "500", "--timeout", "5.0", "--redact", "--page", "--quiet"]
    assert servers(file)["git"]["args"][4:11] == words


@pytest.mark.parametrize(
    "option", [["--env", "A"], ["--header", "A: b"], ["--sse"], ["--listen", "0"], ["--check"], ["--", "git"]]
)
def test_what_holds_for_one_server_is_refused_beside_a_file_of_several(aerogram, file, option):  # noqa: F811
    done = aerogram("wrap", "--config", str(file), "--yes", *option)
    assert done.returncode == 1 and b"cannot be given beside --config" in done.stderr
    assert file.read_text() == FILE


def test_an_entry_of_codex_gets_its_headers_and_variables_back(aerogram, tmp_path):  # noqa: F811
    file = tmp_path / "config.toml"
    file.write_text(CODEX)
    aerogram("wrap", "--config", str(file), "--yes")
    far = tomllib.loads(file.read_text())["mcp_servers"]["far"]
    assert far["args"][-5:-1] == [
        "--header",
        "X-Org: @{AEROGRAM_HEADER_1}",
        "--header",
        "Authorization: Bearer @{FAR_TOKEN}",
    ]
    assert far["env_vars"] == ["FAR_TOKEN"] and far["env"] == {"AEROGRAM_HEADER_1": "abc123"}
    next(tmp_path.glob("config.toml.aerogram-*")).unlink()
    aerogram("unwrap", str(file), "--yes")
    assert tomllib.loads(file.read_text()) == tomllib.loads(CODEX)


def test_a_program_that_is_started_by_its_name_is_known_as_ours(aerogram, file):  # noqa: F811
    """In a file that several people share, the path of one person's interpreter is of no use."""
    aerogram("wrap", "--config", str(file), "--yes")
    document = json.loads(file.read_text())
    for entry in list(document["mcpServers"].values())[:2]:
        entry["command"], entry["args"] = "aerogram", entry["args"][2:]
    file.write_text(json.dumps(document))
    assert aerogram("wrap", "--config", str(file), "--yes").returncode == 1
    assert aerogram("unwrap", str(file), "--yes").returncode == 0
    assert servers(file) == json.loads(FILE)["mcpServers"]


@pytest.mark.parametrize(("name", "text"), [("a.json", '{"servers": '), ("a.toml", "[mcp_servers"), ("b.json", "[]")])
def test_a_file_that_cannot_be_read_is_left_alone_and_named(aerogram, tmp_path, name, text):  # noqa: F811
    file = tmp_path / name
    file.write_text(text)
    done = aerogram("wrap", "--config", str(file), "--yes")
    assert done.returncode == 1 and str(file).encode() in done.stderr and file.read_text() == text


def test_entries_say_themselves_what_they_were(aerogram, file):  # noqa: F811
    aerogram("wrap", "--config", str(file), "--yes")
    (backup,) = file.parent.glob(".mcp.json.aerogram-*")
    backup.unlink()
    assert aerogram("unwrap", str(file), "--yes").returncode == 0
    assert servers(file) == json.loads(FILE)["mcpServers"]


SETTINGS = """
[defaults]
budget = "claude-code"

[servers.here]
command = COMMAND
hidden = ["die"]
budget = 2000
redact = true

[servers.here.tools.rows]
budget = 500

[servers.here.tools.level]
limits = ["1/hour"]

[servers.here.tools.environment]
cache = 60

[servers.far]
url = "https://mcp.example.com/mcp"
headers = { Authorization = "Bearer ${FAR_TOKEN}" }
"""


@pytest.fixture
def settings(tmp_path):
    path = tmp_path / "gateway.toml"
    path.write_text(SETTINGS.replace("COMMAND", json.dumps(behind("legacy"))))
    return path


def test_settings_apply_by_server_and_tool(settings):
    wire = Wire("", "--settings", str(settings), "--server", "here", server=[])
    wire.greet()
    rows = wire.ask(1, "tools/call", name="rows")["result"]["content"][0]["text"]
    text = wire.ask(2, "tools/call", name="json_text")["result"]["content"][0]["text"]
    assert len(rows) < 3_000 < len(text) < 12_000
    assert wire.ask(3, "tools/call", name="die")["error"]["message"] == "Unknown tool: die"
    first = wire.ask(4, "tools/list")["result"]
    second = wire.ask(5, "tools/list", cursor=first["nextCursor"])["result"]
    assert "die" not in [tool["name"] for tool in second["tools"]]
    kept = [wire.ask(number, "tools/call", name="environment")["result"] for number in (10, 11)]
    assert kept[0]["content"][0]["text"].replace(" ", "") == kept[1]["content"][0]["text"].replace(" ", "")
    assert not wire.ask(6, "tools/call", name="level")["result"].get("isError")
    refused = wire.ask(7, "tools/call", name="level")["result"]
    assert refused["_meta"]["dev.aerogram/problem"]["kind"] == "rate_limit"
    assert wire.end() == 0


def test_a_check_says_what_would_apply_and_what_is_missing(aerogram, settings):  # noqa: F811
    done = aerogram("wrap", "--settings", str(settings), "--check")
    assert done.returncode == 1 and b"far: the variable FAR_TOKEN of a header is not set" in done.stderr
    said = json.loads(done.stdout)
    assert said["here"]["budget"] == 2000 and said["here"]["tools"]["rows"]["budget"] == 500
    assert said["far"]["budget"] == "claude-code" and said["far"]["headers"] == {"Authorization": "Bearer ${FAR_TOKEN}"}


@pytest.mark.parametrize("told", [("--check",), ()])
def test_a_key_that_no_header_can_hold_is_told_by_its_header_alone(aerogram, told):  # noqa: F811
    header = ("http://127.0.0.1:9/mcp", "--header", "Authorization: Bearer ${KEY}", *told)
    done = aerogram("wrap", *header, KEY="sk-SECRET\r\nX: y")
    said = done.stdout + done.stderr
    assert done.returncode == 1 and b"SECRET" not in said and b"Traceback" not in said
    assert b"The header Authorization has a character that no header may have; Look for a line break" in said


def test_the_end_of_a_line_behind_a_key_is_no_part_of_it(aerogram):  # noqa: F811
    header = ("http://127.0.0.1:9/mcp", "--header", "Authorization: Bearer ${KEY}", "--check")
    assert aerogram("wrap", *header, KEY="sk-SECRET\n").returncode == 0


@pytest.mark.parametrize("told", [("--check",), ("--server", "a")])
@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('[servers.a]\ncommand = ["true"]\nlimits = ["5/fortnight"]', b"servers.a.limits.0: "),
        ('[servers.a]\ncommand = ["true"]\n[servers.a.tools.x]\nlimits = ["often"]', b"servers.a.tools.x.limits.0: "),
        ('[servers.a]\ncommand = ["true"]\ndialect = "nope"', b"unknown dialect"),
        ('[servers.a]\ncommand = ["true"]\ndialect = "problem"', b"failures only"),
        ('[servers.a]\ncommand = ["true"]\ndialect = "knowledge-1.0"\nbudget = 20', b"too small"),
        ('defaults = [1]\n[servers.a]\ncommand = ["true"]', b"defaults is no section"),
        ("[servers]\na = 5", b"servers.a is no section"),
        ('[servers.a]\nurl = "http://127.0.0.1:9"\nheaders = { X-Password = "some-word" }', b"X-Password is a secret"),
    ],
)
def test_settings_that_cannot_work_fail_a_check_as_they_fail_the_start(aerogram, tmp_path, lines, words, told):  # noqa: F811
    path = tmp_path / "gateway.toml"
    path.write_text(lines)
    done = aerogram("wrap", "--settings", str(path), *told)
    said = done.stdout + done.stderr
    assert done.returncode == 1 and words in done.stderr
    assert b"internal error" not in said and b"some-word" not in said


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--settings", "FILE", "--env", "A=hunter2"], b"'A' is not the name of a variable"),
        (["--settings", "FILE", "--header", "X-Key: hunter2"], b"the header X-Key is a secret"),
        (["--settings", "FILE", "--", "git"], b"The servers are those of the file"),
        (["--server", "a", "--", "git"], b"--server chooses among the servers of a file"),
    ],
)
def test_what_the_command_line_says_beside_a_file_holds_to_the_same_rules(aerogram, tmp_path, options, told):  # noqa: F811
    path = tmp_path / "servers.toml"
    path.write_text('[servers.a]\nurl = "http://127.0.0.1:9/mcp"')
    done = aerogram("wrap", "--check", *(str(path) if one == "FILE" else one for one in options))
    assert done.returncode == 1 and told in done.stderr and b"hunter2" not in done.stdout + done.stderr


def test_a_variable_may_have_any_name_that_the_system_allows(aerogram):  # noqa: F811
    """As `spring.profiles.active`, by which servers in Java are set."""
    assert aerogram("wrap", "--check", "--env", "spring.profiles.active", "--", "true").returncode == 0


def test_a_command_that_is_not_there_fails_a_check(aerogram):  # noqa: F811
    done = aerogram("wrap", "--check", "--", "no-such-command", "--with", "options")
    assert done.returncode == 1 and b"the command no-such-command is not there" in done.stderr


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("${FAR_TOKEN}", "abc"), "servers.far: Value error, the header Authorization is a secret"),
        (("hidden =", "hiden ="), "[servers.here] has no setting 'hiden'; did you mean 'hidden'?"),
        (
            ("cache = 60", "cahce = 60"),
            "[servers.here.tools.environment] has no setting 'cahce'; did you mean 'cache'?",
        ),
        (("budget = 2000", 'budget = "plenty"'), "servers.here.budget"),
        (("[servers.far]", "[server.far]"), "did you mean 'servers'?"),
    ],
)
def test_a_wrong_setting_is_named(aerogram, settings, change, complaint):  # noqa: F811
    settings.write_text(settings.read_text().replace(*change))
    done = aerogram("wrap", "--settings", str(settings), "--check")
    assert done.returncode == 1 and complaint in done.stderr.decode()


def test_what_is_written_imports_nothing_from_the_folder_that_a_client_starts_it_in(aerogram, tmp_path):  # noqa: F811
    path = tmp_path / ".mcp.json"
    behind_it = behind("legacy")
    path.write_text(json.dumps({"mcpServers": {"one": {"command": behind_it[0], "args": behind_it[1:]}}}))
    assert aerogram("wrap", "--config", str(path), "--for", "claude-code", "--yes").returncode == 0
    (tmp_path / "anyio.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    entry = servers(path)["one"]
    subprocess.run([entry["command"], *entry["args"]], cwd=tmp_path, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert not (tmp_path / "ran").exists()


def test_dotted_keys_are_changed_or_named_and_an_entry_that_is_none_is_left_alone(aerogram, tmp_path):  # noqa: F811
    path = tmp_path / "config.toml"
    text = 'mcp_servers.h.url = "https://x/mcp"\nmcp_servers.h.bearer_token_env_var = "TOK"\n'
    path.write_text(text)
    done = aerogram("wrap", "--config", str(path), "--for", "codex", "--yes")
    assert b"internal error" not in done.stderr
    if done.returncode:
        assert path.read_text() == text and b"[mcp_servers.h]" in done.stderr
    else:
        assert tomllib.loads(path.read_text())["mcp_servers"]["h"]["args"][-1] == "https://x/mcp"
    odd = tmp_path / ".mcp.json"
    odd.write_text('{"mcpServers": {"one": {"command": "x", "args": "notalist"}}}')
    assert b"no server" in aerogram("wrap", "--config", str(odd), "--for", "claude-code", "--yes").stderr


@pytest.mark.parametrize(
    "url",
    [
        "https://mcp.example.com/mcp?api_key=Tr0ub4dor",
        "https://me:Tr0ub4dor@mcp.example.com/mcp",
        "https://mcp.example.com/s/Tr0ub4dorAndThree/mcp",
        "https://${HOST}/mcp",
    ],
)
@pytest.mark.parametrize("is_changed", [False, True])
def test_a_key_in_a_url_is_not_on_the_command_line(aerogram, tmp_path, url, is_changed):  # noqa: F811
    file = tmp_path / "mcp.json"
    text = json.dumps({"servers": {"far": {"type": "http", "url": url}}})
    file.write_text(text)
    done = aerogram("wrap", "--config", str(file), "--yes")
    far = json.loads(file.read_text())["servers"]["far"]
    assert far["args"][-1] == "@{AEROGRAM_URL}" and far["env"] == {"AEROGRAM_URL": url}
    assert b"Tr0ub4dor" not in done.stdout + done.stderr
    if is_changed:
        next(tmp_path.glob("mcp.json.aerogram-*")).unlink()
    done = aerogram("unwrap", str(file), "--yes")
    assert json.loads(file.read_text()) == json.loads(text) and b"Tr0ub4dor" not in done.stdout + done.stderr


@pytest.mark.parametrize("address", ["https://mcp.example.com/mcp?key=${KEY}", "${ADDRESS}", "@{ADDRESS}"])
def test_a_url_is_made_of_the_variables_that_it_names(aerogram, address):  # noqa: F811
    whole = {"KEY": "Tr0ub4dor", "ADDRESS": "http://127.0.0.1:9/mcp"}
    done = aerogram("wrap", address, "--check", **whole)
    assert done.returncode == 0 and b"Tr0ub4dor" not in done.stdout + done.stderr
    unset = aerogram("wrap", address, "--check")
    assert unset.returncode == 1 and b"of the URL is not set" in unset.stderr
    assert b"The URL of the server is none" in aerogram("wrap", "${ADDRESS}", ADDRESS="ftp://x").stderr


def test_an_entry_has_nothing_that_its_client_would_fill_in_and_finds_its_variables(aerogram, tmp_path):  # noqa: F811
    """Claude Code drops a server whose arguments name a variable that it does not have itself."""
    file = tmp_path / ".mcp.json"
    headers = {"Authorization": "Bearer abc", "X-Org": "one"}
    far = {"type": "http", "url": "https://mcp.example.com/mcp?key=Tr0ub4dor", "headers": headers}
    file.write_text(json.dumps({"mcpServers": {"far": far}}))
    aerogram("wrap", "--config", str(file), "--for", "claude-code", "--yes")
    entry = servers(file)["far"]
    assert "$" not in "".join(entry["args"])
    assert aerogram(*entry["args"][3:], "--check", **entry["env"]).returncode == 0
    unset = aerogram(*entry["args"][3:], "--check")
    assert unset.returncode == 1 and b"is not set" in unset.stderr


VARIABLES = """# who may look
export PLAIN=one # and why
EMPTY=
QUOTED="two\\nlines # here"
SINGLE='as it\\n is'
SET=from the file
no variable
"""


def test_a_file_with_variables_stays_one(aerogram, tmp_path, monkeypatch):  # noqa: F811
    (tmp_path / ".env").write_text(VARIABLES)
    file = tmp_path / "mcp.json"
    entry = {"command": "some-server", "envFile": str(tmp_path / ".env")}
    file.write_text(json.dumps({"servers": {"here": entry}}))
    aerogram("wrap", "--config", str(file), "--yes")
    here = json.loads(file.read_text())["servers"]["here"]
    assert here["args"][-4:] == ["--env-file", entry["envFile"], "--", "some-server"]
    assert here["envFile"] == entry["envFile"]

    monkeypatch.setenv("SET", "by the client")
    wire = Wire("legacy", "--env-file", entry["envFile"], server=[sys.executable, "-c", SAYS_VARIABLES])
    found = wire.greet()["result"]["serverInfo"]
    assert wire.end() == 0
    assert {name: found.get(name) for name in ("PLAIN", "EMPTY", "QUOTED", "SINGLE", "SET")} == {
        "PLAIN": "one",
        "EMPTY": "",
        "QUOTED": "two\nlines # here",
        "SINGLE": r"as it\n is",
        "SET": "by the client",
    }
    done = aerogram("wrap", "--env-file", str(tmp_path / "none"), "--check", "--", "true")
    assert done.returncode == 1 and b"cannot be read: No such file or directory; Name a file" in done.stderr


SAYS_VARIABLES = """
import json, os
info = {"name": "x", "version": "1", **os.environ}
result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": info}
print(json.dumps({"jsonrpc": "2.0", "id": json.loads(input())["id"], "result": result}), flush=True)
input()
"""


def test_a_server_that_only_its_client_can_reach_is_left_alone_and_named(aerogram, tmp_path):  # noqa: F811
    """Other clients than the first one call the address of a server by other names."""
    file = tmp_path / "settings.json"
    entries = {
        "own": {"url": "https://a.example.com/mcp", "headersHelper": "get-headers"},
        "gemini": {"httpUrl": "https://b.example.com/mcp"},
        "windsurf": {"serverUrl": "https://c.example.com/sse"},
    }
    file.write_text(json.dumps({"mcpServers": entries}))
    done = aerogram("wrap", "--config", str(file), "--yes")
    own, gemini, windsurf = servers(file).values()
    assert own == entries["own"] and b"there is no way to do it: own" in done.stderr
    assert gemini["args"][3:] == ["wrap", "https://b.example.com/mcp"] and gemini.keys() == {"command", "args"}
    assert windsurf["args"][3:] == ["wrap", "--sse", "https://c.example.com/sse"]
