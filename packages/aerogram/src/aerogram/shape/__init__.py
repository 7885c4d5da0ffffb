"""Shaping: from a Reply to a smaller Reply that says what it left out. Pure and synchronous."""
