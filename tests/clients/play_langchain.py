"""The script, played by LangChain's adapters; run in an environment of theirs: play_langchain.py COMMAND…"""

import asyncio
import sys
from pathlib import Path

from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

sys.path.append(str(Path(__file__).parents[1]))

from client_script import follow


async def main(command: str, *words: str) -> None:
    client = MultiServerMCPClient({"library": {"transport": "stdio", "command": command, "args": list(words)}})
    async with client.session("library") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        script = follow()
        call, count = next(script), 0
        while call is not None:
            name, arguments = call
            message = await tools[name].ainvoke({"type": "tool_call", "id": "1", "name": name, "args": arguments})
            read = message.content if isinstance(message.content, str) else "".join(b["text"] for b in message.content)
            call, count = _next(script, read), count + 1
        print(count, "calls")


def _next(script, read):
    try:
        return script.send(read)
    except StopIteration:
        return None


asyncio.run(main(*sys.argv[1:]))
