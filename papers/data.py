"""The data sets, and random parts of them."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from papers.experiment import Array, data_folder

Labels = npt.NDArray[np.str_]
Rows = npt.NDArray[np.intp]
# Features, classes, and the training and test rows of each part.
Divided = tuple[Array, Labels, list[tuple[Rows, Rows]]]


def read(name: str) -> tuple[Array, Labels]:
    """Features and target of a CSV file with a header, the target as text in the last column."""
    path = data_folder() / name
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    rows = list(csv.reader(text.splitlines()))[1:]
    features = np.array([row[:-1] for row in rows], dtype=np.float64)
    return features, np.array([row[-1] for row in rows])


def split(rng: np.random.Generator, groups: npt.ArrayLike, per_group: int) -> tuple[Rows, Rows]:
    """So many rows of each group for training, and the others."""
    groups = np.asarray(groups)
    parts = [rng.permutation(np.flatnonzero(groups == group)) for group in np.unique(groups)]
    train = np.concatenate([part[:per_group] for part in parts])
    return train, np.concatenate([part[per_group:] for part in parts])


def stratified_folds(
    rng: np.random.Generator, groups: npt.ArrayLike, count: int
) -> Iterator[tuple[Rows, Rows]]:
    """As ``folds``, each group spread over all of them."""
    groups = np.asarray(groups)
    order = np.concatenate(
        [rng.permutation(np.flatnonzero(groups == group)) for group in np.unique(groups)]
    )
    for k in range(count):
        yield np.concatenate([order[j::count] for j in range(count) if j != k]), order[k::count]


def folds(rng: np.random.Generator, rows: int, count: int) -> Iterator[tuple[Rows, Rows]]:
    """Training and test rows of each fold of a random cross-validation."""
    order = rng.permutation(rows)
    for k in range(count):
        yield np.concatenate([order[j::count] for j in range(count) if j != k]), order[k::count]
