"""Figueiredo & Jain 2001: the sex of crabs."""

from __future__ import annotations

import numpy as np

from papers.data import read, split
from papers.experiment import Experiment, Published, Quantity, Reference, generator
from papers.kernel_probit import MAX_ITER, NOTE, add_fits, errors, quantities
from papers.tally import Tally, loss_and_terms

PER_GROUP, GROUP, WIDTH = 20, 50, 4.0


def run(seed: int) -> dict[str, float]:
    """One split; errors on the 120 rows left."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    from fewer import ProbitClassifier

    X, y = read("crabs.csv")
    # Fifty rows in turn of each colour and sex.
    inner, outer = split(generator(seed), np.arange(len(y)) // GROUP, PER_GROUP)
    train, test = (X[inner], y[inner]), (X[outer], y[outer])
    tally = Tally()
    add_fits(tally, train, test, width=WIDTH, standardize=True)
    linear = ProbitClassifier(fit_intercept="penalised", max_iter=MAX_ITER).fit(*train)
    tally.add("linear", linear, errors(linear, test))
    discriminant = LinearDiscriminantAnalysis().fit(*train)
    return tally.values() | {"discriminant": errors(discriminant, test)}


EXPERIMENT = Experiment(
    name="figueiredo-jain2001-crabs",
    paper="Figueiredo & Jain 2001",
    item="table of test errors, crabs",
    protocol=(
        "200 rows, 5 features; the paper's split into 80 and 120 rows is not documented, so that "
        "20 rows of each colour and sex are drawn at random for training. Gaussian kernels of "
        f"width h = {WIDTH:g} on standardised inputs. {NOTE} Beside it: the linear basis with the "
        "same prior, and linear discriminant analysis. Which start the reference had is not said. "
        "**What to conclude.** The published 0 errors are not reproduced, neither here nor by the "
        "reference. The paper's split is easier (linear discriminant analysis is quoted with 3 "
        "errors and makes more on random ones), but that does not explain 0. Kernels of this width "
        "bring nothing over a few linear features, which suffice on these data."
    ),
    seed=2001_0600,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *quantities(
            "errors of 120",
            (Published("0"), Published("5")),
            {"plus_minus": (7.5, 3.7), "paper": (7.5, 3.7)},
            repetitions=30,
        ),
        *loss_and_terms(
            "linear",
            "linear basis",
            "errors of 120",
            "features",
            measured=(5.4, None),
            repetitions=30,
        ),
        Quantity(
            "linear discriminant analysis: errors of 120",
            "discriminant",
            published=Published("3"),
            reference=Reference(5.3, 30),
        ),
    ),
    run=run,
    needs=("fewer", "sklearn"),
    data=("crabs.csv",),
)
