"""Pictures of fitted models, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.isotonic import isotonic_regression
from sklearn.utils.validation import column_or_1d

from fewer import _data
from fewer.smlr import SMLRPath

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fewer.lasso import LassoPath
    from fewer.stability import Stability

__all__ = ["boundary", "kernels", "path", "selection", "stability", "terms"]

_POINTS = 200  # of the grid, in each direction


def boundary(estimator: Any, X: Any, y: Any, ax: Axes | None = None) -> Axes:
    """Draw where a classifier of two features decides for which class.

    Shades tell how probable the predicted class is, and lines where the decision changes. The
    centres of a model of kernels are circled.

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
    for name, label in (("relevance_vectors_", "relevance vectors"), ("centres_", "kernels")):
        centres = getattr(estimator, name, None)
        if centres is not None and len(centres):
            look = {"s": 90, "facecolors": "none", "edgecolors": "black", "linewidths": 1.4}
            _scatter(ax, centres, label, **look)
    ax.set_xlim(first[0], first[-1])
    ax.set_ylim(second[0], second[-1])
    names = ["x1", "x2"] if frame is None else [str(n) for n in _data.frame_names(frame)]
    ax.set_xlabel(names[0])
    ax.set_ylabel(names[1])
    ax.legend(loc="best", fontsize="small")
    return ax


def kernels(estimator: Any, X: Any, y: Any, ax: Axes | None = None) -> Axes:
    """Draw the kernels that were learnt under a fit of one feature.

    The fit has a band of two standard deviations of a new observation; below it is each kernel
    times its weight, a linear term about the mean of the points.

    Parameters
    ----------
    estimator : AdaptiveRVR
        Fitted on one feature.
    X : array or data frame of shape (n_samples, 1)
        Points to show.
    y : array-like of shape (n_samples,)
        Their targets.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The current axes by default.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import fewer, numpy as np
    >>> X = np.linspace(0, 10, 200)[:, np.newaxis]
    >>> y = np.sin(X[:, 0] ** 2 / 10) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> ax = fewer.plots.kernels(fewer.AdaptiveRVR().fit(X, y), X, y)  # doctest: +SKIP
    """
    pyplot = _pyplot()
    families = getattr(estimator, "families_", None)
    if families is None or not hasattr(estimator, "noise_std_"):
        raise ValueError(
            f"{type(estimator).__name__} has learnt no kernels of numbers: AdaptiveRVR does"
        )
    frame = _data.as_frame(X)
    points = np.asarray(X if frame is None else _data.of_frame(frame), dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 1:
        raise ValueError(f"X: expected 1 column to draw, found the shape {points.shape}")
    y = column_or_1d(y)
    ax = pyplot.gca() if ax is None else ax
    low, high = points.min(), points.max()
    # Narrow kernels would fall between even points.
    steps = np.linspace(-3, 3, 25)
    own = (estimator.centres_[:, :1] + estimator.widths_[:, :1] * steps).ravel()
    x = np.concatenate([np.linspace(low, high, 5 * _POINTS), own[(own > low) & (own < high)]])
    x = np.unique(x)
    mean, std = estimator.predict(_like(frame, x[:, np.newaxis]), return_std=True)
    ax.fill_between(x, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.15, linewidth=0)
    ax.scatter(points[:, 0], y, s=8, color="0.5", label="data")
    ax.plot(x, mean, color="C0", label="fit")
    low = min(y.min(), (mean - 2 * std).min())
    # A trend has its intercept at the mean: at x = 0 it may be far from all that is drawn.
    middle = points.mean()
    parts = []
    for k, family in enumerate(families):
        distance = np.abs(x - estimator.centres_[k, 0]) / estimator.widths_[k, 0]
        shapes = {
            "rbf": np.exp(-(distance**2)),
            "laplacian": np.exp(-distance),
            "linear": x - middle,
        }
        parts.append(estimator.coef_[k] * shapes[family])
    if parts:
        base = low - 1.1 * max(part.max() for part in parts)
        for part in parts:
            ax.plot(x, base + part, color="C1", linewidth=0.8)
        ax.plot([], [], color="C1", linewidth=0.8, label="kernels")
        ax.axhline(base, color="0.8", linewidth=0.6, zorder=0)
    ax.set_xlabel("x1" if frame is None else str(_data.frame_names(frame)[0]))
    ax.legend(loc="best", fontsize="small")
    return ax


def path(path: LassoPath | SMLRPath, ax: Axes | None = None, limit: int = 10) -> Axes:
    """Draw the weights of a path against λ, which falls from left to right.

    With more than two classes a term has a weight, and a line, in each.

    Parameters
    ----------
    path : LassoPath or SMLRPath
        What :func:`fewer.lasso_path` or :meth:`fewer.SMLR.path` returned.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The current axes by default.
    limit : int, default=10
        Name the terms with the largest weights, at most so many; the others are grey.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import fewer, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(80, 6))
    >>> path = fewer.lasso_path(X, 2 * X[:, 0] - X[:, 3])
    >>> ax = fewer.plots.path(path)  # doctest: +SKIP
    """
    pyplot = _pyplot()
    shown = np.flatnonzero(path.lams > 0)  # the axis is logarithmic
    shown = shown[np.argsort(-path.lams[shown], kind="stable")]
    if not len(shown):
        raise ValueError("the path has no λ above 0 to draw")
    ax = pyplot.gca() if ax is None else ax
    names, weights = _lines(path)
    lams, coefs = path.lams[shown], weights[shown]
    size = np.abs(coefs).max(axis=0)
    order = np.argsort(-size, kind="stable")
    named, others = order[:limit], order[limit:]
    if len(others):
        ax.plot(lams, coefs[:, others], color="0.8", linewidth=0.8, zorder=1)
    for k, j in enumerate(named):
        # Twenty colours, the strong ones first.
        colour = f"C{k}" if k < 10 else pyplot.get_cmap("tab20")(2 * (k % 10) + 1)
        ax.plot(lams, coefs[:, j], color=colour, linewidth=1.6, zorder=2)
    ax.axhline(0, color="0.2", linewidth=0.8, zorder=1)
    ax.set_xscale("log")
    if len(lams) > 1 and lams[0] > lams[-1]:
        ax.set_xlim(lams[0], lams[-1])
    lines = {int(j): line for j, line in zip(named, ax.lines[-1 - len(named) : -1], strict=True)}
    ends = [(float(coefs[-1, j]), names[j], line.get_color()) for j, line in lines.items()]
    if ends:
        _end_labels(ax, ends)
    ax.set_xlabel("λ")
    ax.set_ylabel("weight")
    if len(others):
        ax.set_title(f"the {len(named)} largest of {len(order)} weights", pad=20)
    _count_terms(ax, lams, path.n_terms[shown])
    return ax


def _lines(path: LassoPath | SMLRPath) -> tuple[list[str], NDArray[np.float64]]:
    """Return names of the weights that are kept somewhere, and a column of values for each."""
    kept = np.array(sorted(path.names), dtype=np.intp)
    terms = [path.names[j] for j in kept]
    if not isinstance(path, SMLRPath):
        return terms, path.coefs[:, kept]
    coefs = path.coefs[:, :, kept]
    if coefs.shape[1] == 1:
        return terms, coefs[:, 0]
    used = np.argwhere(coefs.any(axis=0))
    classes = path.classes
    return [f"{terms[j]}: {classes[c]}" for c, j in used], coefs[:, used[:, 0], used[:, 1]]


def _end_labels(ax: Any, ends: list[tuple[float, str, Any]]) -> None:
    """Write names at the right ends of lines, apart from each other."""
    low, high = ax.get_ylim()
    ends = sorted(ends, key=lambda end: end[0])
    steps = 0.045 * (high - low) * np.arange(len(ends))
    # The nearest heights that are so far apart.
    heights = isotonic_regression(np.array([end[0] for end in ends]) - steps) + steps
    for height, (_, name, colour) in zip(heights, ends, strict=True):
        ax.annotate(
            name,
            (1, height),
            xycoords=ax.get_yaxis_transform(),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize="small",
            annotation_clip=False,
        )


def _count_terms(ax: Any, lams: NDArray[np.float64], counts: NDArray[Any]) -> None:
    """Write numbers of terms above the axes."""
    for k in np.unique(np.linspace(0, len(lams) - 1, 6).round().astype(int)):
        ax.annotate(
            ("terms: " if k == 0 else "") + f"{counts[k]:.0f}",
            (lams[k], 1),
            xycoords=ax.get_xaxis_transform(),
            xytext=(0, 3),
            textcoords="offset points",
            ha="left" if k == 0 else "right" if k == len(lams) - 1 else "center",
            color="0.4",
            fontsize="small",
        )


def selection(estimator: Any, ax: Axes | None = None) -> Axes:
    """Draw the scores by which λ or γ was chosen, with a band of one standard error.

    The point chosen is marked; where λ was chosen by cross-validation, both the best and the
    largest within one standard error of it. Where λ and γ were chosen together, the curve is that
    of γ, each with its best λ.

    Parameters
    ----------
    estimator : estimator of fewer
        Fitted, with ``lam`` or ``gamma`` set to ``"cv"`` or to a criterion.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The current axes by default.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.

    Examples
    --------
    >>> import fewer, numpy as np
    >>> X = np.random.default_rng(0).normal(size=(80, 6))
    >>> lasso = fewer.LassoCV(lams=20).fit(X, 2 * X[:, 0] - X[:, 3])
    >>> ax = fewer.plots.selection(lasso)  # doctest: +SKIP
    """
    pyplot = _pyplot()
    found = getattr(estimator, "selection_", None)
    if found is None:
        raise ValueError(
            f"{type(estimator).__name__} has chosen nothing: fit it with lam='cv' or gamma='cv'"
        )
    name = "gamma" if "gamma" in found.settings else "lam"
    symbol = {"lam": "λ", "gamma": "γ"}[name]
    values, means = found.values(name), found.values("mean")
    loss = -means if found.larger_is_better else means
    # For each value the best of the points that have it; logarithms need values above 0.
    by_loss = np.lexsort((loss, values))
    firsts = np.unique(values[by_loss], return_index=True)[1]
    curve = by_loss[firsts]
    curve = curve[values[curve] > 0]
    if not len(curve):
        raise ValueError(f"no {symbol} above 0 was tried: there is no curve to draw")
    ax = pyplot.gca() if ax is None else ax
    errors = found.values("standard_error")
    at, mean, error = values[curve], means[curve], errors[curve]
    if np.isfinite(error).all():
        band = ax.fill_between(at, mean - error, mean + error, label="± 1 s.e.")
        band.set(color="C0", alpha=0.2, linewidth=0)
    ax.plot(at, mean, color="C0", linewidth=1.6, marker="." if len(at) < 30 else None)
    marks = [("best", found.best, "C3", "-")]
    if name == "lam" and np.isfinite(errors[found.best]):
        near = np.flatnonzero(loss <= loss[found.best] + errors[found.best])
        marks.append(("one s.e.", int(near[np.argmax(values[near])]), "C2", "--"))
    for label, k, colour, style in marks:
        if k == found.chosen:
            label += ", chosen"
        if values[k] > 0:
            label += f": {symbol} = {values[k]:.3g}"
            ax.axvline(values[k], color=colour, linestyle=style, linewidth=1.2, label=label)
            ax.plot(values[k], means[k], "o", color=colour, markersize=5)
    ax.set_xscale("log")
    if mean.min() > 0 and mean.max() > 30 * mean.min():  # few bad points would hide the others
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.6 * mean.min())
    if name == "lam":
        _count_terms(ax, at[::-1], found.values("terms")[curve[::-1]])
        if len(at) > 1:
            ax.set_xlim(at[-1], at[0])
    ax.set_xlabel(symbol)
    ax.set_ylabel(f"{found.score} in {found.folds} folds" if found.folds else found.score)
    ax.legend(loc="best", fontsize="small")
    return ax


def stability(found: Stability, ax: Axes | None = None, max_terms: int = 30) -> Axes:
    """Draw how often terms were kept in fits to halves of the rows.

    Parameters
    ----------
    found : Stability
        What :func:`fewer.stability_selection` found.
    ax : matplotlib.axes.Axes, optional
        Where to draw. The current axes by default.
    max_terms : int, default=30
        Show at most so many, the most frequent.

    Returns
    -------
    matplotlib.axes.Axes
        What was drawn on.
    """
    ax = _pyplot().gca() if ax is None else ax
    shown = list(found.frequencies.items())[:max_terms]
    colours = ["tab:blue" if name in found.stable else "lightsteelblue" for name, _ in shown]
    ax.barh([name for name, _ in shown], [part for _, part in shown], color=colours)
    ax.axvline(found.threshold, color="grey", linestyle="--")
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"part of {found.subsamples} fits to halves of the rows")
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
