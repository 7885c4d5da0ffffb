"""The MCP half: what the adapters of all MCP frameworks have in common."""
