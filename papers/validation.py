"""The tables of Tzikas et al. 2009: kernels that are learnt, and those that are not, on folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from papers.data import Labels, Rows, folds, read, stratified_folds
from papers.experiment import Array, Published, Quantity, generator
from papers.tally import Tally, loss_and_terms

FOLDS = 10
PART = 0.8
PROTOCOL = (
    "features standardised; c of 1, log(N)/2 and log N by the error on a fifth of the training "
    "rows, the largest of those that do as well."
)
FIXED_PROTOCOL = (
    "Kernels of one width have c = log(N)/2 and γ by cross-validation, where the paper's RVM has "
    "c = 0 and keeps more terms."
)

Loss = Callable[[Any, Any], float]
# Error and number of terms of kernels that are learnt, and of those that are not.
Texts = Mapping[str, tuple[tuple[str, str], tuple[str, str]]]
Pair = tuple[float, float]
Numbers = Mapping[str, tuple[Pair | None, Pair | None]]


def tally_fold(
    tally: Tally,
    name: str,
    data: tuple[Array, Any],
    parts: tuple[Rows, Rows],
    learnt: Callable[..., Any],
    fixed: Any,
    loss: Loss,
    rng: np.random.Generator,
) -> None:
    """Fits of one fold: c by inner validation, c = log(N)/2, and kernels of one width, if any."""
    (X, y), (train, test) = data, parts
    X, y, new, truth = X[train], y[train], X[test], y[test]
    count = len(y)
    usual = 0.5 * np.log(count)
    models = {usual: learnt(sparsity=usual).fit(X, y)}
    chosen = _best_price((np.log(count), usual, 1.0), learnt, X, y, loss, rng)
    if chosen not in models:
        models[chosen] = learnt(sparsity=chosen).fit(X, y)
    arms = {"adaptive": models[chosen], "usual": models[usual]}
    if fixed is not None:
        arms["fixed"] = fixed.fit(X, y)
    for arm, model in arms.items():
        tally.add(f"{arm}_{name}", model, loss(model.predict(new), truth))


def fold_of(y: Labels, seed: int, first: int) -> tuple[Rows, Rows]:
    """The rows of a repetition for training and for testing: a fold of one partition."""
    return list(stratified_folds(generator(first), y, FOLDS))[(seed - first) % FOLDS]


def numbers_of(name: str) -> tuple[Array, Array]:
    """Features and target of a data set."""
    X, text = read(f"{name}.csv")
    return X, text.astype(np.float64)


def numbers_fold(y: Array, seed: int, first: int) -> tuple[Rows, Rows]:
    """The rows of a repetition for training and for testing: a fold of one partition."""
    return list(folds(generator(first), len(y), FOLDS))[(seed - first) % FOLDS]


def square(predicted: Array, truth: Array) -> float:
    """The mean square error."""
    return float(np.mean((predicted - truth) ** 2))


def wrong(predicted: Labels, truth: Labels) -> float:
    """The part of labels that are wrong."""
    return float(np.mean(predicted != truth))


def _best_price(
    prices: tuple[float, ...],
    learnt: Callable[..., Any],
    X: Array,
    y: Any,
    loss: Loss,
    rng: np.random.Generator,
) -> float:
    """The c that does best on a fifth of the rows; the first of equals."""
    train, held = np.split(rng.permutation(len(y)), [int(PART * len(y))])
    losses = [
        loss(learnt(sparsity=price).fit(X[train], y[train]).predict(X[held]), y[held])
        for price in prices
    ]
    return prices[int(np.argmin(losses))]


def table(
    learnt: str,
    fixed: str | None,
    loss: str,
    published: Texts,
    measured: Numbers,
    folds_measured: Mapping[str, int] | None = None,
) -> tuple[Quantity, ...]:
    """The numbers of ``tally_fold`` beside the published and the reference values."""
    arms = {"adaptive": (0, f"{learnt}, c by inner validation")}
    if fixed is not None:
        arms["fixed"] = (1, f"{fixed}, c = log(N)/2, γ by inner validation")
    arms["usual"] = (0, f"{learnt}, c = log(N)/2")
    found: list[Quantity] = []
    for name, texts in published.items():
        for arm, (k, label) in arms.items():
            error, terms = texts[k]
            found += loss_and_terms(
                f"{arm}_{name}",
                f"{name}, {label}",
                loss,
                "terms",
                (Published(error), Published(terms)),
                measured[name][k],
                (folds_measured or {}).get(name),
            )
    return tuple(found)
