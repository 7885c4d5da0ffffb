"""The MCP SDK: `install(server)`, and every tool and resource of an `MCPServer` or a low-level `Server` answers.

What it answers with keeps a contract.
"""

from aerogram.mcp.adapter import install

__all__ = ["install"]
