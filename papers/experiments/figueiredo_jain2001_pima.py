"""Figueiredo & Jain 2001: diabetes in Pima women."""

from __future__ import annotations

import functools

import numpy as np

from papers.data import read
from papers.experiment import Experiment, Published, Quantity, Reference, generator
from papers.kernel_probit import LABELS, NOTE, RELEVANCE, Part, add_fits, errors, quantities
from papers.tally import Tally, loss_and_terms

WIDTH = 4.0
_MEASURED = {"plus_minus": (69.0, 4.0), "paper": (76.0, 5.0)}


def part(train: Part, test: Part) -> dict[str, float]:
    """Errors on the test rows, beside those of logistic regression."""
    from sklearn.linear_model import LogisticRegression

    tally = Tally()
    add_fits(tally, train, test, width=WIDTH, standardize=True)
    mean, deviation = train[0].mean(axis=0), train[0].std(axis=0)
    # The penalty is as good as none.
    logistic = LogisticRegression(C=1e6, max_iter=10_000)
    logistic.fit((train[0] - mean) / deviation, train[1])
    scaled = (test[0] - mean) / deviation, test[1]
    return tally.values() | {"logistic": errors(logistic, scaled)}


@functools.cache
def given() -> dict[str, float]:
    """Ripley's split."""
    return part(read("pima.train.csv"), read("pima.test.csv"))


def run(seed: int) -> dict[str, float]:
    """Ripley's split, the same in every repetition, and a random one of the same sizes."""
    train, test = read("pima.train.csv"), read("pima.test.csv")
    X, y = (np.concatenate(pair) for pair in zip(train, test, strict=True))
    order = generator(seed).permutation(len(y))
    inner, outer = order[: len(train[1])], order[len(train[1]) :]
    random = part((X[inner], y[inner]), (X[outer], y[outer]))
    fixed = given()
    return fixed | {
        "not_converged": fixed["not_converged"] + random.pop("not_converged"),
        "certificate": max(fixed["certificate"], random.pop("certificate")),
        **{f"random_{name}": value for name, value in random.items()},
    }


EXPERIMENT = Experiment(
    name="figueiredo-jain2001-pima",
    paper="Figueiredo & Jain 2001",
    item="table of test errors, Pima",
    protocol=(
        "Ripley's split into 200 rows for training and 332 for the errors, 7 features (the paper "
        "says 8; but logistic regression errs on 66 of the 332, as it quotes). Gaussian kernels of "
        f"width h = {WIDTH:g} on standardised inputs. {NOTE} There is one such split and nothing "
        "random in a fit, so that standard errors are 0; repetitions draw random splits of the "
        "same 532 rows into 200 and 332, to see what a split is worth. fewer's ridge at the ±1 "
        "start is 1e-6 of the mean square of a column, the reference's is 1e-6 itself: with "
        "fewer's, a plain NumPy EM also ends with 69 errors and 5 kernels, with the reference's "
        "with 69 and 4. **What to conclude.** The published 61 errors are not reached at the "
        "paper's settings, neither here nor by the reference, which tried 100 settings (64 at "
        "best, 73 in the median). A change of the start by a part in a thousand moves the "
        "reference between 65 and 76, and the random splits scatter as widely: 61, 66 and 69 "
        "errors are no ranking of methods. On random splits four or five kernels err on about four "
        "of 332 rows more than logistic regression on all features."
    ),
    seed=2001_0500,
    repetitions=30,
    quick_repetitions=2,
    quantities=(
        *quantities(
            "errors of 332",
            (Published("61"), Published("6")),
            _MEASURED,
            relevance=(Published("65", recalled=True), Published("4", recalled=True)),
        ),
        Quantity(
            "logistic regression: errors of 332",
            "logistic",
            published=Published("66"),
            reference=Reference(66.0),
        ),
        *(
            quantity
            for arm, label in (*LABELS.items(), (RELEVANCE, "RVM"))
            for quantity in loss_and_terms(
                f"random_{arm}", f"random splits, {label}", "errors of 332", "kernels"
            )
        ),
        Quantity("random splits, logistic regression: errors of 332", "random_logistic"),
    ),
    run=run,
    needs=("fewer", "sklearn"),
    data=("pima.train.csv", "pima.test.csv"),
)
