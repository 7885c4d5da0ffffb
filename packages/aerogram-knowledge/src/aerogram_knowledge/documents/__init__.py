"""Documents: files as the index reads them: canonical text, sections, chunks, and what they say of themselves."""
