"""Where scores come from: files and standard input, read in bounded memory."""

from calibrant.read.files import read_table
from calibrant.read.source import Source, open_source

__all__ = ["Source", "open_source", "read_table"]
