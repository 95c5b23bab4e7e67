"""Kernel classifiers of Figueiredo & Jain 2001, in three settings, and an RVM beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from papers.data import Labels
from papers.experiment import Array, Published, Quantity
from papers.tally import ENDINGS, Tally, loss_and_terms

# The default is now and then too few for classes that are almost apart.
MAX_ITER = 100_000

# The intercept has the prior too, as in the paper, unless it is free.
ARMS: dict[str, dict[str, Any]] = {
    "plus_minus": {"fit_intercept": "penalised"},
    "paper": {"fit_intercept": "penalised", "variant": "paper"},
    "default": {},
}
LABELS = {
    "plus_minus": "±1 start",
    "paper": "paper's variant (0/1 start)",
    "default": "±1 start, free intercept",
}
RELEVANCE = "relevance"
NOTE = (
    "Three settings: start from labels ±1, run to convergence; the paper's variant, which starts "
    "from 0/1 and stops at a change of 1e-3 (its weights below 1e-4 of the largest are not "
    "counted; the reference ran the same start to convergence); and fewer's default, in which the "
    "intercept is free where the paper puts the prior on it. Beside them a relevance vector "
    "machine (RVC) on the same kernels."
)

Part = tuple[Array, Labels]


def add_fits(
    tally: Tally, train: Part, test: Part, *, width: float, standardize: bool, unit: float = 1.0
) -> None:
    """Fit exp(−‖x − c‖²/2h²) on all training rows in each setting; the loss is errors / unit."""
    from fewer import RVC, ProbitClassifier

    kernels: dict[str, Any] = {"gamma": 0.5 / width**2, "standardize": standardize}
    models: dict[str, Any] = {
        arm: ProbitClassifier(basis="rbf", max_iter=MAX_ITER, **kernels, **settings)
        for arm, settings in ARMS.items()
    }
    for arm, model in models.items():
        model.fit(*train)
        tally.add(arm, model, errors(model, test) / unit)
    relevance = RVC(**kernels).fit(*train)
    tally.add(RELEVANCE, relevance, errors(relevance, test) / unit, relevance.n_terms_)


def errors(model: Any, test: Part) -> float:
    """Test rows whose class is wrong."""
    return float(np.count_nonzero(model.predict(test[0]) != test[1]))


def quantities(
    loss: str,
    published: tuple[Published | None, Published | None],
    measured: Mapping[str, tuple[float, float | None]],
    repetitions: int | None = None,
    relevance: tuple[Published | None, Published | None] = (None, None),
) -> tuple[Quantity, ...]:
    """Errors and kernels of each setting, beside the published and what the reference measured.

    ``relevance`` is what was published of the relevance vector machine.
    """
    arms = [
        loss_and_terms(arm, label, loss, "kernels", published, measured.get(arm), repetitions)
        for arm, label in LABELS.items()
    ]
    arms.append(loss_and_terms(RELEVANCE, "RVM", loss, "kernels", relevance))
    return tuple(quantity for arm in arms for quantity in arm) + ENDINGS
