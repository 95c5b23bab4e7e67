"""Pictures."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fewer
from fewer import (
    SMLR,
    AdaptiveRVC,
    AdaptiveRVR,
    Lasso,
    LassoCV,
    ProbitClassifier,
    SparseRegressor,
    lasso_path,
)

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture
def figure():
    from matplotlib import pyplot

    figure = pyplot.figure()
    yield figure
    pyplot.close(figure)


def data(classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    radius = np.hypot(X[:, 0], X[:, 1]) + 0.15 * rng.normal(size=200)
    return X, np.array(["inner", "middle", "outer"])[np.digitize(radius, [1.2, 2][: classes - 1])]


def save(figure, path):
    figure.savefig(path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 5000


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("classes", [2, 3])
def test_boundary(figure, tmp_path, classes):
    X, y = data(classes)
    classifier = ProbitClassifier(basis="rbf", max_iter=300).fit(X, y)
    ax = fewer.plots.boundary(classifier, X, y)
    assert ax.figure is figure
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [*classifier.classes_, "relevance vectors"]
    save(figure, tmp_path / f"boundary{classes}.png")


def test_boundary_rings_learnt_kernels(figure, tmp_path):
    X, y = data(2)
    ax = fewer.plots.boundary(AdaptiveRVC().fit(X, y), X, y)
    assert [text.get_text() for text in ax.get_legend().get_texts()][-1] == "kernels"
    save(figure, tmp_path / "learnt.png")


def test_boundary_of_a_frame(figure, tmp_path):
    X, _ = data(2)
    frame = pd.DataFrame(X, columns=["width", "height"])
    ax = figure.add_subplot()
    classifier = ProbitClassifier().fit(frame, frame["width"] > 0.3 * np.sign(frame["height"]))
    assert fewer.plots.boundary(classifier, frame, frame["width"] > 0, ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("width", "height")
    save(figure, tmp_path / "frame.png")


def test_boundary_refuses(figure):
    X, y = data(2)
    with pytest.raises(ValueError, match="no classifier"):
        fewer.plots.boundary(SparseRegressor().fit(X, X[:, 0]), X, y)
    classifier = ProbitClassifier(basis="rbf").fit(X, y)
    with pytest.raises(ValueError, match="expected 2 columns"):
        fewer.plots.boundary(classifier, np.hstack([X, X]), y)


@pytest.mark.parametrize("classes", [1, 3])
def test_terms(figure, tmp_path, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 8))
    y = 2 * X[:, 1] - X[:, 4] + 0.5 * X[:, 6] + 0.5 * rng.normal(size=200)
    if classes == 1:
        model = SparseRegressor().fit(X, y)
    else:
        model = ProbitClassifier().fit(X, np.digitize(y, [-1, 1]))
    ax = fewer.plots.terms(model)
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [name for name, _, _ in model.explain().terms]
    save(figure, tmp_path / f"terms{classes}.png")
    ax.clear()
    fewer.plots.terms(model, ax=ax, limit=1)
    assert f"strongest of {model.n_terms_} terms" in ax.get_title()


def sparse_rows(columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, columns))
    return X, X[:, :4] @ [3, -2, 1, 0.5] + 0.5 * rng.normal(size=80)


@pytest.mark.parametrize("columns", [5, 100])
def test_path(figure, tmp_path, columns):
    X, y = sparse_rows(columns)
    path = lasso_path(X, y, lams=[*np.geomspace(300, 0.3, 40), 0.0] if columns == 5 else None)
    ax = fewer.plots.path(path, limit=6)
    assert ax.figure is figure
    names = {text.get_text() for text in ax.texts if text.get_text().startswith("x")}
    assert {"x1", "x2", "x3", "x4"} <= names
    assert len(names) == min(columns, 6)
    low, high = ax.get_xlim()
    assert low == path.lams[0] > high
    assert ("largest of" in ax.get_title()) == (columns > 6)
    heights = sorted(t.xy[1] for t in ax.texts if t.get_text().startswith("x"))
    assert np.diff(heights).min() > 0.04 * np.ptp(ax.get_ylim())
    save(figure, tmp_path / f"path{columns}.png")


@pytest.mark.parametrize("cuts", [[0.0], [-1.0, 1.0]])
def test_path_of_classes(figure, tmp_path, cuts):
    X, y = sparse_rows(5)
    labels = np.array(["low", "middle", "high"])[np.digitize(y, cuts)]
    path = SMLR().path(X, labels, n_lams=20)
    ax = fewer.plots.path(path, limit=4)
    names = [text.get_text() for text in ax.texts if text.get_text().startswith("x")]
    assert len(names) == len(set(names)) == 4
    if len(cuts) == 1:
        assert "x1" in names
        assert sum(len(line.get_xdata()) == 20 for line in ax.lines) == 5
    else:
        # The last class is the reference, which has no weights.
        assert path.classes.tolist() == ["high", "low", "middle"]
        assert {name.split(": ")[1] for name in names} <= {"high", "low"}
    save(figure, tmp_path / f"classes{len(cuts)}.png")


def test_path_refuses(figure):
    X, y = sparse_rows(5)
    with pytest.raises(ValueError, match="no λ above 0"):
        fewer.plots.path(lasso_path(X, y, lams=[0.0]))
    empty = fewer.plots.path(lasso_path(X, y, lams=[1e6, 1e5]))
    assert empty.get_title() == ""


@pytest.mark.parametrize(
    ("estimator", "symbol", "labels"),
    [
        (LassoCV(lams=30), "λ", ["± 1 s.e.", "best, chosen: λ", "one s.e.: λ"]),
        (LassoCV(lams=30, rule="one_se", scoring="r2"), "λ", ["one s.e., chosen: λ"]),
        (Lasso(lam="ebic", lams=30), "λ", ["best, chosen: λ"]),
        (SparseRegressor(basis="rbf", gamma="cv", gammas=4, tol=1e-4), "γ", ["best, chosen: γ"]),
        (
            SparseRegressor(
                prior="laplace", lam="cv", basis="rbf", gamma="cv", lams=3, gammas=[0.1, 1.0]
            ),
            "γ",
            ["best, chosen: γ"],
        ),
    ],
)
def test_selection(figure, tmp_path, estimator, symbol, labels):
    X, y = sparse_rows(5)
    ax = fewer.plots.selection(estimator.fit(X, y))
    assert ax.figure is figure
    assert ax.get_xlabel() == symbol
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert all(any(text.startswith(label) for text in shown) for label in labels)
    chosen = estimator.lam_ if symbol == "λ" else estimator.gamma_
    assert any(line.get_xdata()[0] == chosen for line in ax.lines)
    save(figure, tmp_path / "selection.png")


def test_selection_refuses(figure):
    X, y = sparse_rows(5)
    with pytest.raises(ValueError, match="chosen nothing: fit it with lam='cv'"):
        fewer.plots.selection(Lasso().fit(X, y))
    with pytest.raises(ValueError, match="no λ above 0"):
        fewer.plots.selection(LassoCV(lams=[0.0]).fit(X, y))


def test_without_matplotlib():
    code = "import sys; sys.modules['matplotlib'] = None; import fewer; fewer.plots.terms(None)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "fewer.plots needs matplotlib" in result.stderr
    assert "pip install 'fewer[plots]'" in result.stderr


def test_kernels_far_from_zero(figure):
    rng = np.random.default_rng(0)
    X = np.linspace(1000, 1001, 200)[:, np.newaxis]
    y = 2.5 * (X[:, 0] - 1000) + 0.1 * rng.normal(size=200)
    model = AdaptiveRVR(families=["rbf", "linear"]).fit(X, y)
    assert "linear" in model.families_
    low, high = fewer.plots.kernels(model, X, y).get_ylim()
    assert high - low < 5 * np.ptp(y)


@pytest.mark.parametrize("families", [("rbf",), ("laplacian", "linear")])
def test_kernels(figure, tmp_path, families):
    rng = np.random.default_rng(0)
    X = np.linspace(0, 10, 100)[:, np.newaxis]
    y = np.exp(-((X[:, 0] - 4) ** 2)) + 0.2 * X[:, 0] + 0.05 * rng.normal(size=100)
    model = AdaptiveRVR(families=families).fit(X, y)
    ax = fewer.plots.kernels(model, X, y)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["data", "fit", "kernels"]
    # The curves under the fit add up to it, trends being drawn about the mean.
    curves = [line for line in ax.lines if len(line.get_xdata()) >= 1000]
    fit, parts = curves[0], curves[1:]
    assert len(parts) == model.n_terms_
    base = ax.lines[-1].get_ydata()[0]
    trends = [
        w for w, family in zip(model.coef_, model.families_, strict=True) if family == "linear"
    ]
    at_mean = model.intercept_ + sum(trends) * X.mean()
    total = at_mean + sum(part.get_ydata() - base for part in parts)
    np.testing.assert_allclose(total, fit.get_ydata(), atol=1e-9)
    save(figure, tmp_path / "kernels.png")


def test_narrow_kernels_are_drawn_whole(figure):
    x = np.linspace(0, 1000, 3000)
    spike = np.exp(-(((x - 500.2) / 0.6) ** 2))
    y = np.sin(x / 100) + 3 * spike + 0.05 * np.random.default_rng(0).normal(size=3000)
    model = AdaptiveRVR().fit(x[:, np.newaxis], y)
    ax = fewer.plots.kernels(model, x[:, np.newaxis], y, ax=figure.gca())
    (fit,) = (line for line in ax.get_lines() if line.get_label() == "fit")
    drawn = np.interp(x, *fit.get_data())
    assert np.abs(drawn - model.predict(x[:, np.newaxis])).max() < 0.3


def test_kernels_of_others(figure):
    X = np.random.default_rng(0).normal(size=(50, 2))
    y = X[:, 0] + 0.1 * X[:, 1]
    with pytest.raises(ValueError, match="AdaptiveRVR"):
        fewer.plots.kernels(SparseRegressor().fit(X, y), X, y)
    with pytest.raises(ValueError, match="1 column"):
        fewer.plots.kernels(AdaptiveRVR().fit(X, y), X, y)
