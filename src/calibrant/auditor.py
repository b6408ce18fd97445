"""The main job as one call: `calibrant.audit`, and the object it returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from calibrant.auditing import Findings, examine
from calibrant.auditing.wording import summary
from calibrant.core.clusters import Groups
from calibrant.core.table import ScoreTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Audit", "audit"]


@dataclass(frozen=True, repr=False)
class Audit(Findings):
    """Result of `calibrant.audit`: its numbers are those of `Findings`; print it, or show it in another form."""

    def __str__(self) -> str:
        return summary(self)

    def __repr__(self) -> str:
        verdict = self.certificate.verdict if self.certificate else None
        return f"<Audit {self.name!r}: n={self.sample.n:g}, error={self.cutoff.value:.4g}, verdict={verdict!r}>"

    def to_html(self, path: str | PathLike[str] | None = None) -> str:
        """Return the report as one self-contained HTML page, and write it if a path is given.

        Parameters
        ----------
        path : path-like, optional
            Where to write it. An existing file is replaced, only once the page is complete.

        Returns
        -------
        str
            The page.

        Raises
        ------
        SourceError
            If the path cannot be written.
        """
        from calibrant.report import render
        from calibrant.write import write_text

        page = render([self], title=f"Calibration audit: {self.name}")
        if path is not None:
            write_text(page, path)
        return page

    def plot(self) -> Figure:
        """Draw the reliability diagram with the distribution of scores, and the residual walk.

        Returns
        -------
        matplotlib.figure.Figure
            Not registered with pyplot; show it in a notebook or save it with ``savefig``.
        """
        from calibrant.plots import audit_figure

        return audit_figure(self)


def audit(
    y_true: npt.ArrayLike | ScoreTable,
    y_proba: npt.ArrayLike | None = None,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Any = None,
    tolerance: float | None = None,
    delta: float = 0.05,
    costs: Mapping[str, float] | Sequence[float] | npt.NDArray[Any] | None = None,
    method: Literal["default", "bernstein", "anytime", "hoeffding", "normal", "theorem2"] | None = None,
    groups: Groups | None = None,
    max_rows_per_group: int = 1,
    n_folds: int = 5,
    random_state: int | np.random.Generator = 0,
    name: str = "scores",
) -> Audit:
    """Judge whether scores can be read as probabilities, what it costs if not, and what to do.

    Parameters
    ----------
    y_true : array-like of shape (n,) or ScoreTable
        Labels of both classes, or a table that holds labels and scores.
    y_proba : array-like of shape (n,)
        Predicted probabilities of the positive class, in [0, 1].
    sample_weight : array-like of shape (n,), optional
        Whole numbers count repeated rows. With other weights there are point estimates, but no certificate.
    pos_label : scalar, optional
        The label value that counts as 1.
    tolerance : float, optional
        Calibration error you could live with, in (0, 1); asks for a verdict.
    delta : float
        Probability with which each statement may fail, in (0, 1).
    costs : (float, float) or mapping, optional
        Cost of a false positive and of a false negative, as a pair or as
        ``{"false_positive": a, "false_negative": b}``; asks for money.
    method : {"default", "bernstein", "anytime", "hoeffding", "normal", "theorem2"}, optional
        Which bound, see `calibrant.certificates.certify`.
    groups : sequence of length n, optional
        The group of each row, such as the patient it was measured on. Rows of one group may then depend on each other;
        statements that count independent rows are left out.
    max_rows_per_group : int
        With groups: rows that a group counts at most in certificate, test and costs, see
        `calibrant.certificates.certify`. With 1, the default, every group counts the same.
    n_folds : int
        Folds for judging recalibration, at least 2.
    random_state : int or numpy.random.Generator
        Deals the rows into folds, and those of the lower bound; redraws labels for the test.
    name : str
        What is audited, for headings.

    Returns
    -------
    Audit
        Print it; or see its methods ``to_dict``, ``to_json``, ``to_html`` and ``plot``.

    Raises
    ------
    DataError
        If the rows cannot be used, or only one class is present.
    ArgumentError
        If a parameter is out of range.

    Examples
    --------
    >>> import calibrant
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=20_000)
    >>> y = rng.uniform(size=20_000) < p
    >>> result = calibrant.audit(y, p, tolerance=0.02, costs=(1, 4))
    >>> result.certificate.verdict, result.advice.action
    ('certified', 'leave alone')
    """
    findings = examine(
        y_true,
        y_proba,
        sample_weight=sample_weight,
        pos_label=pos_label,
        tolerance=tolerance,
        delta=delta,
        costs=costs,
        method=method,
        groups=groups,
        max_rows_per_group=max_rows_per_group,
        n_folds=n_folds,
        random_state=random_state,
        name=name,
    )
    return Audit(**{field.name: getattr(findings, field.name) for field in fields(findings)})
