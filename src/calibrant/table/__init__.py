"""The score table, and what is always needed with it."""
