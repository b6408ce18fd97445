"""Panels: the same obligors in every month, with the default of the next twelve months as outcome."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Chance of default within a month, by grade.
MONTHLY = np.array([0.00002, 0.00005, 0.0001, 0.0003, 0.0008, 0.0018, 0.004, 0.009, 0.02])
_SHARE = np.array([0.05, 0.1, 0.15, 0.2, 0.2, 0.14, 0.09, 0.05, 0.02])
_MOVE = 0.02  # chance of a better grade within a month, and of a worse one
WINDOW = 12


class Panel(NamedTuple):
    """One row for each month that an obligor begins without default."""

    default: np.ndarray
    pd: np.ndarray
    grade: np.ndarray
    obligor: np.ndarray
    month: np.ndarray


def transitions(monthly=MONTHLY):
    """Chances of grades, and of default, a month later."""
    grades = len(monthly)
    change = np.eye(grades + 1) + _MOVE * (np.eye(grades + 1, k=1) + np.eye(grades + 1, k=-1))
    change[:grades, grades] = 0.0
    change[grades] = np.arange(grades + 1) == grades
    change[:grades] *= ((1.0 - monthly) / change[:grades].sum(axis=1))[:, None]
    change[:grades, grades] = monthly
    return change


def panel(rng, obligors=2600, months=36, monthly=MONTHLY) -> Panel:
    """PDs that are right: the chance of default within twelve months of a grade."""
    change, grades = transitions(monthly), len(monthly)
    right = np.linalg.matrix_power(change, WINDOW)[:grades, grades]
    state, states = rng.choice(grades, obligors, p=_SHARE), []
    for _ in range(months + WINDOW):
        states.append(state)
        state = (change.cumsum(axis=1)[state] < rng.random((obligors, 1))).sum(axis=1).clip(0, grades)
    met = np.array(states)
    month, obligor = np.nonzero(met[:months] < grades)
    grade = met[month, obligor]
    return Panel((met[month + WINDOW, obligor] == grades).astype(int), right[grade], grade + 1, obligor, month)
