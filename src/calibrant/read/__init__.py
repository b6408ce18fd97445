"""Where scores come from: files, standard input and queries, read in bounded memory."""

from calibrant.read.checks import check_scores
from calibrant.read.files import read_table
from calibrant.read.formats import quote_name, quote_text
from calibrant.read.opening import open_source
from calibrant.read.places import find_files, name_of
from calibrant.read.query import Query
from calibrant.read.rows import Rows, read_rows
from calibrant.read.source import Source

__all__ = [
    "Query",
    "Rows",
    "Source",
    "check_scores",
    "find_files",
    "name_of",
    "open_source",
    "quote_name",
    "quote_text",
    "read_rows",
    "read_table",
]
