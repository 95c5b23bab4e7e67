"""Tzikas et al. 2009: whether kernels that are learnt ever do harm."""

from __future__ import annotations

import numpy as np

from papers.data import read
from papers.experiment import Columns, Experiment, Quantity, generator
from papers.tally import ENDINGS, Tally

NAMES = ("cpus", "boston", "concrete")
PART = 0.8
# One width for each kernel, and one along each feature.
ARMS = {"": False, ", anisotropic": True}
CASES = tuple(f"{name}{label}" for label in ARMS for name in NAMES)


def run(seed: int) -> dict[str, float]:
    """One random split of each data set."""
    from fewer import AdaptiveRVR

    tally = Tally()
    for name in NAMES:
        X, text = read(f"{name}.csv")
        y = text.astype(np.float64)
        order = generator(seed).permutation(len(y))
        train, test = np.split(order, [int(PART * len(y))])
        plain = np.mean((y[test] - y[train].mean()) ** 2)
        for label, anisotropic in ARMS.items():
            model = AdaptiveRVR(anisotropic=anisotropic).fit(X[train], y[train])
            error = np.mean((model.predict(X[test]) - y[test]) ** 2)
            tally.add(f"{name}{label}", model, float(error / plain))
    return tally.values()


def _worst(name: str) -> Quantity:
    def statistic(table: Columns) -> float:
        return float(table[f"{name}_loss"].max())

    return Quantity(f"{name}: worst error, as a part of that of the mean", statistic)


EXPERIMENT = Experiment(
    name="tzikas2009-safety",
    paper="Tzikas, Likas & Galatsanos 2009",
    item="learnt kernels on new rows",
    protocol=(
        f"Random splits, {PART:.0%} of the rows for training, features standardised. Objectives "
        "that do not change when a column is rescaled let a kernel settle where there is no data, "
        "with a weight as large as its values are small, and errors on new rows are then without "
        "bound: the reference saw mean squared errors of 6e9 where the target's variance is "
        "26 000. No error may exceed that of predicting the mean of the training rows, 1."
    ),
    seed=2009_0500,
    repetitions=50,
    quick_repetitions=2,
    quantities=(
        *(_worst(name) for name in CASES),
        *(
            Quantity(f"{name}: mean error, as a part of that of the mean", f"{name}_loss")
            for name in CASES
        ),
        *ENDINGS,
    ),
    run=run,
    data=tuple(f"{name}.csv" for name in NAMES),
)
