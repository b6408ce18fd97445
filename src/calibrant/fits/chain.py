"""Two or more fitted maps, one after the other: a deployed model, and what was fitted to its predictions since."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from calibrant.errors import ArgumentError
from calibrant.fits.score_map import Domain, FittedMap, Training
from calibrant.table.pooling import FloatArray
from calibrant.typed_json import Checks


@dataclass(init=False, eq=False, repr=False)
class Chain(FittedMap):
    """Fitted maps of which each takes what the one before gives, made by `calibrant.export.compose`.

    Attributes
    ----------
    maps_ : list of calibrators
        The first of them takes the scores.
    trainings_ : list of Training
        The rows that each was fitted to; `training_` is the last one.

    """

    def __init__(self, maps: Sequence[Any] = ()) -> None:
        if maps:
            self.maps_: list[FittedMap] = [
                part for one in maps for part in (one.maps_ if isinstance(one, Chain) else [one])
            ]
            self.trainings_: list[Training] = [one.training_ for one in self.maps_]
            self.training_, self.n_features_in_ = self.trainings_[-1], 1
            if hasattr(self.maps_[0], "feature_names_in_"):
                self.feature_names_in_ = self.maps_[0].feature_names_in_
            for _, expected, holds in self._checks():
                if not holds:
                    both = " and ".join(one._calibrator for one in self.maps_)
                    raise ArgumentError(expected, both, "fit the second one anew to the original scores")

    def _checks(self) -> Checks:
        """Yield what has to hold of the maps, as the layout of a file does."""
        alike = len({one.quantities for one in self.maps_}) == 1 and not any(hasattr(m, "classes_") for m in self.maps_)
        yield "fitted.maps_", "two or more maps of scores, or of predicted means", alike and len(self.maps_) > 1
        by_segment = sum(hasattr(one, "columns_") for one in self.maps_)
        yield "fitted.maps_", "at most one map by segment", by_segment <= 1
        yield "fitted.trainings_", "one for each of fitted.maps_", len(self.trainings_) == len(self.maps_)

    @property
    def domain(self) -> Domain:  # type: ignore[override]
        """Numbers that all of the maps take."""
        return max((one.domain for one in self.maps_), key=lambda domain: domain.least)

    @property
    def quantities(self) -> tuple[str, str, str]:  # type: ignore[override]
        """What is mapped, to what, and many of these."""
        return self.maps_[0].quantities

    @property
    def _calibrator(self) -> str:
        return type(self).__name__

    def predict(self, scores: Any, segments: Any = None) -> FloatArray:
        """Map scores by each map in turn.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Scores, or predicted means.
        segments : dataframe or mapping, optional
            The columns of a map by segment, if there is one.

        Returns
        -------
        ndarray of float64, shape (n,)
            Calibrated probabilities, or means.
        """
        for one in self.maps_:
            each: Any = one
            scores = each.predict(scores, segments) if hasattr(one, "columns_") else each.predict(scores)
        return scores  # type: ignore[no-any-return]

    def interpret(self) -> str:
        """Say in words what the maps do."""
        return self._in_words()

    def _in_words(self) -> str:
        first, *others = (one._in_words() for one in self.maps_)
        return " ".join([first, *(f"Then: {words}" for words in others)])

    def _falls(self) -> bool:
        return any(one._falls() for one in self.maps_)


def compose(first: FittedMap, then: FittedMap) -> Chain:
    """Return one model of a deployed one, and of another that was fitted to its predictions.

    Parameters
    ----------
    first, then : Calibrator, SegmentCalibrator, MeanCalibrator or Chain
        Fitted: the deployed model, and what comes after it. One of them may be a `SegmentCalibrator`.

    Returns
    -------
    Chain
        Predicts as ``then.predict(first.predict(scores))``, and is saved and exported as other models are.

    Raises
    ------
    ArgumentError
        If one maps scores and the other means, both are by segment, or one is of several classes.

    Notes
    -----
    Exported logistic maps differ from `predict` in the last digit. Where `then` jumps at a probability that `first`
    gives, as trees by segment do, a row may fall on the other side there: 2 to 5 of 3,000 rows, by up to 0.006.

    Examples
    --------
    >>> from calibrant.calibrators import PlattCalibrator
    >>> from calibrant.export import compose, to_json
    >>> deployed = PlattCalibrator().fit([0.1, 0.4, 0.8], [0, 1, 1])
    >>> repair = PlattCalibrator().fit(deployed.predict([0.2, 0.5, 0.7]), [0, 0, 1])
    >>> both = compose(deployed, repair)
    >>> both.predict([0.3]) == repair.predict(deployed.predict([0.3]))
    array([ True])
    """
    return Chain([first, then])
