"""Draws Figure 1 of Tzikas et al. 2009, kernels under a fit: ``python -m papers.figures``."""

from __future__ import annotations

import numpy as np

from papers.__main__ import RESULTS
from papers.doppler import N, points, truth
from papers.experiment import generator

NOISE, SEED = 0.1, 2009_0200
FILE = RESULTS / "tzikas2009-figure1.png"


def main() -> None:
    """The Doppler function of Figure 2 with its first draw of the noise, c = log(N)/2."""
    from matplotlib.figure import Figure

    from fewer import AdaptiveRVR, plots

    X = points()
    y = truth(X) + NOISE * generator(SEED).standard_normal(N)
    model = AdaptiveRVR(sparsity=0.5 * np.log(N), fit_intercept=False).fit(X, y)
    ax = plots.kernels(model, X, y, Figure(figsize=(8, 4.5), layout="constrained").subplots())
    ax.set_title(f"Doppler, {N} points: {model.n_terms_} kernels and their sum")
    ax.figure.savefig(FILE, dpi=90)
    print(FILE)


if __name__ == "__main__":
    main()
