"""`aerogram inspect`: a reply from a file, a pipe, an HTTP or an MCP server in the page; bad input is told so."""

from __future__ import annotations

import json
import re
import shlex
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from aerogram import dialects
from aerogram.dialects import dialect
from aerogram.reply import Reply
from aerogram_page.targets import FetchError, ReplyTarget, fetch
from page.conftest import inspecting
from programs import quick_command, run_program
from serving import clean_environment

ROWS = [
    {"id": number, "title": f"Row {number}", "text": "<script>alert(1)</script> and on it goes " * 20}
    for number in range(30)
]
BODY = dialect("knowledge-1.0").encode(dialect("knowledge-1.0").complete(Reply.ok(ROWS, operation="list_rows")))


@pytest.fixture
def run(tmp_path):
    """Run `aerogram inspect` when it is to fail; gives exit code and what it said."""

    def run(*arguments: str, given: str = "") -> tuple[int, str]:
        words = ["inspect", *arguments, "--no-open"]
        done = run_program(words, input=given, text=True, cwd=tmp_path, env=clean_environment(tmp_path / "index"))
        assert "Traceback" not in done.stderr
        return done.returncode, done.stderr.strip()

    return run


def ask(client: httpx.Client, what: str, **said) -> dict:
    answer = client.post(f"/page/api/{what}", json=said)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_file_is_opened_shrunk_and_every_piece_comes_back(tmp_path):
    (tmp_path / "reply.json").write_text(json.dumps(BODY))
    with inspecting(tmp_path, "reply.json") as (client, said):
        assert said[0].startswith("Inspecting reply.json (knowledge-1.0, ")
        context = client.get("/page/api/context").json()
        assert (context["kind"], context["mounted"], context["mcp_url"]) == ("inspect", [], None)
        opened = context["opened"]
        assert (opened["dialect"], opened["operation"], opened["items"]) == ("knowledge-1.0", "list_rows", 30)
        source = {"reply": opened["id"]}
        told = ask(client, "shrink", source=source, dialect="response-v2", budget=1500)
        assert told["after"]["size"] <= 1500 < told["before"]["size"]
        assert dialects.validate(told["body"]).name == "response-v2"
        for row in told["pieces"]["listed"]:
            back = ask(client, "piece", source=source, **{name: row[name] for name in ("archive", "pointer", "hash")})
            assert back["matches"] is True
            assert back["value"] == ROWS[int(row["pointer"][1:])]
        assert len(ask(client, "dialects", source=source, budget=1500)["said"]) == 4
        assert ask(client, "curve", source=source)["series"]
        assert client.get("/").status_code == 200
        live = client.get("/page/api/live")
        assert (live.status_code, live.json()["code"]) == (404, "NOT_FOUND")
        assert ask(client, "copy", call={"operation": "list_rows"})["python"].startswith("import aerogram")


def test_a_reply_comes_from_standard_input_and_more_can_be_pasted(tmp_path):
    with inspecting(tmp_path, "-", given=b'[{"id": 1, "name": "one"}]') as (client, said):
        assert said[0] == "Inspecting standard input (bare, 26 bytes)"
        pasted = client.post(
            "/page/api/replies", content=json.dumps(BODY), headers={"content-type": "text/plain"}
        ).json()
        assert (pasted["recognised"], pasted["valid"], pasted["items"]) == ("knowledge-1.0", True, 30)
        faulty = {"success": "yes", "data": 3, "error": None, "meta": {"version": "response-v2"}}
        broken = client.post(
            "/page/api/replies", content=json.dumps(faulty), headers={"content-type": "text/plain"}
        ).json()
        assert (broken["claimed"], broken["valid"]) == ("response-v2", False)
        assert "'success'" in broken["faults"][0]["rule"]
        told = ask(client, "shrink", source={"reply": pasted["id"]}, mode="ids_only")
        assert told["body"]["results"] == [{"id": row["id"]} for row in ROWS]


def test_a_route_of_a_running_server_is_asked(search_page):
    url = f"{search_page.address}/v1/search?q=token&envelope=v2&page_size=3&response_mode=full"
    opened = fetch(ReplyTarget(url))
    assert (opened.dialect, len(opened.reply.data), opened.title) == ("standard-v2", 3, url)


def test_an_address_may_be_written_as_it_is_read(search_page):
    opened = fetch(ReplyTarget(f"{search_page.address}/v1/search?q=gültiges token トークン&envelope=v2"))
    assert opened.reply.query_echo.normalized_input == {"q": "gültiges token トークン"}


def test_a_failure_of_a_running_server_is_a_reply_too(search_page):
    opened = fetch(ReplyTarget(f"{search_page.address}/v1/chunks/999999999?envelope=v2"))
    assert (opened.reply.status, opened.reply.problem.code) == ("error", "NOT_FOUND")


def test_a_tool_of_a_running_mcp_server_is_called(search_page):
    arguments = json.dumps({"query": "token", "page_size": 4, "response_mode": "preview"})
    opened = fetch(ReplyTarget(search_page.mcp, "semantic_search", arguments))
    assert (opened.recognised, len(opened.reply.data)) == ("mcp:knowledge-1.0", 4)


def test_a_tool_of_an_mcp_server_behind_a_command_is_called_and_shown(tmp_path):
    server = tmp_path / "server.py"
    server.write_text(
        "from fastmcp import FastMCP\n\nmcp = FastMCP('rows')\n\n\n@mcp.tool\ndef rows() -> list[dict]:\n"
        "    return [{'id': number} for number in range(7)]\n\n\nmcp.run(show_banner=False, log_level='ERROR')\n"
    )
    with inspecting(tmp_path, "--command", shlex.join(quick_command(str(server))), "--tool", "rows") as (client, said):
        assert said[0].startswith("Inspecting rows of ")
        assert client.get("/page/api/context").json()["opened"]["items"] == 7
        _refuses_others(client)


def _refuses_others(client: httpx.Client) -> None:
    """No page of another origin, and nobody under another name, may ask about the reply."""
    for origin in ("http://evil.example", "null", "http://localhost:1"):
        answer = client.post("/page/api/check", json={"text": "{}"}, headers={"origin": origin})
        assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")
    assert client.get("/page/api/context", headers={"host": "evil.example"}).status_code == 403


def test_ten_megabytes_are_opened_and_what_is_too_large_to_show_is_said(tmp_path):
    rows = [{"id": number, "text": "lorem ipsum dolor sit amet " * 80} for number in range(4_700)]
    (tmp_path / "large.json").write_text(json.dumps({"results": rows}))
    with inspecting(tmp_path, "large.json") as (client, _):
        opened = client.get("/page/api/context").json()["opened"]
        assert opened["bytes"] > 10_000_000
        source = {"reply": opened["id"]}
        whole = ask(client, "shrink", source=source, dialect="response-v2")
        assert whole["body"] is None
        assert whole["omitted"]["bytes"] > whole["omitted"]["limit"] == 2_000_000
        told = ask(client, "shrink", source=source, dialect="response-v2", budget=2000)
        assert told["after"]["size"] <= 2000
        assert told["pieces"]["total"] == 4_700
        row = told["pieces"]["listed"][0]
        back = ask(client, "piece", source=source, **{name: row[name] for name in ("archive", "pointer", "hash")})
        assert (back["matches"], back["archive"]["matches"]) == (True, True)
        assert ask(client, "dialects", source=source)["omitted"]["bytes"] > 10_000_000


def test_bad_input_is_one_line_that_says_what_to_do(run, tmp_path):
    (tmp_path / "broken.json").write_text('{"a": ')
    code, said = run("broken.json")
    assert (code, "\n" in said) == (1, False)
    assert said.startswith(
        "aerogram: broken.json: This is no JSON that can be shown: not JSON: Expecting value at line"
    )
    assert run("-", given="")[1].endswith("standard input is empty; a JSON body is expected there")


def test_what_cannot_be_fetched_says_why(tmp_path, search_page):
    served, here = search_page.address, str(tmp_path / "here.json")
    for place, why in (
        (ReplyTarget("http://127.0.0.1:1/reply"), "http://127.0.0.1:1/reply cannot be reached: "),
        (ReplyTarget("http://[::1/reply"), "http://[::1/reply is no address: "),
        (ReplyTarget(f"{served}/docs"), f"{served}/docs answered with text/html, and a reply is JSON"),
        (ReplyTarget(served, headers=("nonsense",)), "a header is written as 'Name: value', not 'nonsense'"),
        (ReplyTarget(search_page.mcp), "choose a tool with --tool: "),
        (ReplyTarget(search_page.mcp, "semantic_search", "[1]"), "--args is a JSON object"),
        (ReplyTarget(search_page.mcp, "semantic_search", "{"), "--args: not JSON"),
        (ReplyTarget(here, "x"), "--tool needs the address of an MCP server"),
        (ReplyTarget(None, "x", command="no-such-program-anywhere"), "no-such-program-anywhere gave no result: "),
        (ReplyTarget("http://127.0.0.1:1/mcp", "x"), "http://127.0.0.1:1/mcp gave no result: "),
    ):
        with pytest.raises(FetchError, match=f"^{re.escape(why)}"):
            fetch(place)
    with pytest.raises(FileNotFoundError):
        fetch(ReplyTarget(here))


class Leads(BaseHTTPRequestHandler):
    """Leads once to another path, then to another name of the machine, and says there which headers came along."""

    def do_GET(self):
        here = f"{self.server.server_port}/"
        leads_to = {"/here": "/there", "/there": f"http://localhost:{here}elsewhere"}.get(self.path)
        self.server.seen.append((self.path, self.headers.get("X-Key")))
        self.send_response(302 if leads_to else 200)
        self.send_header("Location", leads_to or "")
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        """Nothing."""


def test_a_key_goes_to_the_server_for_which_it_was_given_alone():
    with ThreadingHTTPServer(("127.0.0.1", 0), Leads) as server:
        server.seen = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fetch(ReplyTarget(f"http://127.0.0.1:{server.server_port}/here", headers=("X-Key: hunter2",)))
        server.shutdown()
    assert server.seen == [("/here", "hunter2"), ("/there", "hunter2"), ("/elsewhere", None)]
