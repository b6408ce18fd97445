"""Random numbers as R draws them, so that published simulations can be repeated draw by draw.

R's defaults since version 3.6: the Mersenne Twister of Matsumoto & Nishimura (1998), normal numbers by inversion, and
samples by rejection. Written from R's documentation (``?RNG``) and the description of its algorithms; the twister
itself is NumPy's.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

__all__ = ["RRandom"]

FloatArray = npt.NDArray[np.float64]

_WORDS = 624
_NORMAL_BITS = 2.0**27


class RRandom:
    """R's generator after ``set.seed(seed)``.

    Parameters
    ----------
    seed : int
        Seed, not negative.
    """

    def __init__(self, seed: int) -> None:
        # A linear congruential generator spreads the seed: 50 steps unused, one word that R overwrites, then the state.
        words, word = [], seed
        for _ in range(50 + 1 + _WORDS):
            word = (69069 * word + 1) % 2**32
            words.append(word)
        self._twister = np.random.MT19937()
        self._twister.state = {
            "bit_generator": "MT19937",
            "state": {"key": np.array(words[-_WORDS:], dtype=np.uint32), "pos": _WORDS},
        }

    def uniform(self, n: int) -> FloatArray:
        """``runif(n)``: 32 bits each, never 0 or 1."""
        return np.clip(self._twister.random_raw(n) / 2.0**32, 2.0**-33, 1.0 - 2.0**-33)

    def normal(self, n: int) -> FloatArray:
        """``rnorm(n)``: two uniform numbers make one of 59 bits, which is put through the normal quantile function."""
        first, second = self.uniform(2 * n).reshape(n, 2).T
        normal: FloatArray = ndtri((np.floor(_NORMAL_BITS * first) + second) / _NORMAL_BITS)
        return normal

    def bernoulli(self, p: FloatArray) -> npt.NDArray[np.int8]:
        """``rbinom(length(p), 1, p)``: inversion, counted from the likelier side."""
        u = self.uniform(len(p))
        return np.where(p > 0.5, u < p, u >= 1.0 - p).astype(np.int8)

    def sample(self, n: int, size: int) -> npt.NDArray[np.intp]:
        """``sample(n, size)`` without replacement, less 1: indices count from 0."""
        left, drawn = np.arange(n), np.empty(size, dtype=np.intp)
        for i in range(size):
            place = self._below(n - i)
            drawn[i], left[place] = left[place], left[n - i - 1]
        return drawn

    def _below(self, n: int) -> int:
        """One of 0, ..., n - 1, for n up to 2**15: the last bits of a 16-bit number, anew while too large."""
        mask = (1 << (n - 1).bit_length()) - 1
        while (value := int(65536.0 * self.uniform(1)[0]) & mask) >= n:
            pass
        return value
