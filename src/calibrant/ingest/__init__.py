"""Rows, wherever they are, to a score table: arrays, chunks, dataframes, files, SQL, Spark."""
