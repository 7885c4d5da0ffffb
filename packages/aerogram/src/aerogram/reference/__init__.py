"""Reference: what can be looked up about the contracts: their schemas and types, and what each code means."""
