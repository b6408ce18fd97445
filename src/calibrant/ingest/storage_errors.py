"""Tell from what DuckDB says that it is not the input but memory or a place to write that is at fault."""

from __future__ import annotations

import re
from pathlib import Path

from calibrant.errors import SourceError

__all__ = ["describe_no_space"]

_FILE = re.compile(r'(?:write file|open file|create directory) \\?"(.+?)\\?": ([^"\n]+)')
_FULL = re.compile(r"No space left on device|File too large|Disk quota exceeded|max_temp_directory_size|Out of Memory")


def describe_no_space(text: str, name: str) -> SourceError | None:
    """Return an error, which names the place, if `text` of DuckDB is about memory or files of our own; else None."""
    found = _FILE.search(text)
    if found is not None:
        file = Path(found[1])
        # Our own folders, gone by the time the message is read: that of a draft and that of temporary files.
        draft, temporary = (
            [folder.parent for folder in file.parents if folder.name.startswith(start)]
            for start in (".calibrant-", "calibrant-")
        )
        if draft or temporary:
            return SourceError(
                f"to write {draft[-1] / file.name}" if draft else f"to write temporary files in {temporary[-1]}",
                found[2],
                "check permissions and free space, or choose another place" + ("" if draft else " by setting TMPDIR"),
            )
    if _FULL.search(text) is None:
        return None
    return SourceError(
        "enough memory and space for temporary files",
        f"too little of them for {name}",
        "free space there, or set TMPDIR to a larger disk",
    )
