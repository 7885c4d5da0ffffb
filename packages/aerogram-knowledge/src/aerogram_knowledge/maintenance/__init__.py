"""Maintenance: an index copied, repaired, kept up to date, and freed of what it should no longer know."""
