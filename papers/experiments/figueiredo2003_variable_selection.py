"""Figueiredo 2003: how many of twenty variables are found."""

from __future__ import annotations

import numpy as np

from papers.experiment import Experiment, Published, Quantity, Reference, generator

SIZES = (1, 5, 10, 15, 19)
N, D, WEIGHT, NOISE = 50, 20, 3.0, 1.0
_MEASURED = {1: 2.2, 5: 6.2, 10: 10.8, 15: 15.4, 19: 19.2}


def run(seed: int) -> dict[str, float]:
    """One data set for each true size."""
    from fewer import SparseRegressor

    rng = generator(seed)
    values: dict[str, float] = {}
    for size in SIZES:
        X = rng.standard_normal((N, D))
        truth = np.zeros(D)
        truth[:size] = WEIGHT
        y = X @ truth + NOISE * rng.standard_normal(N)
        model = SparseRegressor(standardize=False, fit_intercept=False).fit(X, y)
        kept = model.coef_ != 0
        # Weights still on their way to zero would be counted above but not here.
        large = np.abs(model.coef_) > 1e-4 * np.max(np.abs(model.coef_))
        values[f"found_{size}"] = float(kept.sum())
        values[f"large_{size}"] = float(large.sum())
        values[f"exact_{size}"] = float(np.array_equal(kept, truth != 0))
    return values


def _found(size: int) -> Quantity:
    return Quantity(
        name=f"found, {size} true",
        statistic=f"found_{size}",
        better=float(size),
        published=Published("the correct number"),
        reference=Reference(_MEASURED[size], repetitions=20),
    )


def _exact(size: int) -> Quantity:
    return Quantity(
        name=f"exactly the true support, {size} true, share",
        statistic=f"exact_{size}",
        better="higher",
    )


EXPERIMENT = Experiment(
    name="figueiredo2003-variable-selection",
    paper="Figueiredo 2003",
    item="variable selection",
    protocol=(
        f"n = {N}, d = {D}, independent standard normal columns, the first 1, 5, 10, 15 or 19 "
        f"weights equal to {WEIGHT:g}, the others 0, noise {NOISE:g}. The sizes are recalled; "
        "weights and noise are chosen here. Jeffreys prior, noise estimated, no intercept, "
        "columns as given, run to convergence. The verdict "
        "compares the distance to the true number. The noise estimate ‖r‖²/n is low when many "
        "terms are in, so about one false term is expected at the small sizes."
    ),
    seed=2003_0100,
    repetitions=500,
    quick_repetitions=5,
    quantities=tuple(map(_found, SIZES)) + tuple(map(_exact, SIZES)),
    run=run,
)
