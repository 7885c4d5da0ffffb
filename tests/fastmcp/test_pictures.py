"""Pictures: a tool that returns one without saying so has an answer, and its envelope says what stands beside it."""

from __future__ import annotations

import io

import fastmcp
import pytest
from fastmcp.utilities.types import Image
from PIL import Image as Canvas

from aerogram import validate
from aerogram.fastmcp import install

ENVELOPES = ["response-v2", "standard-v2", "knowledge-1.0"]


def picture(form: str = "png", size: tuple[int, int] = (640, 480)) -> bytes:
    out = io.BytesIO()
    Canvas.new("RGB", size).save(out, form)
    return out.getvalue()


async def answer_of(handler, dialect):
    server = fastmcp.FastMCP("pictures")
    server.tool(handler, name="draw")
    install(server, dialect=dialect)
    async with fastmcp.Client(server) as client:
        return await client.call_tool("draw")


@pytest.mark.parametrize("dialect", ENVELOPES)
@pytest.mark.parametrize("form", ["png", "gif", "jpeg"])
async def test_a_picture_is_never_nothing(dialect, form):
    def draw():
        return Image(data=picture(form), format=form)

    sent = await answer_of(draw, dialect)
    validate(sent.structured_content)
    assert [block.type for block in sent.content] == ["image"]
    told = str(sent.structured_content)
    assert f"1 image, image/{form}, 640×480" in told and "empty" not in told and "no_match" not in told


@pytest.mark.parametrize("dialect", ENVELOPES)
async def test_words_and_pictures_are_told_together(dialect):
    def draw():
        return ["two of them", Image(data=picture(), format="png"), Image(data=picture(), format="png")]

    sent = await answer_of(draw, dialect)
    validate(sent.structured_content)
    assert "two of them" in str(sent.structured_content)
    assert "2 images, image/png, 640×480" in str(sent.structured_content)


async def test_without_an_envelope_a_picture_is_all_there_is():
    def draw():
        return Image(data=picture(), format="png")

    sent = await answer_of(draw, None)
    assert [block.type for block in sent.content] == ["image"] and sent.structured_content is None
