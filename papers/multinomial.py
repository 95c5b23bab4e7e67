"""Multinomial classifiers of Krishnapuram et al. 2005, settings chosen within the training rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from papers.data import Labels, Rows
from papers.experiment import Array, Published, Quantity, Reference
from papers.tally import ENDINGS, Tally, loss_and_terms

PAPER = "Krishnapuram et al. 2005"
INNER = 5
PENALTIES = 16
WIDTHS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

Part = tuple[Array, Labels]


@dataclass(frozen=True)
class Basis:
    """Functions of x, and the penalties to choose from: the largest and the smallest."""

    label: str
    settings: Mapping[str, Any]
    sparse: tuple[float, float]
    ridge: tuple[float, float]
    machine: bool = True  # that of the features is that of the linear kernel


RBF = Basis("Gaussian kernels", {"basis": "rbf", "fit_intercept": False}, (10, 1e-4), (10, 1e-4))
# Smaller penalties are never chosen where classes overlap, and take most of the time.
OVERLAPPING = replace(RBF, sparse=(10, 1e-2), ridge=(10, 1e-3))
LINEAR_KERNEL = Basis(
    "linear kernel", {"basis": "linear-kernel", "fit_intercept": False}, (1e5, 1e-1), (1e8, 1e0)
)
FEATURES = Basis("features", {}, (100, 1e-2), (1e5, 1e-1), machine=False)
GENES = Basis("genes", {}, (100, 1e-2), (1e6, 1e-2), machine=False)
RAW_GENES = Basis("unprocessed genes", {}, (100, 1e-2), (1e6, 1e-2))

PROTOCOL = (
    f"SMLR (L1 penalty) and RMLR (L2), the last class being the reference; λ, of {PENALTIES} "
    f"values, {{width}}is chosen by {INNER}-fold cross-validation of the deviance within the "
    "training rows, in folds that the seed draws: nested cross-validation. Numbers of weights are "
    "those that are not zero, of all classes, on average over the fits. Beside them a support "
    "vector machine (scikit-learn's SVC, C and the width chosen in the same way by its errors; one "
    "class against one), with its number of support vectors."
)


def add_fits(
    tally: Tally, machines: Machines, seed: int, parts: Iterable[Any], basis: Basis
) -> None:
    """Fit every part, (training rows, test rows); losses are errors of all parts together."""
    from sklearn.model_selection import StratifiedKFold

    from fewer import SMLR

    given = list(parts)
    settings = dict(basis.settings)
    if basis.label == RBF.label:
        settings |= {"gamma": "cv", "gammas": [0.5 / width**2 for width in WIDTHS]}
    for train, test in given:
        inner = StratifiedKFold(INNER, shuffle=True, random_state=seed)
        for name, l1_ratio, ends in (("smlr", 1.0, basis.sparse), ("rmlr", 0.0, basis.ridge)):
            model = SMLR(
                lam="cv",
                lams=np.geomspace(*ends, PENALTIES),
                l1_ratio=l1_ratio,
                cv=inner,
                **settings,
            ).fit(*train)
            tally.add(f"{name}_{_key(basis)}", model, len(given) * errors(model, test))
        if basis.machine:
            machines.add(_key(basis), basis, inner, train, test)


class Machines:
    """Support vector machines: errors of all parts together, mean number of vectors."""

    def __init__(self) -> None:
        self._errors: defaultdict[str, float] = defaultdict(float)
        self._vectors: defaultdict[str, list[int]] = defaultdict(list)

    def add(self, key: str, basis: Basis, inner: Any, train: Part, test: Part) -> None:
        """Choose, fit and count."""
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        from sklearn.svm import SVC

        grid: dict[str, Any] = {"svc__C": np.geomspace(1e-4, 1e3, 8)}
        if basis.label == RBF.label:
            grid["svc__gamma"] = [0.5 / width**2 for width in WIDTHS]
        kernel = "rbf" if basis.label == RBF.label else "linear"
        machine = make_pipeline(StandardScaler(), SVC(kernel=kernel))
        found = GridSearchCV(machine, grid, cv=inner).fit(*train)
        self._errors[key] += errors(found, test)
        self._vectors[key].append(len(found.best_estimator_[-1].support_))

    def values(self) -> dict[str, float]:
        """The numbers of the repetition."""
        counts = {f"svm_{key}_vectors": float(np.mean(v)) for key, v in self._vectors.items()}
        return {f"svm_{key}_loss": value for key, value in self._errors.items()} | counts


def run(
    seed: int, X: Array, y: Labels, parts: Iterable[tuple[Rows, Rows]], *bases: Basis
) -> dict[str, float]:
    """One repetition: errors of all the test rows together."""
    tally, machines = Tally(), Machines()
    rows = list(parts)
    for basis in bases:
        pairs = (((X[a], y[a]), (X[b], y[b])) for a, b in rows)
        add_fits(tally, machines, seed, pairs, basis)
    return tally.values() | machines.values()


def errors(model: Any, test: Part) -> float:
    """Test rows whose class is wrong."""
    return float(np.count_nonzero(model.predict(test[0]) != test[1]))


def _key(basis: Basis) -> str:
    return basis.label.replace(" ", "_").lower()


def quantities(
    basis: Basis,
    rows: int,
    published: Mapping[str, tuple[str, str]] | None = None,
    measured: Mapping[str, tuple[float, float | None]] | None = None,
    repetitions: int | None = None,
) -> tuple[Quantity, ...]:
    """Errors and counts of SMLR, RMLR and the support vector machine."""
    published, measured = published or {}, measured or {}
    found: list[Quantity] = []
    for name in ("smlr", "rmlr"):
        said = published.get(name)
        found += loss_and_terms(
            f"{name}_{_key(basis)}",
            f"{name.upper()}, {basis.label}",
            f"errors of {rows}",
            "weights",
            (Published(said[0]), Published(said[1])) if said else (None, None),
            measured.get(name),
            repetitions,
        )
    if not basis.machine:
        return tuple(found)
    said, known = published.get("svm"), measured.get("svm")
    found += [
        Quantity(
            f"SVM, {basis.label}: errors of {rows}",
            f"svm_{_key(basis)}_loss",
            published=Published(said[0]) if said else None,
            reference=Reference(known[0], repetitions) if known else None,
        ),
        Quantity(f"SVM, {basis.label}: support vectors", f"svm_{_key(basis)}_vectors"),
    ]
    return tuple(found)


def all_quantities(*groups: tuple[Quantity, ...]) -> tuple[Quantity, ...]:
    """Those of each basis, and how the fits ended."""
    return tuple(quantity for group in groups for quantity in group) + ENDINGS
