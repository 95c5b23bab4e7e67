"""Tipping 2001: sin(x)/x."""

from __future__ import annotations

import numpy as np

from papers.data import folds
from papers.evidence import UNFINISHED, Fits, root_mean_square, rows
from papers.experiment import Experiment, generator

N, NOISE, END = 100, 0.1, 10.0
GAMMAS = tuple(float(0.5 / h**2) for h in (1.0, 1.4, 2.0, 2.8, 4.0))
FOLDS = 5
_NAMES = {"error": "RMSE", "terms": "kernels"}
_PUBLISHED = (".0326", "6.7")


def run(seed: int) -> dict[str, float]:
    """One sample; the error is on a fine grid."""
    from fewer import RVR

    rng = generator(seed)
    X = rng.uniform(-END, END, size=(N, 1))
    y = np.sinc(X[:, 0] / np.pi) + NOISE * rng.standard_normal(N)
    grid = np.linspace(-END, END, 1001)[:, None]
    model = RVR(gamma="cv", gammas=GAMMAS, cv=list(folds(rng, N, FOLDS)), standardize=False)
    deviation = model.fit(X, y).predict(grid) - np.sinc(grid[:, 0] / np.pi)
    fits = Fits()
    fits.add("rvm", model, root_mean_square(deviation))
    return fits.values()


EXPERIMENT = Experiment(
    name="tipping2001-sinc",
    paper="Tipping 2001",
    item="table of regression, sin(x)/x",
    protocol=(
        f"{N} points drawn with noise {NOISE} in [−{END:g}, {END:g}], root mean squared "
        "deviation from the truth on 1001 points. Gaussian kernels on all points, the width by "
        "5-fold cross-validation, intercept free. The paper's kernel is another one (linear "
        "splines, as recalled), so that only the order of size can be compared."
    ),
    seed=2001_1100,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *rows("rvm", "RVM", _NAMES, _PUBLISHED, recalled=True),
        UNFINISHED,
    ),
    run=run,
    reading=(
        "The same order of size as the published: an error of .03 with a handful of kernels, where "
        "the noise is .1. More cannot be said, the kernels being different."
    ),
)
