"""Segments of rows: what the columns that name them are turned into."""
