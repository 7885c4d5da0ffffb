"""Documents: for each written contract every name its text uses, its schemas and types, and what its codes mean."""
