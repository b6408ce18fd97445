"""Time and memory of up to 2e8 rows, in memory and in files."""
