"""Figueiredo & Jain 2001: forensic glass, one class against the rest."""

from __future__ import annotations

from papers.data import folds, read
from papers.experiment import Experiment, Published, Quantity, generator
from papers.kernel_probit import NOTE, add_fits, errors, quantities
from papers.tally import Tally

FOLDS, WIDTH = 10, 4.0


def run(seed: int) -> dict[str, float]:
    """One cross-validation; errors in % of all rows."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC

    X, y = read("fgl.csv")
    tally = Tally()
    machine_errors = 0.0
    for inner, outer in folds(generator(seed), len(y), FOLDS):
        train, test = (X[inner], y[inner]), (X[outer], y[outer])
        # The mean over the folds is then the error in % of all rows.
        unit = len(y) / (100 * FOLDS)
        add_fits(tally, train, test, width=WIDTH, standardize=True, unit=unit)
        machine = make_pipeline(StandardScaler(), SVC(gamma=0.5 / WIDTH**2)).fit(*train)
        machine_errors += errors(machine, test)
    return tally.values() | {"machine": 100 * machine_errors / len(y)}


EXPERIMENT = Experiment(
    name="figueiredo-jain2001-glass",
    paper="Figueiredo & Jain 2001",
    item="table of test errors, forensic glass",
    protocol=(
        f"214 rows, 9 features, 6 classes; {FOLDS}-fold cross-validation, one class against the "
        f"rest. Gaussian kernels of width h = {WIDTH:g} on standardised inputs; kernels are those "
        f"of any class. {NOTE} A repetition is one random division into folds; the reference had "
        "three (0/1 start: 31.3, 28.5, 34.6 %). Beside it a support vector machine with the same "
        "kernel and C = 1. **What to conclude.** The published 21.5 % is not reproduced, neither "
        "here nor by the reference, whose best of 18 runs over widths and starts had 24.3 % (at h "
        "= 1). At h = 4 a third of the glass is told wrong; narrower kernels do better."
    ),
    seed=2001_0700,
    repetitions=3,
    quick_repetitions=2,
    quantities=(
        *quantities(
            "errors in %",
            (Published("21.5 %"), None),
            {"paper": (31.5, None)},
            repetitions=3,
        ),
        Quantity("support vector machine: errors in %", "machine"),
    ),
    run=run,
    needs=("fewer", "sklearn"),
    data=("fgl.csv",),
)
