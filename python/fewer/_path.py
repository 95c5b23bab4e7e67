"""Fits for many λ."""

from __future__ import annotations

import dataclasses
import json
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import ConvergenceWarning

from fewer import _core, _select
from fewer._base import Estimator


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Path:
    """Fits for many λ; what `coefs` and `intercepts` look like is for a subclass to say."""

    lams: NDArray[np.float64]
    coefs: NDArray[np.float64]
    intercepts: NDArray[np.float64]
    n_terms: NDArray[np.intp]
    gaps: NDArray[np.float64]
    names: dict[int, str]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self.lams)} λ from {self.lams.max():.4g} to "
            f"{self.lams.min():.4g}, at most {self.n_terms.max()} of {self.coefs.shape[-1]} terms)"
        )


def fit_path(
    estimator: Estimator,
    X: Any,
    y: Any,
    lams: ArrayLike | None,
    n_lams: int,
    sample_weight: Any,
) -> dict[str, Any]:
    """Fit an estimator for many λ, each fit starting from the one before.

    Returns the fields of a :class:`Path`; `coefs` and `intercepts` have the λ first, then the
    outputs.
    """
    settings, problem = estimator._problem(X, y, sample_weight)
    if lams is None:
        values = _spaced(estimator._method, settings, problem, n_lams)
    else:
        values = np.array(_select.numbers_of("lams", lams))
        if not len(values):
            raise ValueError("lams: at least one value is expected")
    found = _core.fit_path(estimator._method, json.dumps(settings), problem, values)
    converged = found["converged"]
    if not converged.all():
        warnings.warn(
            f"{np.count_nonzero(~converged)} of {len(converged)} fits of the path have not "
            f"converged: raise max_iter or max_time, or tol (their gaps are up to "
            f"{found['gaps'][~converged].max():.1e})",
            ConvergenceWarning,
            stacklevel=3,
        )
    fields = {name: found[name] for name in ("lams", "coefs", "intercepts", "gaps", "names")}
    return {**fields, "n_terms": found["n_terms"].astype(np.intp)}


def _spaced(
    method: str, settings: dict[str, Any], problem: _core.Problem, count: int
) -> NDArray[np.float64]:
    """Return the values of λ that a search would try."""
    if not isinstance(count, int | np.integer) or count < 1:
        raise ValueError(f"n_lams = {count!r}: a whole number of at least 1 is expected")
    # λ_max is known before the first iteration.
    changed = settings | {"lam_ratio": 1.0, "max_iter": 1}
    model = _core.fit(method, json.dumps(changed), {**problem, "progress": None})
    largest = model.lam
    if not largest:  # no column has anything to say
        return np.zeros(1)
    weights, target = problem["sample_weight"], problem["y"]
    rows = len(target[0] if isinstance(target, tuple) else target)
    if weights is not None:
        rows = int(np.count_nonzero(weights))
    ratio = 1e-3 if rows >= model.basis_size else 1e-2
    return np.geomspace(largest, largest * ratio, count)
