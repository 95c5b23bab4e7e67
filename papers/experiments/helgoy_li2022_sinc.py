"""Helgøy & Li 2022: sin(x)/x at five levels of noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from papers.data import folds
from papers.evidence import BLS_PAPER, UNFINISHED, Fits, root_mean_square, rows
from papers.experiment import Experiment, generator

N, END = 100, 10.0
WIDTHS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
NOISES = (0.05, 0.1, 0.3, 0.5, 0.7)
FOLDS = 5
LABELS = {
    "rvm": "RVM",
    "flap": "Fast Laplace, noise fixed",
    "flap_noise": "Fast Laplace, noise estimated",
    "bls": "BLS",
}
_NAMES = {"terms": "kernels", "error": "RMSE", "noise": "noise"}
_PUBLISHED = {
    0.05: {
        "rvm": ("5.2", ".016", ".049"),
        "flap": ("6.5", ".015"),
        "flap_noise": ("12.3", ".017", ".047"),
        "bls": ("15.2", ".018", ".049"),
    },
    0.1: {
        "rvm": ("5.1", ".034", ".092"),
        "flap": ("7.6", ".029"),
        "flap_noise": ("19.0", ".039", ".079"),
        "bls": ("17.8", ".039", ".096"),
    },
    0.3: {
        "rvm": ("4.2", ".092", ".30"),
        "flap": ("8.8", ".088"),
        "flap_noise": ("5.4", ".096", ".25"),
        "bls": ("5.4", ".099", ".30"),
    },
    0.5: {
        "rvm": ("3.6", ".14", ".48"),
        "flap": ("9.5", ".15"),
        "flap_noise": ("3.5", ".14", ".40"),
        "bls": ("3.4", ".13", ".49"),
    },
    0.7: {
        "rvm": ("3.1", ".18", ".69"),
        "flap": ("9.5", ".21"),
        "flap_noise": ("2.7", ".16", ".56"),
        "bls": ("2.7", ".16", ".69"),
    },
}
_MEASURED = {
    0.05: {
        "rvm": (7.6, 0.016, 0.050),
        "flap": (9.9, 0.016),
        "flap_noise": (9.5, 0.015, 0.051),
        "bls": (10.2, 0.019, 0.056),
    },
    0.1: {
        "rvm": (6.4, 0.033, 0.095),
        "flap": (9.4, 0.029),
        "flap_noise": (10.0, 0.035, 0.094),
        "bls": (9.7, 0.037, 0.104),
    },
    0.3: {
        "rvm": (5.3, 0.099, 0.285),
        "flap": (13.0, 0.103),
        "flap_noise": (6.5, 0.099, 0.293),
        "bls": (6.0, 0.102, 0.308),
    },
    0.5: {
        "rvm": (4.7, 0.152, 0.476),
        "flap": (11.7, 0.150),
        "flap_noise": (4.3, 0.149, 0.491),
        "bls": (3.9, 0.148, 0.503),
    },
    0.7: {
        "rvm": (4.0, 0.221, 0.682),
        "flap": (11.8, 0.234),
        "flap_noise": (3.2, 0.201, 0.696),
        "bls": (3.0, 0.204, 0.703),
    },
}


def run(seed: int) -> dict[str, float]:
    """One sample for each level of noise; the width is chosen within it."""
    from fewer import BLS, RVR, FastLaplace

    rng = generator(seed)
    X = np.linspace(-END, END, N)[:, None]
    truth = np.sinc(X[:, 0] / np.pi)
    fits = Fits()
    for noise in NOISES:
        y = truth + noise * rng.standard_normal(N)
        settings: dict[str, Any] = {
            "basis": "rbf",
            "gamma": "cv",
            "gammas": np.square(WIDTHS),
            "cv": list(folds(rng, N, FOLDS)),
            "standardize": False,
            "fit_intercept": False,
        }
        models = {
            "rvm": RVR(**settings),
            "flap": FastLaplace(noise=0.1 * float(np.std(y)), **settings),
            "flap_noise": FastLaplace(**settings),
            "bls": BLS(**settings),
        }
        for method, model in models.items():
            deviation = model.fit(X, y).predict(X) - truth
            fits.add(f"{method}_{noise:g}", model, root_mean_square(deviation))
    return fits.values()


EXPERIMENT = Experiment(
    name="helgoy-li2022-sinc",
    paper=BLS_PAPER,
    item="table 1, sin(x)/x",
    protocol=(
        f"{N} evenly spaced points in [−{END:g}, {END:g}], Gaussian noise; kernels "
        "exp(−r²(x − x′)²) on all points, without intercept; r by 5-fold cross-validation over "
        f"{', '.join(f'{r:g}' for r in WIDTHS)}; root mean squared deviation from the truth at the "
        "points. The square in the kernel and the grid of r are inferred. Fast Laplace with fixed "
        "noise has σ² = .01 var(y), as its published code (the printed rule has other units). λ of "
        "Fast Laplace and BLS by the number of active kernels, 2(K − 1)/Σ: the rule printed in the "
        "paper leaves an empty model. The reference had 10 repetitions."
    ),
    seed=2022_0100,
    repetitions=100,
    quick_repetitions=2,
    quantities=(
        *(
            quantity
            for noise in NOISES
            for method, label in LABELS.items()
            for quantity in rows(
                f"{method}_{noise:g}",
                f"σ = {noise:g}, {label}",
                {k: v for k, v in _NAMES.items() if (method, k) != ("flap", "noise")},
                _PUBLISHED[noise][method],
                _MEASURED[noise][method],
                repetitions=10,
                noise=noise,
            )
        ),
        UNFINISHED,
    ),
    run=run,
    reading=(
        "Errors and noise are those of the reference and, mostly within a tenth, the published "
        "ones, for all methods and all levels of noise. The four methods differ by less than "
        "their scatter from sample to sample, except that a fixed noise that is too small costs "
        "accuracy at σ = .7. Not met are the published 15 to 19 kernels of BLS and Fast Laplace "
        "at low noise, and the published noise of Fast Laplace, a fifth below the truth: neither "
        "is what the stated model gives. So the paper's conclusion that BLS is the better for "
        "noisy data rests on σ = .7 alone, where its advantage over the RVM is .02, and .015 "
        "here. fewer often keeps a kernel or two less than the reference because it goes on to "
        "convergence."
    ),
)
