"""FastMCP: `install(server)`, and every tool and resource of a FastMCP server answers under a contract."""

from aerogram.fastmcp.adapter import install

__all__ = ["install"]
