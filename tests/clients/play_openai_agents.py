"""The script, played by openai-agents; run in an environment of theirs: play_openai_agents.py COMMAND…"""

import asyncio
import json
import sys
from pathlib import Path

from agents.mcp import MCPServerStdio
from agents.mcp.util import MCPUtil
from agents.run_context import RunContextWrapper

sys.path.append(str(Path(__file__).parents[1]))

from client_script import follow


async def main(command: str, *words: str) -> None:
    started = {"command": command, "args": list(words)}
    async with MCPServerStdio(started, client_session_timeout_seconds=60) as library:
        tools = {tool.name: tool for tool in await library.list_tools()}
        script = follow()
        call, count = next(script), 0
        while call is not None:
            name, arguments = call
            given = RunContextWrapper(None), json.dumps(arguments)
            found = await MCPUtil.invoke_mcp_tool(library, tools[name], *given)
            read = found if isinstance(found, str) else json.dumps(found)
            call, count = _next(script, read), count + 1
        print(count, "calls")


def _next(script, read):
    try:
        return script.send(read)
    except StopIteration:
        return None


asyncio.run(main(*sys.argv[1:]))
