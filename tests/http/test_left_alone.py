"""What a framework does for an application it does with the layer too.

Every application is served three times: bare, with nothing migrated, and with everything migrated for callers who ask
for nothing. Whatever comes over the wire, happens besides, or reaches the server must be the same, but for the fields
that the documentation names. For those who ask for an envelope, the same must happen besides.
"""

import http.client
import logging
import queue
import re
import traceback

import applications
import fast_applications
import pytest
import troubled_applications
from applications import APPLICATIONS
from fastapi import FastAPI

from aerogram import fastapi, starlette
from aerogram.starlette import Versions

VARIANTS = {"bare": None, "passing": (), "migrated": "all"}
OWN_FILES = {module.__file__ for module in (applications, fast_applications, troubled_applications)}
ADDED = {"date", "server", "x-content-type-options", "x-envelope-version", "x-request-id"}


def told(error):
    """An exception as a log tells it: what it says, and the functions of the application that it came through."""
    if error is None:
        return None
    frames = [one.name for one in traceback.extract_tb(error.__traceback__) if one.filename in OWN_FILES]
    return type(error).__name__, str(error), frames, told(error.__cause__)


class Kept(logging.Handler):
    """What the layer logs."""

    def __init__(self):
        super().__init__()
        self.crashes = []

    def emit(self, record):
        if record.exc_info:
            self.crashes.append(told(record.exc_info[1]))


class Site:
    """All applications on one port; a field of the request says which one it is for."""

    def __init__(self):
        self.outcomes = queue.SimpleQueue()
        self.events = {(name, variant): [] for name in APPLICATIONS for variant in VARIANTS}
        self.apps = {key: self.made(*key) for key in self.events}

    def made(self, name, variant):
        make, _ = APPLICATIONS[name]
        app = make(self.events[name, variant])
        if variant != "bare":
            module = fastapi if isinstance(app, FastAPI) else starlette
            module.install(app, versions=Versions(vendor="acme", migrated=VARIANTS[variant]))
        return app

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": f"{(await receive())['type']}.complete"})
            return
        chosen = next(value for name, value in scope["headers"] if name == b"x-chosen")
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"x-chosen"]
        raised = None
        try:
            await self.apps[tuple(chosen.decode().split())](scope, receive, send)
        except Exception as error:
            raised = told(error)
            raise
        finally:
            self.outcomes.put(raised)


@pytest.fixture(scope="module")
def site():
    return Site()


@pytest.fixture(scope="module")
def address(site, serve):
    url = serve(site).base_url
    return url.host, url.port


@pytest.fixture
def kept():
    handler = Kept()
    logging.getLogger("aerogram").addHandler(handler)
    yield handler
    logging.getLogger("aerogram").removeHandler(handler)


def answered(address, chosen, method, path, fields, body):
    """Status, fields and body as they come over the wire, or how the connection broke."""
    connection = http.client.HTTPConnection(*address, timeout=20)
    try:
        connection.putrequest(method, path, skip_host="Host" in fields, skip_accept_encoding=True)
        length = {} if body is None else {"Content-Length": str(len(body))}
        for name, value in {**fields, **length, "X-Chosen": " ".join(chosen)}.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        response = connection.getresponse()
        found = [(name.lower(), value) for name, value in response.getheaders()]
        return response.status, found, response.read()
    except (http.client.HTTPException, ConnectionError) as error:
        return type(error).__name__, [], getattr(error, "partial", b"")
    finally:
        connection.close()


def besides_documented(answer, bare):
    """An answer without the fields that the layer adds."""
    status, fields, body = answer
    before, found = dict(bare[1]), []
    for name, value in fields:
        rest = re.sub(r"(, )?Accept, X-Envelope-Version$", "", value) if name == "vary" else value
        is_new_tag = name == "etag" and name not in before and value.startswith("W/")
        if name == "access-control-expose-headers" and value.startswith(before.get(name, "")):
            rest = before.get(name, "")
        if name not in ADDED and rest and not is_new_tag:
            found.append((name, rest))
    return status, sorted(found), body


REQUESTS = [
    pytest.param(name, request, id=f"{name} {request[0]} {request[1]} {' '.join(request[2])}".strip())
    for name, (_, requests) in APPLICATIONS.items()
    for request in requests
]


def _placeless(crash):
    """What was raised, without the place of the handler: FastAPI looks it up by an id that another one may have had."""
    return tuple(re.sub(r'\n\n  File ".*', "", one, flags=re.DOTALL) if isinstance(one, str) else one for one in crash)


@pytest.mark.filterwarnings("ignore")  # what applications do wrong, they may do wrong
@pytest.mark.parametrize(("name", "asked"), REQUESTS)
def test_an_answer_and_all_that_comes_with_it_are_those_of_the_bare_application(site, address, kept, name, asked):
    def seen(variant, method, path, *rest):
        site.events[name, variant].clear()
        kept.crashes.clear()
        answer = answered(address, (name, variant), method, path, *rest)
        raised = site.outcomes.get(timeout=60)
        # what nobody handles is told once: by the server, or by the layer where it has answered
        told_once = [_placeless(one) for one in (*kept.crashes, *([raised] if raised else []))]
        return answer, (list(site.events[name, variant]), told_once)

    bare, beside = seen("bare", *asked)
    for variant in ("passing", "migrated"):
        answer, beside_it = seen(variant, *asked)
        assert besides_documented(answer, bare) == besides_documented(bare, bare)
        assert beside_it == beside
    method, path, *rest = asked
    _, beside_an_envelope = seen("migrated", method, f"{path}{'&' if '?' in path else '?'}envelope=v2", *rest)
    assert beside_an_envelope == beside
