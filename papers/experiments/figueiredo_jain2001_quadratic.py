"""Figueiredo & Jain 2001: quadratic classifiers when most coordinates are noise."""

from __future__ import annotations

import numpy as np

from papers.experiment import Experiment, generator
from papers.tally import Tally
from papers.two_gaussians import ARMS, NOTE, quantities, sample

DIMENSIONS = (2, 4, 6, 8, 10)
PER_CLASS, TEST_PER_CLASS = 100, 10_000


def run(seed: int) -> dict[str, float]:
    """One training and one test set for each dimension."""
    from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

    from fewer import ProbitClassifier

    rng = generator(seed)
    tally = Tally()
    plug_in: dict[str, float] = {}
    for d in DIMENSIONS:
        X, y = sample(rng, d, PER_CLASS)
        X_test, y_test = sample(rng, d, TEST_PER_CLASS)
        for arm, settings in ARMS.items():
            model = ProbitClassifier(
                basis="polynomial", degree=2, standardize=False, **settings
            ).fit(X, y)
            tally.add(f"{arm}_{d}", model, float(np.mean(model.predict(X_test) != y_test)))
        rule = QuadraticDiscriminantAnalysis().fit(X, y)
        plug_in[f"plug_in_{d}"] = float(np.mean(rule.predict(X_test) != y_test))
    return tally.values() | plug_in


EXPERIMENT = Experiment(
    name="figueiredo-jain2001-quadratic",
    paper="Figueiredo & Jain 2001",
    item="figure of the error against d, quadratic classifiers",
    protocol=(
        f"The two classes of figueiredo-jain2001-linear, {PER_CLASS} training rows of each, d = 2 "
        "to 10, and all products of coordinates up to degree 2: the best rule is still linear in "
        f"two of them, with an error of .1587. Columns as given; errors on {TEST_PER_CLASS} new "
        f"rows of each class. {NOTE} The plug-in rule estimates means and both covariances "
        "(quadratic discriminant analysis). The reference gives ranges over d, .158 to .162, "
        "plug-in .162 to .196: the upper end is held against ours."
    ),
    seed=2001_0400,
    repetitions=100,
    quick_repetitions=2,
    quantities=quantities(DIMENSIONS, worst_error=0.162, plug_in=(0.162, 0.196), most=None),
    run=run,
    reading=(
        "The paper's claim holds from either start: products that say nothing cost .004 to .007 of "
        "error over the Bayes rule at d = 10, where the plug-in rule loses .038. The reference's "
        "largest error, .162, is met from 0/1 labels, the paper's start; from ±1, fewer's own, the "
        "error at d = 10 is .003 higher, which 100 repetitions show to be real. It is no fault of "
        "the solver: a plain NumPy EM run to convergence has .1655 from ±1 and .1629 from 0/1 (and "
        "with squares but no mixed products .1620 and .1612). 0/1 starts from smaller weights and "
        "ends sparser, which suits a truth of two terms; on Pima and WBC ±1 is the better start. "
        'Who knows that nearly all terms are noise should take variant="paper".'
    ),
    needs=("fewer", "sklearn"),
)
