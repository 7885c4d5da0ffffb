"""Access: the API keys of a server, and the shared documents in which they are kept."""
