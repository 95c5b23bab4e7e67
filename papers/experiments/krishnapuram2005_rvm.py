"""Krishnapuram et al. 2005: the column of the relevance vector machine."""

from __future__ import annotations

from typing import Any

from papers.experiment import Experiment
from papers.experiments import (
    krishnapuram2005_colon,
    krishnapuram2005_crabs,
    krishnapuram2005_glass,
    krishnapuram2005_golub,
    krishnapuram2005_iris,
    krishnapuram2005_yeast,
)
from papers.multinomial import INNER, PAPER, WIDTHS, errors
from papers.tally import ENDINGS, Tally, loss_and_terms

# By data set: the experiment whose parts it has, its number of test rows, the bases.
DATA: dict[str, tuple[Any, int, tuple[str, ...]]] = {
    "crabs": (krishnapuram2005_crabs, 120, ("rbf",)),
    "iris": (krishnapuram2005_iris, 150, ("rbf",)),
    "glass": (krishnapuram2005_glass, 214, ("rbf",)),
    "golub": (krishnapuram2005_golub, 34, ("linear-kernel", "linear")),
    "colon": (krishnapuram2005_colon, 62, ("linear-kernel", "linear")),
    "yeast": (krishnapuram2005_yeast, 186, ("linear-kernel", "linear")),
}
LABELS = {"rbf": "Gaussian kernels", "linear-kernel": "linear kernel", "linear": "features"}


def run(seed: int) -> dict[str, float]:
    """One repetition on each data set, in the parts that its own experiment has."""
    from sklearn.model_selection import StratifiedKFold

    from fewer import RVC

    tally = Tally()
    for name, (module, _, bases) in DATA.items():
        own = module.EXPERIMENT.seed + seed - EXPERIMENT.seed
        X, y, parts = module.divided(own)
        for basis in bases:
            settings: dict[str, Any] = {"basis": basis}
            if basis == "rbf":
                settings |= {"gamma": "cv", "gammas": [0.5 / width**2 for width in WIDTHS]}
                settings["cv"] = StratifiedKFold(INNER, shuffle=True, random_state=own)
            for train, test in parts:
                model = RVC(**settings).fit(X[train], y[train])
                wrong = errors(model, (X[test], y[test]))
                tally.add(f"{basis}_{name}", model, len(parts) * wrong, model.n_terms_)
    return tally.values()


EXPERIMENT = Experiment(
    name="krishnapuram2005-rvm",
    paper=PAPER,
    item="table 2, relevance vector machine",
    protocol=(
        "RVC, one class against the rest, on the data, the preparation and the divisions of the "
        "experiments on SMLR and RMLR: crabs, iris and forensic glass with Gaussian kernels, of "
        f"which {INNER}-fold cross-validation of the deviance chooses the width; golub, colon and "
        "yeast with linear kernels and with the features themselves. Terms are functions with a "
        "weight in any class, on average over the fits. Nothing random is left for golub, so that "
        "its standard errors are 0."
    ),
    seed=2005_0700,
    repetitions=5,
    quick_repetitions=2,
    quantities=(
        *(
            quantity
            for name, (_, rows, bases) in DATA.items()
            for basis in bases
            for quantity in loss_and_terms(
                f"{basis}_{name}", f"{name}, {LABELS[basis]}", f"errors of {rows}", "terms"
            )
        ),
        *ENDINGS,
    ),
    run=run,
    needs=("fewer", "sklearn"),
    data=tuple(dict.fromkeys(file for part in DATA.values() for file in part[0].EXPERIMENT.data)),
)
