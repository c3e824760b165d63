"""What an unknown encoder's cosines mean, found out with sentences that have nothing to do with each other.

In go the vectors of the shipped unrelated pairs; out come the mean and deviation of their cosines and the thresholds
that follow. Pure, except for reading the packaged file.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np

from prospection.types import Calibration, Vectors

__all__ = ["calibrate", "unrelated_pairs"]


@lru_cache(maxsize=1)
def unrelated_pairs() -> tuple[tuple[str, str], ...]:
    """The 64 shipped pairs of sentences about different people and matters."""
    lines = (files(__package__) / "unrelated_pairs.tsv").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return tuple((left, right) for left, right in pairs)


def calibrate(left: Vectors, right: Vectors) -> Calibration:
    """Measure the noise of an encoder.

    A cosine of two unrelated texts is taken for normal with mean m and standard deviation s. `tau` = m + 1.5 s lets
    about one unrelated text in fifteen pass: a gate against noise, the ranking does the rest. `tau_o` = m + 4.5 s is
    near certainty. Under text-embedding-3-small the two come to the published 0.3 and 0.6 (paper, section 3.3).

    Args:
        left: (n, d) float32 unit rows, one for each pair; n at least 2.
        right: The other halves of the pairs.

    Returns:
        The calibration; thresholds are rounded to two decimals and never above 0.99.
    """
    cosines = np.einsum("ij,ij->i", left.astype(np.float64), right.astype(np.float64))
    mean, sd = float(cosines.mean()), float(cosines.std(ddof=1))
    tau, tau_o = (min(0.99, round(mean + z * sd, 2)) for z in (1.5, 4.5))
    return Calibration(noise_mean=mean, noise_sd=sd, tau=tau, tau_o=tau_o)
