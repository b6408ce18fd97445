"""All items, in the order of the papers."""

from __future__ import annotations

import importlib

from reproductions.item import Item

__all__ = ["ITEMS", "items_named"]

_MODULES = {
    "gao2017": (
        "table1",
        "figure1",
        "real_data",
        "specification_curve",
        "theorem1",
        "theorem2",
        "claim1",
        "claim2",
        "claim3",
        "claim4",
        "claim5",
        "claim6",
        "example2",
        "kakade",
    ),
    "fernandes_machado2024": (
        "weather",
        "insurance",
        "distortions",
        "recalibration",
        "tree",
        "tree_size",
        "forests",
        "not_enough",
        "more_models",
    ),
}


def _load(paper: str, name: str) -> Item:
    item: Item = importlib.import_module(f"reproductions.{paper}.{name}").ITEM
    return item


ITEMS = tuple(_load(paper, name) for paper, names in _MODULES.items() for name in names)


def items_named(names: list[str]) -> list[Item]:
    """Return the items of these names, or all if there are none.

    Raises
    ------
    KeyError
        If there is no such item.
    """
    known = {item.name: item for item in ITEMS}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise KeyError(f"no item {unknown[0]!r}; there are {', '.join(known)}")
    return [known[name] for name in names] or list(ITEMS)
