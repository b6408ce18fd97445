"""What all results share: they are frozen, and they turn into plain data that JSON can hold."""

from __future__ import annotations

import json
import math
from dataclasses import fields
from typing import Any

import numpy as np

__all__ = ["Result", "plain"]


class Result:
    """Base of the frozen result types; subclasses are dataclasses."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data.

        Returns
        -------
        dict
            Only dict, list, str, int, float, bool and None. Numbers that are not finite become None, since JSON
            has no word for them.
        """
        return {field.name: plain(getattr(self, field.name)) for field in fields(self) if field.repr}  # type: ignore[arg-type]

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the fields as a JSON document; numbers that are not finite become null."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)


def plain(value: Any) -> Any:
    """Turn a value into what JSON can hold; not finite numbers become None."""
    if isinstance(value, Result):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
