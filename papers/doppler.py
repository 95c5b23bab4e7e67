"""The Doppler function of Tzikas et al. 2009 and the fits that their figures compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Array

N = 128


def points() -> Array:
    """The grid: 1/128, 2/128, … 1."""
    return np.arange(1, N + 1)[:, None] / N


def truth(X: Array) -> Array:
    """√(x(1 − x)) sin(2π·1.01/(x + 0.01)), their equation 66."""
    x = X[:, 0]
    return np.asarray(np.sqrt(x * (1 - x)) * np.sin(2 * np.pi * 1.01 / (x + 0.01)))


def estimators(c: float) -> dict[str, Any]:
    """By name, for a price c of an effective parameter."""
    from fewer import AdaptiveRVR, WaveletRVR

    plain: dict[str, Any] = {"sparsity": c, "fit_intercept": False}
    return {
        "adaptive": AdaptiveRVR(**plain),
        "free": AdaptiveRVR(parameter_price=0.0, variance_price=0.0, **plain),
        "paper": AdaptiveRVR(variant="paper", **plain),
        "wavelet": WaveletRVR(**plain),
    }


def fixed(width: float) -> Any:
    """Kernels of one width, in sample spacings."""
    from fewer import RVR

    return RVR(gamma=(N / width) ** 2, standardize=False, fit_intercept=False)
