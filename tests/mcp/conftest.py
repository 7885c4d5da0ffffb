"""A door to a server: one of the two frameworks with its own client, in one of the two eras of the protocol."""

from contextlib import asynccontextmanager

import pytest

from tool_servers import build, talk

DOORS = [("fastmcp", "auto"), ("fastmcp", "legacy"), ("sdk", "auto"), ("sdk", "legacy")]


class Door:
    def __init__(self, framework, mode):
        self.framework, self.mode = framework, mode
        self.is_modern = mode == "auto"

    @asynccontextmanager
    async def open(self, *, extensions=None, **settings):
        server, service = build(self.framework, **settings)
        options = {"extensions": extensions} if extensions else {}
        async with talk(self.framework, server, self.mode, **options) as talking:
            talking.service = service
            yield talking


@pytest.fixture(params=DOORS, ids=["-".join(door) for door in DOORS])
def door(request):
    return Door(*request.param)
