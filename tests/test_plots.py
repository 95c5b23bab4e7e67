"""Pictures."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import fewer
from fewer import ProbitClassifier, SparseRegressor

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


def test_without_matplotlib():
    code = "import sys; sys.modules['matplotlib'] = None; import fewer; fewer.plots.terms(None)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "fewer.plots needs matplotlib" in result.stderr
    assert "pip install 'fewer[plots]'" in result.stderr
