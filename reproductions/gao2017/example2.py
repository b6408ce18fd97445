"""Example 2: simple sets at each pair of thresholds, all sets over all pairs; counted in whole numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from calibrant.papers import rademacher_finite
from calibrant.plots import drawing_style
from reproductions.gao2017.vc import vc_dimension
from reproductions.item import Effort, Item, Measured, Number

LARGEST = 6
ORDERS = 200  # orders of the subsets tried beside that of binary numbers


def measure(effort: Effort) -> Measured:
    """Enumerate all pairs of thresholds; scores in units of ``1 / 2**(n + 1)`` are whole numbers."""
    numbers: list[Number] = []
    rows = []
    for n in effort.steps(range(1, (4 if effort.fast else LARGEST) + 1), "sizes"):
        subsets = list(range(1 << n))
        slices = list(_slices(subsets))
        whole = frozenset().union(*slices)
        in_slices = [vc_dimension(sets, n) for sets in set(slices)]
        complexity = [_complexity(sets, n) for sets in set(slices)]
        bound = rademacher_finite(n, max(in_slices), 1 << (n + 1)) if n > max(in_slices) + 1 else float("nan")
        found = {
            "VC dimension of a pair of thresholds": max(in_slices),
            "VC dimension of H": vc_dimension(whole, n),
            "most sets of a pair of thresholds": max(len(sets) for sets in slices),
            "sets in H": len(whole),
            "largest R of a pair of thresholds": max(complexity),
            "R of H": _complexity(whole, n),
        }
        numbers += [Number(f"{name}, n = {n}", float(value), 0.0) for name, value in found.items()]
        if n > max(in_slices) + 1:
            numbers.append(Number(f"Claim 4, n = {n}", bound, 0.0))
        rows.append((n, 1 << (n + 1), *found.values()))
    numbers += _other_orders(effort)
    columns = ["n", "scores", "vc_slice", "vc_h", "sets_slice", "sets_h", "R_slice", "R_h"]
    return Measured(numbers, {"dimensions": pd.DataFrame(rows, columns=columns)})


def _slices(subsets: Sequence[int]) -> Iterator[frozenset[int]]:
    """Yield the sets ``{x : p1 < f_i(x) <= p2}`` over all i, for each pair of thresholds.

    In units of ``1 / 2**(n + 1)``, f_i is ``2 i - 1`` on the i-th subset and ``2 i`` elsewhere.
    """
    everything = len(subsets) - 1  # all points: the last of the 2**n subsets as binary numbers
    for low, high in itertools.combinations_with_replacement(range(2 * len(subsets) + 1), 2):
        sets = set()
        for i, subset in enumerate(subsets, start=1):
            chosen = subset if low < 2 * i - 1 <= high else 0
            chosen |= everything & ~subset if low < 2 * i <= high else 0
            sets.add(chosen)
        yield frozenset(sets)


def _complexity(sets: frozenset[int], n: int) -> float:
    """Return the Rademacher complexity on all n points: the mean over all sign vectors of the largest sum."""
    signs = np.array(list(itertools.product((-1, 1), repeat=n)))
    members = np.array([[bits >> i & 1 for i in range(n)] for bits in sorted(sets)])
    return float((signs @ members.T).max(axis=1).mean()) / n


def _other_orders(effort: Effort) -> list[Number]:
    """Try other orders of the subsets, which the example leaves open: smallest and largest dimension at n = 2 and 3."""
    rng = np.random.default_rng(50)
    numbers = []
    for n in (2, 3):
        orders = list(itertools.permutations(range(1 << n))) if n == 2 else None
        tried = orders or [rng.permutation(1 << n).tolist() for _ in range(ORDERS)]
        found = [max(vc_dimension(sets, n) for sets in set(_slices(order))) for order in tried]
        numbers.append(Number(f"smallest VC dimension over orders, n = {n}", min(found), 0.0))
        numbers.append(Number(f"largest VC dimension over orders, n = {n}", max(found), 0.0))
        if not effort.fast:
            numbers.append(Number(f"orders, n = {n}", len(tried), 0.0))
    return numbers


def draw(tables: Mapping[str, pd.DataFrame]) -> Mapping[str, Figure]:
    """Dimensions and complexities over n."""
    with drawing_style() as palette:
        figure = Figure(figsize=(7.6, 3.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        found = tables["dimensions"]
        for ax, name in ((left, "vc"), (right, "R")):
            ax.plot(found["n"], found[f"{name}_h"], "o-", ms=4.5, color=palette.orange)
            ax.plot(found["n"], found[f"{name}_slice"], "o-", ms=4.5, color=palette.blue)
            ax.set(xlabel="points n", xticks=list(found["n"]), xlim=(0.7, float(found["n"].max()) + 0.3))
        left.set(ylabel="VC dimension", ylim=(0, float(found["n"].max()) + 0.5))
        left.text(3.6, 4.6, "all thresholds, H", color=palette.orange, fontsize=8.5, ha="right")
        left.text(4.0, 1.55, "one pair of thresholds", color=palette.blue, fontsize=8.5)
        right.set(ylabel="Rademacher complexity", ylim=(0, 0.6))
        right.text(3.0, 0.53, "all thresholds, H", color=palette.orange, fontsize=8.5)
        right.text(1.2, 0.2, "largest of one pair", color=palette.blue, fontsize=8.5)
    return {"example2": figure}


ITEM = Item("gao2017", "example2", "Example 2: simple at each threshold, not simple over all", measure, draw)
