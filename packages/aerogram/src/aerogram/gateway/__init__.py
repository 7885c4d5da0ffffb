"""The gateway: a process in front of an MCP server that cannot be changed; what passes it keeps a contract."""
