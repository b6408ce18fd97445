"""What a command reads: files or a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from calibrant.errors import ArgumentError


def source_of(context: typer.Context) -> Any:
    """Return what a command is to read: paths or a `Query`."""
    from calibrant.sources.query import Query

    files, query, database = (context.params[name] for name in ("files", "query", "database"))
    if bool(files) == (query is not None):
        raise ArgumentError("a file or --query", "both" if files else "neither", "name one of them")
    if query is None and database is not None:
        raise ArgumentError("--database together with --query", "no query", "add --query 'SELECT ...'")
    return list(files) if query is None else Query(query, database)


def paths_of(source: Any) -> tuple[str, ...]:
    """Return the files that are read, for protection against overwriting."""
    from calibrant.sources.paths import find_files
    from calibrant.sources.query import Query

    return (source.database or "-",) if isinstance(source, Query) else find_files(source)


def name_of(source: Any) -> str:
    """Return what to call the source in headings."""
    from calibrant.sources.paths import name_of
    from calibrant.sources.query import Query

    if isinstance(source, Query):
        return "the query"
    return name_of([file if file == "-" else Path(file).name for file in source])
