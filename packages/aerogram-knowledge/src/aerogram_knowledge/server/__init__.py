"""The knowledge server: a folder of documents behind MCP and HTTP, and how it is operated."""
