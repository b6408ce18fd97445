"""Which columns of a dataframe, of files or of a query are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant.table.missing import NOT_KNOWN, words_for_missing
from calibrant.table.parameters import check_choice


@dataclass(frozen=True)
class Columns:
    """The columns to read and what counts as positive.

    `clusters` are read only where rows are kept apart, and `by`, which may be of any type, only where segments are.
    `models` are the scores of all models to compare, `score` among them. If `missing` is "drop", rows without a value
    in one of the columns are left out; else they are refused.
    """

    label: str
    score: str
    weight: str | None = None
    pos_label: Any = None
    clusters: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    missing: str = "raise"
    models: tuple[str, ...] = ()
    time: str | None = None
    id: str | None = None
    block: str | None = None

    def __post_init__(self) -> None:
        check_choice("missing", self.missing, ("raise", "drop"))

    @property
    def drops(self) -> bool:
        """Whether rows with a missing value are left out."""
        return self.missing == "drop"

    @property
    def causes(self) -> dict[str, tuple[tuple[str, ...], frozenset[str]]]:
        """What a row may lack, see `LeftOut.causes`: the columns that hold it, and words that stand for a missing one.

        A cluster is missing only if all of its columns are empty.
        """
        words, empty = words_for_missing(self.pos_label), frozenset({""})
        causes: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {
            "outcome": ((self.label,), words),
            "score": ((self.score,), NOT_KNOWN),
        }
        causes |= {} if self.weight is None else {"weight": ((self.weight,), NOT_KNOWN)}
        causes |= {"cluster": (self.clusters, empty)} if self.clusters else {}
        return causes | {f"value of {name}": ((name,), empty) for name in self.by}

    @property
    def of_rows(self) -> dict[str, str]:
        """The columns of scores, labels and, if there are any, weights."""
        return {"score": self.score, "label": self.label} | ({} if self.weight is None else {"weight": self.weight})

    @property
    def names(self) -> tuple[str, ...]:
        """All names of columns, each once."""
        rows = (self.label, self.score, self.weight, *self.clusters)
        listed = (*rows, *self.by, *self.models, self.time, self.id, self.block)
        return tuple(dict.fromkeys(name for name in listed if name is not None))
