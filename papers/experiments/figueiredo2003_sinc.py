"""Figueiredo 2003: kernel regression of sin(x)/x."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.experiment import Array, Experiment, Published, Quantity, generator
from papers.tally import ENDINGS, Tally, loss_and_terms

N, NOISE, END = 50, 0.1, 10.0
_MEASURED = {1.6: (0.0487, 6.1), 2.0: (0.0444, 5.9), 2.5: (0.0446, 6.3), 3.0: (0.0417, 6.7)}
ARMS: dict[str, dict[str, Any]] = {"exact": {}, "paper": {"variant": "paper"}}
LABELS = {"exact": "fewer", "paper": "paper's variant"}


def truth(X: Array) -> Array:
    """sin(x)/x, 1 at 0."""
    return np.asarray(np.sinc(X[:, 0] / np.pi))


def run(seed: int) -> dict[str, float]:
    """One sample; the error is against the truth on a fine grid."""
    from fewer import SparseRegressor

    X = np.linspace(-END, END, N)[:, None]
    y = truth(X) + NOISE * generator(seed).standard_normal(N)
    grid = np.linspace(-END, END, 1001)[:, None]
    tally = Tally()
    for width in _MEASURED:
        for arm, settings in ARMS.items():
            model = SparseRegressor(
                basis="rbf",
                gamma=0.5 / width**2,
                standardize=False,
                fit_intercept="penalised",
                **settings,
            ).fit(X, y)
            deviation = model.predict(grid) - truth(grid)
            tally.add(f"{arm}_{width:g}", model, float(np.sqrt(np.mean(deviation**2))))
    return tally.values()


def _quantities(arm: str, width: float) -> tuple[Quantity, Quantity]:
    return loss_and_terms(
        f"{arm}_{width:g}",
        f"h = {width:g}, {LABELS[arm]}",
        "RMSE",
        "kernels",
        (Published(".0455", recalled=True), Published("7.0", recalled=True)),
        _MEASURED[width],
    )


EXPERIMENT = Experiment(
    name="figueiredo2003-sinc",
    paper="Figueiredo 2003",
    item="regression of sin(x)/x with Gaussian kernels",
    protocol=(
        f"{N} evenly spaced points in [−10, 10], noise {NOISE}, root mean squared deviation from "
        "the truth on 1001 points. Width and n of the paper are not known; the widths are the "
        "reference's, whose number of repetitions is not. Kernels on all rows, the prior on the "
        "intercept too, noise estimated. fewer starts from the ridge regression of highest "
        "evidence and runs to convergence; the paper's variant starts from least squares and stops "
        "at a change of 1e-3 (its weights below 1e-4 of the largest are not counted)."
    ),
    seed=2003_0400,
    repetitions=100,
    quick_repetitions=2,
    quantities=tuple(q for w in _MEASURED for arm in ARMS for q in _quantities(arm, w)) + ENDINGS,
    run=run,
    reading=(
        "At h = 2.5 and 3, and in the number of kernels at every width, this is the reference's "
        "method. At h = 1.6 and 2 our errors are higher by 9 and 14 %; the verdict counts our "
        "standard error alone, since the reference's number of samples is not known. One sample "
        "scatters by .012: the mean of ten of ours is as low as the reference's in one draw of "
        "ten at h = 1.6 and in one of twenty at h = 2. A plain NumPy EM from least squares, run "
        "to convergence on the first 60 samples, has .0529, .0504, .0448 and .0422, which are "
        "ours. So a difference of the method is not shown, nor that the reference's two lower "
        "numbers can be had on these samples. The published .0455, of unknown width and n, is met "
        "at h = 2.5."
    ),
)
