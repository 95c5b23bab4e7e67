"""Tzikas et al. 2009: Figure 4, a mixture whose clusters differ in size."""

from __future__ import annotations

import numpy as np

from papers.data import Labels
from papers.experiment import Array, Experiment, Published, Quantity, generator
from papers.tally import ENDINGS, Tally, loss_and_terms

PLACE, NARROW, BROAD = 0.5, 0.2, 0.6
# Rows of each class in its narrow and in its broad cluster.
TRAIN, TEST = (38, 12), (3800, 1200)
PRICES = {"1": 1.0, "log(N)/2": 0.5 * np.log(100), "log N": np.log(100)}
# (error, terms), published and of the reference.
_ADAPTIVE = {
    "1": (("0.1671", "7"), (0.191, 5.5)),
    "log(N)/2": (("0.1510", "4"), (0.201, 2.7)),
    "log N": (("0.1524", "4"), (0.206, 2.1)),
}
_FIXED = {
    0.2: (("0.1924", "30"), (0.182, 11.0)),
    0.4: (("0.1991", "16"), (0.171, 6.6)),
    0.6: (("0.2374", "10"), (0.164, 6.8)),
}


def draw(rng: np.random.Generator, rows: tuple[int, int]) -> tuple[Array, Labels]:
    """So many rows of each class."""
    parts, labels = [], []
    for label, side in (("a", -1.0), ("b", 1.0)):
        parts.append(side * PLACE + NARROW * rng.standard_normal((rows[0], 2)))
        parts.append(-side * PLACE + BROAD * rng.standard_normal((rows[1], 2)))
        labels += [label] * sum(rows)
    return np.concatenate(parts), np.array(labels)


def run(seed: int) -> dict[str, float]:
    """One draw of the training and of the test rows."""
    from fewer import RVC, AdaptiveRVC

    rng = generator(seed)
    (X, y), (new, truth) = draw(rng, TRAIN), draw(rng, TEST)
    tally = Tally()
    for price, c in PRICES.items():
        for name, settings in {"adaptive": {}, "free": {"variance_price": 0.0}}.items():
            model = AdaptiveRVC(sparsity=c, standardize=False, fit_intercept=False, **settings)
            wrong = np.mean(model.fit(X, y).predict(new) != truth)
            tally.add(f"{name}_{price}", model, float(wrong))
    for width in _FIXED:
        fixed = RVC(gamma=width**-2, standardize=False, fit_intercept=False).fit(X, y)
        tally.add(f"fixed_{width:g}", fixed, float(np.mean(fixed.predict(new) != truth)))
    return tally.values()


def _quantities() -> tuple[Quantity, ...]:
    rows = [(f"adaptive_{c}", f"c = {c}, AdaptiveRVC", values) for c, values in _ADAPTIVE.items()]
    rows += [
        (f"free_{c}", f"c = {c}, AdaptiveRVC, no price of variances", values)
        for c, values in _ADAPTIVE.items()
    ]
    rows += [(f"fixed_{h:g}", f"RVC, h = {h:g}", values) for h, values in _FIXED.items()]
    found: list[Quantity] = []
    for arm, label, (texts, measured) in rows:
        published = (Published(texts[0]), Published(texts[1]))
        found += loss_and_terms(arm, label, "error", "terms", published, measured, 10)
    return tuple(found)


EXPERIMENT = Experiment(
    name="tzikas2009-mixture",
    paper="Tzikas, Likas & Galatsanos 2009",
    item="Figure 4: clusters of different size",
    protocol=(
        "The paper does not give its mixture; this one is inferred from the reference's data and "
        f"its Bayes error of 11.9 %: each class has {TRAIN[0]} rows in a cluster of deviation "
        f"{NARROW} at ±({PLACE}, {PLACE}) and {TRAIN[1]} in one of {BROAD} at the centre of the "
        f"other's; {2 * sum(TEST)} rows for testing, no intercept. The paper has one draw."
    ),
    seed=2009_0700,
    repetitions=20,
    quick_repetitions=2,
    quantities=(*_quantities(), *ENDINGS),
    run=run,
)
