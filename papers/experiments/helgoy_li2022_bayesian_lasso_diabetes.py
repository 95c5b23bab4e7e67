"""Helgøy & Li 2022: the coefficients of the diabetes data, the column of the Bayesian lasso."""

from __future__ import annotations

import numpy as np

from papers.bayesian_lasso import PAPER, SAMPLER, endings, median, sampling
from papers.data import read
from papers.experiment import Array, Experiment, Published, Quantity, Reference

NAMES = ("age", "sex", "bmi", "map", "tc", "ldl", "hdl", "tch", "ltg", "glu")
_PUBLISHED = (-3.08, -203.27, 523.32, 301.08, -144.05, -18.60, -164.54, 90.31, 506.27, 62.18)
# Means of three chains of 12000 draws, and how far they are apart.
_MEASURED = (-3.17, -208.86, 522.97, 304.73, -152.58, -10.43, -156.37, 85.97, 515.75, 61.79)
_APART = (2.5, 1.0, 2.0, 1.7, 6.0, 3.2, 3.8, 4.0, 3.0, 1.0)
# Called 95 % intervals there; they are those of 90 %.
_PUBLISHED_INTERVALS = {"age": (-90, 83), "sex": (-303, -104), "bmi": (414, 632), "glu": (-31, 164)}
_MEASURED_INTERVALS = {
    "age": (-90.7, 84.5),
    "sex": (-311.3, -107.5),
    "bmi": (413.6, 631.9),
    "glu": (-32.3, 168.0),
}


def unit_norm(X: Array, y: Array) -> tuple[Array, Array]:
    """Columns centred and of length one, the target centred."""
    X = X - X.mean(axis=0)
    return X / np.sqrt((X**2).sum(axis=0)), y - y.mean()


def run(seed: int) -> dict[str, float]:
    """One run of the sampler on all rows."""
    X, text = read("diabetes.csv")
    features, target = unit_norm(X, text.astype(np.float64))
    model = median(features, target, seed, standardize=False, lam_rate=1.78)
    values = {f"median_{n}": float(w) for n, w in zip(NAMES, model.coef_, strict=True)}
    for name, (low, high) in zip(NAMES, model.coef_interval(0.9), strict=True):
        values |= {f"low_{name}": float(low), f"high_{name}": float(high)}
    values["lam"] = float(model.lam_)
    return values | sampling("fit", model)


def _near(name: str, column: str, published: float, measured: float, within: float) -> Quantity:
    return Quantity(
        name,
        column,
        better=measured,
        published=Published(f"{published:g}"),
        reference=Reference(measured),
        tolerance=within,
    )


EXPERIMENT = Experiment(
    name="helgoy-li2022-bayesian-lasso-diabetes",
    paper=PAPER,
    item="table 6, diabetes, the Bayesian lasso",
    protocol=(
        "442 rows, 10 columns, centred and of unit length; target centred. λ² ~ Gamma(1, 1.78), "
        f"posterior medians; {SAMPLER}. A repetition is another seed of the sampler, so that the "
        "deviation is its Monte-Carlo error; the reference's own error, the distance of its three "
        "chains, is allowed for. The published intervals are called 95 % and are those of 90 %."
    ),
    seed=2022_0650,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *(
            _near(f"{name}, median", f"median_{name}", *rest)
            for name, *rest in zip(NAMES, _PUBLISHED, _MEASURED, _APART, strict=True)
        ),
        *(
            _near(
                f"{name}, {side} end of the 90 % interval",
                f"{side}_{name}",
                _PUBLISHED_INTERVALS[name][k],
                _MEASURED_INTERVALS[name][k],
                3.0,
            )
            for name in _PUBLISHED_INTERVALS
            for k, side in enumerate(("low", "high"))
        ),
        _near("λ, median (published by Park & Casella)", "lam", 0.279, 0.2764, 0.003),
        *endings(("fit",)),
    ),
    run=run,
    data=("diabetes.csv",),
)
