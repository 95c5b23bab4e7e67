"""Draws Figures 1 to 4 of Tzikas et al. 2009: ``python -m papers.figures``."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from papers.__main__ import RESULTS
from papers.doppler import N, estimators, fixed, points, truth
from papers.experiment import generator
from papers.experiments import tzikas2009_mixture as mixture
from papers.experiments import tzikas2009_snr as snr

NOISE, SEED = 0.1, 2009_0200
PRICE = 0.5 * np.log(N)
WIDTH = 2.0
TRUTH, FIT, POINTS = "0.6", "C3", "0.25"


def figure(width: float, height: float, columns: int = 1) -> Any:
    """A figure and its axes in a row."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(1, columns, sharey=columns > 1)


def kernels() -> Any:
    """Figure 1: Doppler with the first draw of the noise, kernels under the fit."""
    from fewer import plots

    X = points()
    y = truth(X) + NOISE * generator(SEED).standard_normal(N)
    model = estimators(PRICE)["adaptive"].fit(X, y)
    made, ax = figure(8, 4.5)
    plots.kernels(model, X, y, ax)
    ax.set_title(f"Doppler, {N} points: {model.n_terms_} kernels and their sum")
    return made


def fits() -> Any:
    """Figure 2: the same draw, fitted by kernels of one width, wavelets and learnt kernels."""
    X = points()
    y = truth(X) + NOISE * generator(SEED).standard_normal(N)
    fine = np.linspace(X[0], X[-1], 1000)
    known = estimators(PRICE)
    models = {
        f"RVR, h = {WIDTH:g} spacings": (fixed(WIDTH), "kernels"),
        "WaveletRVR sym8, c = log(N)/2": (known["wavelet"], "wavelets"),
        "AdaptiveRVR, c = log(N)/2": (known["adaptive"], "kernels"),
    }
    made, axes = figure(12, 3.6, len(models))
    for ax, (name, (model, terms)) in zip(axes, models.items(), strict=True):
        model.fit(X, y)
        error = np.mean((model.predict(X) - truth(X)) ** 2)
        ax.plot(X[:, 0], y, ".", color=POINTS, markersize=3, label="rows")
        ax.plot(fine[:, 0], truth(fine), color=TRUTH, label="function")
        ax.plot(fine[:, 0], model.predict(fine), color=FIT, label="fit")
        ax.set_title(f"{name}\n{model.n_terms_} {terms}, MSE {error:.4f}", fontsize="medium")
        ax.set_xlabel("x")
    axes[0].legend(loc="lower right", fontsize="small")
    return made


def errors() -> Any:
    """Figure 3: the error against the signal-to-noise ratio, of the numbers that are stored."""
    stored = json.loads((RESULTS / f"{snr.EXPERIMENT.name}.json").read_text(encoding="utf-8"))
    values = [record["values"] for record in stored["repetitions"]]
    ratios = sorted({int(key.split("_")[-2]) for key in values[0] if key.endswith("_loss")})
    made, ax = figure(7, 4.5)
    for k, (name, label) in enumerate(zip(snr.NAMES, snr.LABELS, strict=True)):
        losses = np.array([[v[f"{name}_{ratio}_loss"] for ratio in ratios] for v in values])
        error = losses.std(axis=0, ddof=1) / np.sqrt(len(losses))
        style = "--" if name.startswith("fixed") else "-"
        ax.errorbar(
            ratios, losses.mean(axis=0), error, fmt=f"{style}o", color=f"C{k}", ms=4, label=label
        )
    ax.set(yscale="log", xlabel="signal-to-noise ratio (dB)", ylabel="mean squared error")
    ax.set_xticks(ratios)
    ax.set_title(f"Doppler, {N} points, mean of {len(values)} draws of the noise ± one s.e.")
    ax.legend(fontsize="small")
    return made


def boundaries() -> Any:
    """Figure 4: where classes of the mixture meet, by kernels of one width and by learnt ones."""
    from fewer import RVC, AdaptiveRVC

    rng = generator(mixture.EXPERIMENT.seed)
    (X, y), (new, labels) = mixture.draw(rng, mixture.TRAIN), mixture.draw(rng, mixture.TEST)
    plain: dict[str, Any] = {"standardize": False, "fit_intercept": False}
    models: dict[str, Any] = {f"RVC, h = {h:g}": RVC(gamma=h**-2, **plain) for h in (0.2, 0.6)}
    models["AdaptiveRVC, c = log(N)/2"] = AdaptiveRVC(sparsity=mixture.PRICES["log(N)/2"], **plain)
    edge = np.abs(X).max() + 0.2
    grid = np.linspace(-edge, edge, 150)
    mesh = np.stack([m.ravel() for m in np.meshgrid(grid, grid)], axis=1)
    made, axes = figure(12, 4.7, len(models))
    for ax, (name, model) in zip(axes, models.items(), strict=True):
        model.fit(X, y)
        wrong = np.mean(model.predict(new) != labels)
        height = model.decision_function(mesh).reshape(len(grid), -1)
        for label, colour in zip(("a", "b"), ("C0", "C1"), strict=True):
            ax.plot(*X[y == label].T, ".", color=colour, markersize=5)
        ax.contour(grid, grid, height, levels=[0.0], colors="black", linewidths=1.5)
        learnt = isinstance(model, AdaptiveRVC)
        centres = model.centres_ if learnt else model.relevance_vectors_
        widths = model.widths_[:, 0] if learnt else np.full(len(centres), float(name[-3:]))
        for centre, width in zip(centres, widths, strict=True):
            turn = np.linspace(0, 2 * np.pi, 100)
            ax.plot(
                centre[0] + width * np.cos(turn), centre[1] + width * np.sin(turn), ":", color="0.5"
            )
        ax.set(xlim=(-edge, edge), ylim=(-edge, edge), aspect="equal")
        title = f"{name}\n{model.n_terms_} kernels, error {wrong:.3f} of new rows"
        ax.set_title(title, fontsize="medium")
    return made


FIGURES = {1: kernels, 2: fits, 3: errors, 4: boundaries}


def main() -> None:
    """All of them."""
    for number, draw in FIGURES.items():
        file = RESULTS / f"tzikas2009-figure{number}.png"
        draw().savefig(file, dpi=80 if number > 1 else 90)
        print(file)


if __name__ == "__main__":
    main()
