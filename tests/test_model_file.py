"""Saving and loading."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import pytest

import fewer
from fewer import SparseRegressor


@pytest.fixture
def saved(sparse_data, tmp_path):
    X, y = sparse_data
    model = SparseRegressor(basis="polynomial", max_terms=4, tol=1e-7).fit(X, y)
    model.save(tmp_path / "model.json")
    return model, tmp_path / "model.json"


def test_a_loaded_model_is_the_same(saved, sparse_data):
    model, path = saved
    other = fewer.load(str(path))
    assert type(other) is SparseRegressor
    assert other.get_params() == model.get_params()
    np.testing.assert_array_equal(other.predict(sparse_data[0]), model.predict(sparse_data[0]))
    for name in vars(model):
        if name.endswith("_") and name != "model_":
            np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
    assert vars(other).keys() == vars(model).keys()
    other.save(path)
    assert fewer.load(path).formula() == model.formula()


def test_names_and_categories_are_kept(sparse_data, tmp_path):
    X, y = sparse_data
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = SparseRegressor().fit(frame, y)
    model.save(tmp_path / "model")
    other = fewer.load(tmp_path / "model")
    assert list(other.feature_names_in_) == list("abcdefgh")
    np.testing.assert_array_equal(other.predict(frame), model.predict(frame))

    frame["city"] = np.where(np.arange(len(y)) % 3 == 0, "Oslo", "Bergen")
    model.fit(frame, y + 5.0 * (frame["city"] == "Oslo"))
    assert "city=Oslo" in model.terms_
    model.save(tmp_path / "model")
    other = fewer.load(tmp_path / "model")
    assert list(other.feature_names_in_) == [*"abcdefgh", "city"]
    np.testing.assert_array_equal(other.predict(frame), model.predict(frame))


def squares(X):
    return np.hstack([X, X**2])


def test_functions_are_supplied_by_name(sparse_data, tmp_path):
    X, y = sparse_data
    model = SparseRegressor(basis=squares).fit(X, y)
    path = tmp_path / "model.json"
    model.save(path)
    for functions in (None, {}, {"cubes": squares}):
        with pytest.raises(ValueError, match=r"your function 'squares'.*functions="):
            fewer.load(path, functions=functions)
    other = fewer.load(path, functions={"squares": squares})
    assert other.basis is squares
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="expected 120×16 values, found 120×8"):
        fewer.load(path, functions={"squares": lambda X: X}).predict(X)


def test_functions_are_pickled(sparse_data):
    X, y = sparse_data
    model = SparseRegressor(basis=np.cbrt).fit(X, y)
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(SparseRegressor(basis=lambda X: X).fit(X, y))


def test_files_that_cannot_be_read_or_written(saved, tmp_path):
    model, _ = saved
    with pytest.raises(FileNotFoundError, match="nothing"):
        fewer.load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="folder"):
        model.save(tmp_path / "folder" / "model")
    with pytest.raises(OSError):
        fewer.load(tmp_path)
    with pytest.raises(OSError):
        model.save(tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda text: "", "is empty"),
        (lambda text: text[: len(text) // 2], "truncated"),
        (lambda text: text.replace('"deviation":', '"deviation":1', 1), "checksum"),
        (lambda text: text.replace('"format":1', '"format":99', 1), "install a newer fewer"),
        (lambda text: "x,y\n1,2\n", "not a model file of fewer"),
        (lambda text: json.dumps({"format": 1}), "not a model file of fewer"),
    ],
)
def test_damaged_files_are_refused(saved, damage, message):
    _, path = saved
    path.write_text(damage(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(ValueError, match=f"model.json.*{message}"):
        fewer.load(path)


def test_a_file_of_bytes_is_refused(tmp_path):
    path = tmp_path / "model.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="not text"):
        fewer.load(path)
