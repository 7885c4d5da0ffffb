"""Clients: the server gets into their configuration, and nothing that was there gets lost."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path, PurePosixPath

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from aerogram_knowledge.hosting.client_files import CLIENTS, ClientFileError, Machine, ServerEntry, install

LOCAL = ServerEntry(command=["/bin/aerogram", "serve", "/docs"])
REMOTE = ServerEntry(url="https://search.example/mcp", with_key=True)

PLACES = {
    ("claude-desktop", "user", "darwin"): "home/Library/Application Support/Claude/claude_desktop_config.json",
    ("claude-desktop", "user", "linux"): "home/.config/Claude/claude_desktop_config.json",
    ("claude-desktop", "user", "win32"): "home/AppData/Roaming/Claude/claude_desktop_config.json",
    ("claude-code", "project", "linux"): "project/.mcp.json",
    ("claude-code", "user", "darwin"): "home/.claude.json",
    ("cursor", "user", "win32"): "home/.cursor/mcp.json",
    ("cursor", "project", "linux"): "project/.cursor/mcp.json",
    ("vscode", "project", "darwin"): "project/.vscode/mcp.json",
    ("vscode", "user", "darwin"): "home/Library/Application Support/Code/User/mcp.json",
    ("vscode", "user", "linux"): "home/.config/Code/User/mcp.json",
}


@pytest.fixture
def machine(tmp_path):
    return Machine("linux", tmp_path / "home", tmp_path / "project")


@pytest.mark.parametrize(("client", "scope", "system"), PLACES)
def test_every_client_keeps_its_configuration_in_its_own_place(client, scope, system):
    place = CLIENTS[client].path(Machine(system, Path("home"), Path("project")), scope)
    assert PurePosixPath(place) == PurePosixPath(PLACES[client, scope, system])


def test_the_system_may_say_where_applications_keep_theirs():
    windows = Machine("win32", Path("home"), Path(), {"APPDATA": "roaming"})
    linux = Machine("linux", Path("home"), Path(), {"XDG_CONFIG_HOME": "configs"})
    assert windows.applications == Path("roaming")
    assert linux.applications == Path("configs")


def test_claude_desktop_has_no_configuration_per_project(machine):
    with pytest.raises(ClientFileError, match="Claude Desktop has no configuration per project; it has: user"):
        install(CLIENTS["claude-desktop"], LOCAL, scope="project", machine=machine)


@pytest.mark.parametrize(
    ("client", "entry", "said"),
    [
        (
            "claude-desktop",
            LOCAL,
            {"mcpServers": {"aerogram": {"command": "/bin/aerogram", "args": ["serve", "/docs"]}}},
        ),
        ("claude-code", LOCAL, {"mcpServers": {"aerogram": {"command": "/bin/aerogram", "args": ["serve", "/docs"]}}}),
        (
            "claude-code",
            REMOTE,
            {
                "mcpServers": {
                    "aerogram": {
                        "type": "http",
                        "url": "https://search.example/mcp",
                        "headers": {"X-API-Key": "${AEROGRAM_API_KEY}"},
                    }
                }
            },
        ),
        (
            "cursor",
            REMOTE,
            {
                "mcpServers": {
                    "aerogram": {
                        "url": "https://search.example/mcp",
                        "headers": {"X-API-Key": "${env:AEROGRAM_API_KEY}"},
                    }
                }
            },
        ),
        (
            "vscode",
            LOCAL,
            {"servers": {"aerogram": {"type": "stdio", "command": "/bin/aerogram", "args": ["serve", "/docs"]}}},
        ),
        (
            "vscode",
            REMOTE,
            {
                "servers": {
                    "aerogram": {
                        "type": "http",
                        "url": "https://search.example/mcp",
                        "headers": {"X-API-Key": "${input:aerogram-api-key}"},
                    }
                },
                "inputs": [
                    {
                        "type": "promptString",
                        "id": "aerogram-api-key",
                        "description": "Aerogram API key",
                        "password": True,
                    }
                ],
            },
        ),
    ],
)
def test_a_new_file_is_as_the_client_reads_it(machine, client, entry, said):
    done = install(CLIENTS[client], entry, machine=machine)
    assert (done.is_changed, done.backup) == (True, None)
    assert json.loads(done.path.read_text()) == said


def test_claude_desktop_takes_no_url(machine):
    with pytest.raises(ClientFileError, match="starts its servers itself"):
        install(CLIENTS["claude-desktop"], REMOTE, machine=machine)


BEFORE = """{
    "numStartups": 12,
    "theme": "dünkel",
    "ratio": 0.1,
    "mcpServers": {
        "other": {"command": "npx", "env": {"TOKEN": "t"}}
    },
    "projects": {"/a": {"history": [null, true, {"x": []}]}}
}
"""


def test_what_was_in_the_file_stays_in_its_order_and_is_kept_beside_it(machine):
    path = CLIENTS["claude-code"].path(machine, "user")
    path.parent.mkdir(parents=True)
    path.write_text(BEFORE, encoding="utf-8")
    path.chmod(0o640)
    done = install(CLIENTS["claude-code"], LOCAL, scope="user", machine=machine)
    before, after = json.loads(BEFORE), json.loads(path.read_text(encoding="utf-8"))
    assert list(after) == list(before)
    assert after["mcpServers"].pop("aerogram")["command"] == "/bin/aerogram"
    assert after == before
    text = path.read_text(encoding="utf-8")
    assert '\n    "theme": "dünkel",' in text, "indented as it was, and not in escapes"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert done.backup.read_text(encoding="utf-8") == BEFORE
    assert stat.S_IMODE(done.backup.stat().st_mode) == 0o600


def test_the_second_time_nothing_happens(machine):
    first = install(CLIENTS["vscode"], REMOTE, machine=machine)
    before = first.path.stat()
    second = install(CLIENTS["vscode"], REMOTE, machine=machine)
    assert (second.is_changed, second.backup) == (False, None)
    after = first.path.stat()  # it has been read, which its time of access may tell
    assert (after.st_mtime_ns, after.st_ino, after.st_size) == (before.st_mtime_ns, before.st_ino, before.st_size)
    assert [one.name for one in first.path.parent.iterdir()] == ["mcp.json"]


def test_another_server_of_that_name_is_replaced_only_when_told_and_keeps_what_is_the_users(machine):
    path = CLIENTS["cursor"].path(machine)
    path.parent.mkdir(parents=True)
    mine = {"url": "http://old.example", "headers": {"a": "b"}, "env": {"A": "1"}, "disabled": True}
    path.write_text(json.dumps({"mcpServers": {"aerogram": mine}}))
    with pytest.raises(ClientFileError, match=r"mcp\.json: there is another server 'aerogram' already; --replace it"):
        install(CLIENTS["cursor"], LOCAL, machine=machine)
    beside = install(CLIENTS["cursor"], LOCAL, name="docs", machine=machine)
    assert set(json.loads(path.read_text())["mcpServers"]) == {"aerogram", "docs"}
    replaced = install(CLIENTS["cursor"], LOCAL, replace=True, machine=machine)
    assert json.loads(path.read_text())["mcpServers"]["aerogram"] == {
        "command": "/bin/aerogram",
        "args": ["serve", "/docs"],
        "env": {"A": "1"},
        "disabled": True,
    }
    assert beside.backup != replaced.backup


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{\n  // mine\n  "servers": {}\n}', "comments and the like would be lost"),
        ('{"servers": {},}', "comments and the like would be lost"),
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ("[]", "'the file' is not an object"),
        ('{"servers": []}', "'servers' is not an object"),
        ('{"servers": {"aerogram": 1}}', "'aerogram' is not an object"),
        ('{"inputs": {}}', "'inputs' is not a list"),
    ],
)
def test_a_file_that_could_not_be_written_again_is_left_alone(machine, text, reason):
    path = CLIENTS["vscode"].path(machine)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(ClientFileError, match=reason) as refused:
        install(CLIENTS["vscode"], REMOTE, machine=machine)
    assert str(refused.value).startswith(str(path))
    assert path.read_text() == text
    assert [one.name for one in path.parent.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("text", ["", "  \n", "{}", "\ufeff{}"])
def test_a_file_that_says_nothing_is_filled(machine, text):
    path = CLIENTS["vscode"].path(machine)
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    assert install(CLIENTS["vscode"], LOCAL, machine=machine).is_changed
    assert "aerogram" in json.loads(path.read_text())["servers"]


def test_lines_end_as_they_did(machine):
    path = CLIENTS["vscode"].path(machine)
    path.parent.mkdir(parents=True)
    path.write_bytes(b'{\r\n\t"servers": {}\r\n}\r\n')
    install(CLIENTS["vscode"], LOCAL, machine=machine)
    after = path.read_bytes()
    assert after.count(b"\r\n") == after.count(b"\n") > 3
    assert after.startswith(b'{\r\n\t"servers"')


def test_a_link_stays_a_link(machine, tmp_path):
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    path = CLIENTS["cursor"].path(machine)
    path.parent.mkdir(parents=True)
    path.symlink_to(kept)
    install(CLIENTS["cursor"], LOCAL, machine=machine)
    assert path.is_symlink()
    assert "aerogram" in json.loads(kept.read_text())["mcpServers"]


def test_install_writes_a_command_that_works_from_anywhere(aerogram, tmp_path):
    (tmp_path / "docs").mkdir()
    done = aerogram("install", "claude-code", "docs", "--budget", "4000", "--watch", AEROGRAM_EMBEDDER="none")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == f"wrote {tmp_path / '.mcp.json'}"
    server = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["aerogram"]
    line = [server["command"], *server["args"]]
    assert Path(line[0]).is_absolute() and Path(line[0]).parent == Path(sys.executable).parent
    assert line[line.index("serve") :] == [
        "serve",
        str(tmp_path / "docs"),
        "--stdio",
        "--index",
        str(tmp_path / ".aerogram"),
        "--embedder",
        "none",
        "--watch",
        "--budget",
        "4000",
    ]
    again = aerogram("install", "claude-code", "docs", "--budget", "4000", "--watch", AEROGRAM_EMBEDDER="none")
    assert again.stdout == f"already in {tmp_path / '.mcp.json'}\n"


async def test_what_install_writes_starts_a_server_that_answers(aerogram, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tea.md").write_text("# Tea\n\nOolong is steeped for three minutes.\n")
    assert aerogram("install", "claude-code", "docs", "--embedder", "none").returncode == 0
    server = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["aerogram"]
    elsewhere = tmp_path / "home"
    state = {"AEROGRAM_STATE": str(tmp_path / "state")}
    transport = StdioTransport(server["command"], server["args"], env=state, cwd=str(elsewhere))
    async with Client(transport) as client:
        found = await client.call_tool("semantic_search", {"query": "oolong"})
    assert "tea.md" in str(found.structured_content)
    assert list(elsewhere.iterdir()) == []


def test_install_prints_what_it_would_write_and_writes_nothing(aerogram, tmp_path):
    done = aerogram("install", "claude-desktop", ".", "--print", "--name", "papers")
    assert list(json.loads(done.stdout)["mcpServers"]) == ["papers"]
    assert "claude_desktop_config.json; nothing was written" in done.stderr
    assert [one for one in (tmp_path / "home").rglob("*") if one.is_file()] == []


def test_install_writes_for_the_user_into_the_home_folder(aerogram, tmp_path):
    for client, place in (
        ("claude-desktop", PLACES["claude-desktop", "user", sys.platform]),
        ("cursor", "home/.cursor/mcp.json"),
    ):
        assert aerogram("install", client, ".").returncode == 0
        assert "aerogram" in json.loads((tmp_path / place).read_text())["mcpServers"]


def test_install_says_in_json_what_it_did(aerogram, tmp_path):
    arguments = ("install", "vscode", "--url", "http://127.0.0.1:8000/mcp", "--json")
    assert json.loads(aerogram(*arguments).stdout) == {
        "client": "vscode",
        "file": str(tmp_path / ".vscode" / "mcp.json"),
        "changed": True,
        "backup": None,
    }
    changed = json.loads(aerogram(*arguments, "--with-key", "--replace").stdout)
    assert Path(changed["backup"]).is_file()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("emacs",), 2, "'emacs' is not one of"),
        (("vscode", "--url", "search.example"), 2, "is no URL of a server"),
        (("vscode", "--with-key"), 2, "give its --url"),
        (("claude-desktop", "--url", "http://a.example"), 1, "starts its servers itself"),
        (("claude-desktop", "nowhere"), 1, "there is no nowhere"),
        (("claude-desktop",), 1, "name a folder of documents"),
        (("claude-desktop", ".", "--scope", "project"), 1, "no configuration per project"),
        (("vscode", "--budget", "much"), 1, "budget (flag --budget): 'much' is not allowed"),
    ],
)
def test_bad_input_to_install_is_told(aerogram, arguments, code, said):
    done = aerogram("install", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in " ".join(done.stderr.split())
