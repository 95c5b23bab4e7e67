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
from fewer._base import Estimator, SeparableWarning


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
    settings: dict[str, Any],
    problem: _core.Problem,
    lams: ArrayLike | None,
    n_lams: int,
) -> dict[str, Any]:
    """Fit an estimator for many λ, each fit starting from the one before.

    Returns the fields of a :class:`Path`; `coefs` and `intercepts` have the λ first, then the
    outputs.
    """
    if lams is None:
        if not isinstance(n_lams, int | np.integer) or n_lams < 1:
            raise ValueError(f"n_lams = {n_lams!r}: a whole number of at least 1 is expected")
        quiet: _core.Problem = {**problem, "progress": None}
        values = _core.path_lams(estimator._method, json.dumps(settings), quiet, int(n_lams))
    else:
        values = np.array(_select.numbers_of("lams", lams))
        if not len(values):
            raise ValueError("lams: at least one value is expected")
    found = _core.fit_path(estimator._method, json.dumps(settings), problem, values)
    # More steps do not bring fits to an end that have none.
    endless = found["separable"]
    converged = found["converged"] | (endless & (found["lams"] == 0))
    if endless.any():
        warnings.warn(
            f"{np.count_nonzero(endless)} of {len(endless)} fits of the path (the first has "
            f"λ = {found['lams'][endless][0]:.4g}): {found['separable_notes']}",
            SeparableWarning,
            stacklevel=3,
        )
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
