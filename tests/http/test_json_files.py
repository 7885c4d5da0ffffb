"""JSON that is a file or a stream is no envelope, for nobody."""

import pytest
from starlette.applications import Starlette
from starlette.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from aerogram.starlette import Versions, install

CONTENT = b'{"a": 1}'


@pytest.fixture(scope="module", params=["bare", "response-v2"])
def client(request, serve, tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "a.json").write_bytes(CONTENT)

    async def pieces():
        yield CONTENT[:4]
        yield CONTENT[4:]

    async def stream(_):
        return StreamingResponse(pieces(), media_type="application/json")

    async def file(_):
        return FileResponse(folder / "a.json")

    async def whole(_):
        return JSONResponse({"a": 1})

    routes = [Route("/stream", stream), Route("/file", file), Route("/whole", whole)]
    app = Starlette(routes=[*routes, Mount("/static", StaticFiles(directory=folder))])
    install(app, versions=Versions(vendor="acme", legacy=request.param))
    return serve(app)


@pytest.mark.parametrize("path", ["/stream", "/file", "/static/a.json"])
@pytest.mark.parametrize("query", ["", "?envelope=v2"])
def test_it_passes_untouched_and_is_not_marked(client, path, query):
    answer = client.get(path + query)
    assert (answer.status_code, answer.content) == (200, CONTENT)
    assert "X-Envelope-Version" not in answer.headers
    assert "Accept" in answer.headers["Vary"]


def test_a_whole_answer_is_marked(client):
    assert client.get("/whole").headers["X-Envelope-Version"] == "v1"
