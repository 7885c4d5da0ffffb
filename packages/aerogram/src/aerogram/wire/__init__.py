"""The wire: replies as tool results and HTTP responses, in plain data that knows no framework."""
