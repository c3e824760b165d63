"""The noise of an encoder."""

from __future__ import annotations

import numpy as np
import pytest

from prospection.models.calibrate import calibrate, unrelated_pairs


def test_by_hand() -> None:
    left = np.array([[1, 0], [1, 0], [1, 0]], dtype=np.float32)
    right = np.array([[0, 1], [0.6, 0.8], [0, -1]], dtype=np.float32)
    found = calibrate(left, right)  # cosines 0, 0.6, 0: mean 0.2, deviation sqrt(0.24 / 2)
    assert found.noise_mean == pytest.approx(0.2)
    assert found.noise_sd == pytest.approx(0.12**0.5)
    assert (found.tau, found.tau_o) == (0.72, 0.99)


def test_there_are_64_pairs_of_different_sentences() -> None:
    pairs = unrelated_pairs()
    assert len(pairs) == 64
    assert len({text for pair in pairs for text in pair}) == 128
    assert all(text.endswith(".") and text == text.strip() for pair in pairs for text in pair)
