"""The date of what is made now, which tests and builds can fix."""

from __future__ import annotations

import os
from datetime import UTC, datetime

from calibrant.errors import ArgumentError


def utc_now() -> str:
    """Return date and time in UTC to the second, such as ``2026-11-23T08:15:00Z`` (ISO 8601).

    Where the environment variable ``SOURCE_DATE_EPOCH`` holds seconds since 1970, as reproducible builds set it, they
    are taken in place of the clock.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = datetime.now(UTC) if fixed is None else datetime.fromtimestamp(int(fixed), UTC)
    except (ValueError, OverflowError, OSError):
        expected = "SOURCE_DATE_EPOCH in the environment to be whole seconds since 1970"
        raise ArgumentError(expected, repr(fixed), "set it to such a number, or unset it") from None
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
