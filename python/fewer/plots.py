"""Pictures of fitted models, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import column_or_1d

from fewer import _data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["boundary", "terms"]

_POINTS = 200  # of the grid, in each direction


def boundary(estimator: Any, X: Any, y: Any, ax: Axes | None = None) -> Axes:
    """Draw where a classifier of two features decides for which class.

    Shades tell how probable the predicted class is, and lines where the decision changes. The
    relevance vectors of a model of kernels are circled.

    Parameters
    ----------
    estimator : classifier
        Fitted on X and y; any of scikit-learn's will do.
    X : array or data frame of shape (n_samples, 2)
        Points to show.
    y : array-like of shape (n_samples,)
        Their classes.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The current axes by default.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import fewer, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(80, 2))
    >>> y = np.hypot(*X.T) > 1
    >>> classifier = fewer.ProbitClassifier(basis="rbf").fit(X, y)
    >>> ax = fewer.plots.boundary(classifier, X, y)  # doctest: +SKIP
    """
    pyplot = _pyplot()
    if not is_classifier(estimator):
        raise ValueError(f"{type(estimator).__name__} is no classifier: it has no boundary")
    frame = _data.as_frame(X)
    points = np.asarray(X if frame is None else _data.of_frame(frame), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"X: expected 2 columns to draw, found the shape {points.shape}")
    y = column_or_1d(y)
    classes = estimator.classes_
    ax = pyplot.gca() if ax is None else ax

    low, high = points.min(axis=0), points.max(axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    first, second = (
        np.linspace(a, b, _POINTS) for a, b in zip(low - margin, high + margin, strict=True)
    )
    grid = np.stack(np.meshgrid(first, second), axis=-1).reshape(-1, 2)
    probabilities = estimator.predict_proba(_like(frame, grid)).reshape(_POINTS, _POINTS, -1)
    colours = pyplot.get_cmap("tab10")(np.arange(len(classes)) % 10)[:, :3]
    winner = probabilities.argmax(axis=-1)
    certainty = probabilities.max(axis=-1, keepdims=True)
    strength = 0.08 + 0.42 * (certainty - 1 / len(classes)) / (1 - 1 / len(classes))
    shades = 1 - strength * (1 - colours[winner])
    extent = (first[0], first[-1], second[0], second[-1])
    ax.imshow(shades, origin="lower", extent=extent, aspect="auto", interpolation="bilinear")
    for k in range(len(classes)) if len(classes) > 2 else [1]:
        rest = np.delete(probabilities, k, axis=-1).max(axis=-1)
        lead = probabilities[..., k] - rest
        if lead.min() < 0 < lead.max():
            ax.contour(first, second, lead, levels=[0.0], colors="0.2", linewidths=1.2)
    for label, colour in zip(classes, colours, strict=True):
        own = points[y == label]
        look = {"s": 18, "color": colour, "edgecolor": "white", "linewidth": 0.5}
        _scatter(ax, own, str(label), **look)
    vectors = getattr(estimator, "relevance_vectors_", None)
    if vectors is not None and len(vectors):
        look = {"s": 90, "facecolors": "none", "edgecolors": "black", "linewidths": 1.4}
        _scatter(ax, vectors, "relevance vectors", **look)
    ax.set_xlim(first[0], first[-1])
    ax.set_ylim(second[0], second[-1])
    names = ["x1", "x2"] if frame is None else [str(n) for n in _data.frame_names(frame)]
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.legend(loc="best", fontsize="small")
    return ax


def terms(estimator: Any, ax: Axes | None = None, limit: int = 20) -> Axes:
    """Draw the effects of the terms of a model: how much one standard deviation of each changes.

    Parameters
    ----------
    estimator : estimator of fewer
        Fitted.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The current axes by default.
    limit : int, default=20
        Draw the strongest terms, at most so many.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import fewer, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(80, 6))
    >>> regressor = fewer.SparseRegressor().fit(X, 2 * X[:, 0] - X[:, 3])
    >>> ax = fewer.plots.terms(regressor)  # doctest: +SKIP
    """
    pyplot = _pyplot()
    explanation = estimator.explain()
    shown = explanation.terms[:limit]
    ax = pyplot.gca() if ax is None else ax
    at = np.arange(len(shown))
    if isinstance(explanation.intercept, dict):
        classes = list(explanation.intercept)
        height = 0.8 / len(classes)
        for k, name in enumerate(classes):
            effects = [effect[name] for _, _, effect in shown]
            offset = (k - (len(classes) - 1) / 2) * height
            ax.barh(at + offset, effects, height=0.9 * height, color=f"C{k}", label=name)
        ax.legend(loc="best", fontsize="small")
        target = "the classes"
    else:
        values = [effect for _, _, effect in shown]
        ax.barh(at, values, height=0.7, color=["C0" if v > 0 else "C3" for v in values])
        target = explanation.target
    ax.axvline(0, color="0.2", linewidth=0.8)
    ax.set_yticks(at, [name for name, _, _ in shown])
    ax.invert_yaxis()
    ax.set_xlabel(f"effect of one standard deviation on {target}")
    hidden = len(explanation.terms) - len(shown)
    if hidden:
        ax.set_title(f"the {len(shown)} strongest of {len(explanation.terms)} terms")
    return ax


def _scatter(ax: Any, points: NDArray[np.float64], label: str, **look: Any) -> None:
    ax.scatter(points[:, 0], points[:, 1], label=label, **look)


def _like(frame: Any, values: NDArray[np.float64]) -> Any:
    """Return values as an array, or as a data frame like the one that is given."""
    if frame is None:
        return values
    columns = dict(zip(_data.frame_names(frame), values.T, strict=True))
    build = getattr(type(frame), "from_pydict", type(frame))  # Arrow's tables have it
    return build(columns)


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError(
            "fewer.plots needs matplotlib, which is not installed: pip install 'fewer[plots]'"
        ) from error
    return pyplot
