"""An endpoint that speaks the OpenAI chat protocol as a writer: a real server, good and bad."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from aerogram.digest import Digester, DigestPolicy, EndpointWriter, digest_text, read
from aerogram.errors import ValidationFailed

QUERY = "What does a ticket cost?"
GOOD = json.dumps({"summary": "A ticket costs four crowns.", "key_points": ["Bicycles travel free."]})


def chat(content):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


@pytest.fixture
def endpoint():
    """A server whose next answer the test decides, and the requests it got."""
    answers, requests = [], []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            requests.append((self.path, self.headers.get("Authorization"), json.loads(body)))
            status, headers, answer = answers.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", answers, requests
    server.shutdown()
    thread.join()
    server.server_close()


async def digested(url, text):
    writer = EndpointWriter(url, "small-model", api_key="k-1")
    return await Digester(DigestPolicy(mode="always"), writer=writer).digest(text, QUERY)


@pytest.mark.parametrize("content", [GOOD, f"Here you are:\n```json\n{GOOD}\n```"])
async def test_the_endpoint_writes_summary_and_key_points(endpoint, ferry, content):
    url, answers, requests = endpoint
    answers.append((200, {}, chat(content)))
    found = await digested(url, ferry)
    assert (found.payload.summary, found.payload.key_points) == (
        "A ticket costs four crowns.",
        ["Bicycles travel free."],
    )
    path, key, body = requests[0]
    assert (path, key, body["model"]) == ("/v1/chat/completions", "Bearer k-1", "small-model")
    assert QUERY in body["messages"][1]["content"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((500, {}, b"oops"), "the endpoint answered with status 500"),
        ((302, {"Location": "http://127.0.0.1:1/"}, b""), "the endpoint answered with status 302"),
        ((200, {}, b"not json"), "the endpoint's answer has no message"),
        ((200, {}, chat("I would rather not.")), "the endpoint's message holds no draft"),
        ((200, {}, chat('{"summary": "", "key_points": []}')), "the writer gave no summary"),
        ((200, {}, chat(json.dumps({"summary": "x" * 3000}))), "the summary has 3000 characters; the limit is 2000"),
        (
            (200, {}, chat('{"summary": "x", "key_points": "one"}')),
            "the key points are a row of texts, not str",
        ),
        ((200, {}, chat('{"summary": "x", "key_points": [{"a": 1}]}')), "a key point is text of 1 to 500 characters"),
    ],
)
async def test_whatever_the_endpoint_does_wrong_there_is_a_digest(endpoint, ferry, answer, reason):
    url, answers, _ = endpoint
    answers.append(answer)
    found = await digested(url, ferry)
    assert found.payload == digest_text(read(ferry), QUERY)
    assert [(notice.code, notice.context["reason"]) for notice in found.notices] == [("FALLBACK_USED", reason)]


async def test_an_endpoint_that_is_not_there_is_fallen_back_from(ferry):
    found = await digested("http://127.0.0.1:1/v1", ferry)
    assert found.notices[0].code == "FALLBACK_USED"


@pytest.mark.parametrize("url", ["file:///etc/hosts", "ftp://host/v1", "http://", "host/v1"])
def test_only_http_urls_are_taken(url):
    with pytest.raises(ValidationFailed):
        EndpointWriter(url, "m")
