"""Helgøy & Li 2022: the bumps of Donoho and Johnstone."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.evidence import BLS_PAPER, UNFINISHED, Fits, root_mean_square, rows
from papers.experiment import Array, Experiment, generator
from papers.experiments.helgoy_li2022_sinc import LABELS

N = 120
RATIOS = (10, 5, 3, 1)
# Donoho & Johnstone 1994, table 1: where the bumps are, how high and how wide.
_PLACES = (0.1, 0.13, 0.15, 0.23, 0.25, 0.40, 0.44, 0.65, 0.76, 0.78, 0.81)
_HEIGHTS = (4, 5, 3, 4, 5, 4.2, 2.1, 4.3, 3.1, 5.1, 4.2)
_WIDTHS = (0.005, 0.005, 0.006, 0.01, 0.01, 0.03, 0.01, 0.01, 0.005, 0.008, 0.005)
_NAMES = {"terms": "kernels", "error": "RMSE", "noise": "noise"}
_PUBLISHED = {
    10: {
        "rvm": ("50", ".248", ".256"),
        "flap": ("91", ".279"),
        "flap_noise": ("43", ".257", ".277"),
        "bls": ("62.5", ".217", ".192"),
    },
    5: {
        "rvm": ("48.5", ".338", ".348"),
        "flap": ("89", ".411"),
        "flap_noise": ("34", ".324", ".411"),
        "bls": ("51", ".290", ".303"),
    },
    3: {
        "rvm": ("41", ".425", ".487"),
        "flap": ("90", ".536"),
        "flap_noise": ("32", ".375", ".516"),
        "bls": ("39", ".340", ".444"),
    },
    1: {
        "rvm": ("33", ".691", ".869"),
        "flap": ("85", ".926"),
        "flap_noise": ("24", ".515", ".904"),
        "bls": ("16", ".472", ".967"),
    },
}
_MEASURED = {
    10: {
        "rvm": (75, 0.267, 0.139),
        "flap": (82, 0.271),
        "flap_noise": (33, 0.291, 0.35),
        "bls": (18, 0.388, 0.555),
    },
    5: {
        "rvm": (67, 0.393, 0.243),
        "flap": (95, 0.424),
        "flap_noise": (21, 0.422, 0.56),
        "bls": (17, 0.439, 0.68),
    },
    3: {
        "rvm": (60, 0.457, 0.332),
        "flap": (100, 0.511),
        "flap_noise": (19, 0.457, 0.64),
        "bls": (15, 0.482, 0.77),
    },
    1: {
        "rvm": (73, 0.88, 0.417),
        "flap": (104, 0.948),
        "flap_noise": (15, 0.601, 1.03),
        "bls": (10, 0.622, 1.16),
    },
}


def bumps(x: Array) -> Array:
    """The signal, scaled to unit variance."""
    shape = zip(_PLACES, _HEIGHTS, _WIDTHS, strict=True)
    f = sum(height * (1 + np.abs((x - place) / width)) ** -4.0 for place, height, width in shape)
    return np.asarray(f / np.std(f))


def run(seed: int) -> dict[str, float]:
    """One sample for each ratio of signal to noise."""
    from fewer import BLS, RVR, FastLaplace

    rng = generator(seed)
    X = np.arange(1, N + 1)[:, None] / N
    truth = bumps(X[:, 0])
    settings: dict[str, Any] = {
        "basis": "rbf",
        "gamma": float(N**2),
        "standardize": False,
        "fit_intercept": False,
    }
    fits = Fits()
    for ratio in RATIOS:
        y = truth + rng.standard_normal(N) / np.sqrt(ratio)
        models = {
            "rvm": RVR(**settings),
            "flap": FastLaplace(noise=0.1 * float(np.std(y)), **settings),
            "flap_noise": FastLaplace(**settings),
            "bls": BLS(**settings),
        }
        for method, model in models.items():
            deviation = model.fit(X, y).predict(X) - truth
            fits.add(f"{method}_{ratio}", model, root_mean_square(deviation))
    return fits.values()


EXPERIMENT = Experiment(
    name="helgoy-li2022-bump",
    paper=BLS_PAPER,
    item="table 2, Bump",
    protocol=(
        f"The bumps of Donoho and Johnstone at x = i/{N}, scaled to unit variance, noise of "
        "variance 1/SNR; kernels exp(−r²(x − x′)²) on all points with r = 120, one spacing, for "
        "all methods, without intercept; root mean squared deviation from the truth at the points. "
        "Number of points, r and the scale of the noise are inferred: the reference's. λ and the "
        "fixed noise as in helgoy-li2022-sinc. The reference had 5 repetitions."
    ),
    seed=2022_0200,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *(
            quantity
            for ratio in RATIOS
            for method, label in LABELS.items()
            for quantity in rows(
                f"{method}_{ratio}",
                f"SNR {ratio}, {label}",
                {k: v for k, v in _NAMES.items() if (method, k) != ("flap", "noise")},
                _PUBLISHED[ratio][method],
                _MEASURED[ratio][method],
                repetitions=5,
                noise=float(ratio) ** -0.5,
            )
        ),
        UNFINISHED,
    ),
    run=run,
    reading=(
        "The published advantage of BLS is not what its model gives. With λ by the active count "
        "BLS keeps a quarter of the published kernels, takes small bumps for noise, and has twice "
        "the published error at SNR 10, as the reference has; the reference came near to the "
        "published row only by leaving σ⁻² out of the threshold, which is another model and "
        "depends on the units of y. Over all methods the order depends on the noise: BLS is worst "
        "at SNR 10 and among the best at SNR 1. The RVM's evidence has a maximum near "
        "interpolation for so narrow a kernel: in about every second sample fewer ends there, with "
        "nearly all 120 kernels and almost no noise. It is the higher maximum (of 20 samples at "
        "SNR 3, fewer's log evidence is above fastrvm's in 19 and equal in one, by 5 on average), "
        "and the worse error, .52 where fastrvm has .49: evidence does not protect from a basis "
        "as rich as the data. That is why our RVM keeps more kernels than the reference's."
    ),
)
