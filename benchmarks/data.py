"""Real data sets for the benchmarks, from the folder that papers/ takes its own from."""

from __future__ import annotations

import gzip
from collections.abc import Callable

import numpy as np
import scipy.sparse
from sklearn.datasets import load_svmlight_file

from benchmarks.problem import Array, Matrix, Problem, Sizes
from papers.experiment import data_folder

Set = tuple[Matrix, Array]


def read_csv(*names: str) -> Set:
    """Features, and classes counted from 0 in the order of their names, of files one by one."""
    parts = []
    labels: list[str] = []
    for name in names:
        with gzip.open(data_folder() / name, "rt", encoding="utf-8") as file:
            rows = [line.rstrip("\n").rpartition(",") for line in list(file)[1:]]
        parts.append(np.loadtxt([row[0] for row in rows], delimiter=",", ndmin=2))
        labels += [row[2] for row in rows]
    codes = np.unique(labels, return_inverse=True)[1]
    return np.concatenate(parts), codes.astype(np.float64)


def standardised(X: Array) -> Array:
    """Columns of mean 0 and variance 1, those that are constant left out."""
    deviation = X.std(axis=0)
    kept = deviation > 0
    out: Array = (X[:, kept] - X[:, kept].mean(axis=0)) / deviation[kept]
    return out


def golub() -> Set:
    """Leukaemia, training and test rows; genes standardised."""
    X, y = read_csv("golub.train.csv.gz", "golub.test.csv.gz")
    return standardised(X), y


def colon() -> Set:
    """Colon tumours; genes standardised."""
    X, y = read_csv("colon.csv.gz")
    return standardised(X), y


def madelon() -> Set:
    """Columns standardised."""
    X, y = read_csv("madelon.csv.gz")
    return standardised(X), y


def mnist() -> Set:
    """Training digits, grey values from 0 to 1."""
    X, y = read_csv("mnist.train.csv.gz")
    return X / 255.0, y


def news20() -> Set:
    """Training messages: counts of words, rows of unit length."""
    file = data_folder() / "news20_bydate.train.svm.gz"
    X, y = load_svmlight_file(str(file), n_features=130_107)
    lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return scipy.sparse.diags_array(1.0 / np.maximum(lengths, 1e-300)) @ X, y


FILES = {
    golub: ("golub.train.csv.gz", "golub.test.csv.gz"),
    colon: ("colon.csv.gz",),
    madelon: ("madelon.csv.gz",),
    mnist: ("mnist.train.csv.gz",),
    news20: ("news20_bydate.train.svm.gz",),
}


def problem_of(load: Callable[[], Set], rng: np.random.Generator, sizes: Sizes) -> Problem:
    """Shuffled rows, of which the first ``sizes.n``, and the columns with most to say."""
    X, y = load()
    rows = rng.permutation(len(y))[: sizes.n]
    X, y = X[rows], y[rows]
    if sizes.p < X.shape[1]:
        weight = np.asarray(abs(X).sum(axis=0)).ravel()
        X = X[:, np.sort(np.argsort(-weight, kind="stable")[: sizes.p])]
    X = in_csc(X) if scipy.sparse.issparse(X) else np.asfortranarray(X)
    return Problem(X, y, X[:0], y[:0], np.zeros(0), 0.0, 0.0)


def in_csc(X: Matrix) -> Matrix:
    """Sorted CSC with 32-bit indices, which R and most compiled loops want."""
    X = scipy.sparse.csc_matrix(X)
    X.sort_indices()
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
