"""Figueiredo 2003: with orthogonal columns the fit is a rule applied to each coefficient."""

from __future__ import annotations

import numpy as np

from papers.experiment import Array, Experiment, Published, Quantity, Reference, generator

N, D, NOISE, REACH = 100, 40, 1.0, 5.0


def rule(b: Array, noise: float) -> Array:
    """0 below 2 s, else the larger root of w² − b w + s² = 0."""
    root = np.sqrt(np.maximum(b**2 - 4 * noise**2, 0.0))
    return np.where(np.abs(b) < 2 * noise, 0.0, 0.5 * (b + np.sign(b) * root))


def run(seed: int) -> dict[str, float]:
    """One orthogonal design; the least-squares coefficients lie within five noise units."""
    from fewer import SparseRegressor

    rng = generator(seed)
    H = np.linalg.qr(rng.standard_normal((N, D)))[0]
    b = rng.uniform(-REACH * NOISE, REACH * NOISE, D)
    model = SparseRegressor(noise=NOISE, standardize=False, fit_intercept=False, tol=1e-12)
    coef = model.fit(H, H @ b).coef_
    expected = rule(b, NOISE)
    return {
        "deviation": float(np.max(np.abs(coef - expected))),
        "wrong_zeros": float(np.count_nonzero((coef == 0) != (expected == 0))),
    }


EXPERIMENT = Experiment(
    name="figueiredo2003-orthogonal-rule",
    paper="Figueiredo 2003",
    item="figure of the thresholding rule",
    protocol=(
        f"HᵀH = I ({N} rows, {D} columns; with more columns than half the rows fewer does not "
        "start from least squares), noise known and 1, y = Hb with b uniform in (−5, 5). The fit "
        "is compared with the closed form: 0 where |b| < 2, else (b + sgn(b)√(b² − 4))/2. "
        "Agreement to 1e-8 counts as the same curve."
    ),
    seed=2003_0300,
    repetitions=100,
    quick_repetitions=5,
    quantities=(
        Quantity(
            "largest deviation from the rule",
            "deviation",
            published=Published("0: the curves coincide"),
            reference=Reference(1e-12),
            tolerance=1e-8,
        ),
        Quantity(
            "zeros that differ from the rule",
            "wrong_zeros",
            published=Published("0"),
            reference=Reference(0.0),
        ),
    ),
    run=run,
)
