"""The normaliser, tried with every value of its table."""
