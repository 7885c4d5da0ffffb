"""Search: from a question to its ranked results, and to what each of them says about itself."""
