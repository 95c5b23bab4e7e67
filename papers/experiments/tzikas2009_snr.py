"""Tzikas et al. 2009: Figure 3, the error against the signal-to-noise ratio."""

from __future__ import annotations

import numpy as np

from papers.doppler import N, estimators, fixed, points, truth
from papers.experiment import Experiment, Quantity, Reference, generator
from papers.tally import ENDINGS, Tally

WIDTHS = (1.5, 2.0, 4.0)
# By ratio in dB, of an independent implementation: RVM of each width, wavelets, adaptive kernels.
_MEASURED = {
    0: (0.0388, 0.0314, 0.0262, 0.0336, 0.0259),
    5: (0.0174, 0.0153, 0.0139, 0.0195, 0.0115),
    10: (0.0070, 0.0076, 0.0098, 0.0051, 0.0055),
    15: (0.0023, 0.0043, 0.0085, 0.0026, 0.0017),
    20: (0.0008, 0.0030, 0.0074, 0.0008, 0.0007),
}
NAMES = (*(f"fixed_{w:g}" for w in WIDTHS), "wavelet", "paper", "adaptive")
LABELS = (
    *(f"RVR, h = {w:g} spacings" for w in WIDTHS),
    "WaveletRVR sym8",
    "AdaptiveRVR, paper's variant",
    "AdaptiveRVR",
)


def run(seed: int) -> dict[str, float]:
    """One draw of the noise, at each ratio."""
    X = points()
    clean = truth(X)
    noise = generator(seed).standard_normal(N)
    tally = Tally()
    for ratio in _MEASURED:
        y = clean + np.sqrt(np.var(clean) / 10 ** (ratio / 10)) * noise
        found = {f"fixed_{w:g}": fixed(w) for w in WIDTHS} | estimators(0.5 * np.log(N))
        for name in NAMES:
            model = found[name].fit(X, y)
            tally.add(f"{name}_{ratio}", model, float(np.mean((model.predict(X) - clean) ** 2)))
    return tally.values()


def _quantity(ratio: int, k: int) -> Quantity:
    measured = _MEASURED[ratio]
    return Quantity(
        name=f"{ratio} dB, {LABELS[k]}: MSE",
        statistic=f"{NAMES[k]}_{ratio}_loss",
        reference=Reference(measured[k], repetitions=3) if k < len(measured) else None,
    )


EXPERIMENT = Experiment(
    name="tzikas2009-snr",
    paper="Tzikas, Likas & Galatsanos 2009",
    item="Figure 3: the error against the signal-to-noise ratio",
    protocol=(
        f"Doppler at {N} points, the noise such that 10 log10(var g/σ²) is the ratio; c = log(N)/2 "
        "for wavelets and adaptive kernels, no intercept. The figure has no numbers; the reference "
        "has three draws."
    ),
    seed=2009_0300,
    repetitions=10,
    quick_repetitions=2,
    quantities=(
        *(_quantity(ratio, k) for ratio in _MEASURED for k in range(len(NAMES))),
        *ENDINGS,
    ),
    run=run,
)
