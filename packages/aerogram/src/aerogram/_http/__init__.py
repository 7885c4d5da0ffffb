"""The HTTP half: negotiation, routes and exchanges over plain ASGI, for every HTTP framework."""
