"""Data that several tests fit."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def sparse_data():
    """Two of eight columns matter; a third of the values are zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 8))
    X[rng.random(X.shape) < 1 / 3] = 0
    return X, 1 + 2 * X[:, 1] - X[:, 4] + 0.1 * rng.normal(size=120)
