"""The price of an effective parameter, chosen as Tzikas et al. 2009 do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from papers.experiment import Array

PART = 0.8


def with_best_price(
    make: Callable[[float], Any],
    X: Array,
    y: Any,
    loss: Callable[[Any, Any], float],
    rng: np.random.Generator,
) -> Any:
    """Fit with the c of 1, log(N)/2 and log N that does best on a fifth of the rows."""
    count = len(y)
    train, held = np.split(rng.permutation(count), [int(PART * count)])
    prices = (1.0, 0.5 * np.log(count), np.log(count))
    losses = [
        loss(make(price).fit(X[train], y[train]).predict(X[held]), y[held]) for price in prices
    ]
    return make(prices[int(np.argmin(losses))]).fit(X, y)
