"""Every form of the same data gives the same model, and bad data a clear message."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from fewer import RVR, SparseRegressor, _data


def fit(X, y, **params):
    return SparseRegressor(**params).fit(X, y)


def same(model, other, X):
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.predict(X), other.predict(X))


# ---- arrays ----


def strided(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


FORMS = {
    "fortran": np.asfortranarray,
    "strided": strided,
    "columns of a wider array": lambda X: np.hstack([X, X])[:, : X.shape[1]],
    "rows of a longer array": lambda X: np.vstack([X, X])[: X.shape[0]],
    "fortran, rows of a longer array": lambda X: np.asfortranarray(np.vstack([X, X]))[: len(X)],
    "reversed": lambda X: X[::-1].copy()[::-1],
    "reversed columns": lambda X: X[:, ::-1].copy()[:, ::-1],
    "big endian": lambda X: X.astype(">f8"),
    "unaligned": lambda X: np.frombuffer(b"_" + X.tobytes(), np.float64, X.size, 1).reshape(
        X.shape
    ),
    "read-only": read_only,
    "list": lambda X: X.tolist(),
    "objects": lambda X: X.astype(object),
    "matrix of CSC": sparse.csc_matrix,
    "CSC": sparse.csc_array,
    "CSR": sparse.csr_array,
    "COO": sparse.coo_array,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("basis", ["linear", "polynomial"])
def test_every_form_gives_the_same_model(sparse_data, form, basis):
    X, y = sparse_data
    model, other = fit(X, y, basis=basis), fit(FORMS[form](X), y, basis=basis)
    assert other.terms_ == model.terms_
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-10)
    np.testing.assert_allclose(other.predict(FORMS[form](X)), model.predict(X), rtol=1e-10)


def test_wide_indices_unsorted_and_repeated_entries(sparse_data):
    X, y = sparse_data
    model = fit(sparse.csc_array(X), y)
    for format in ("csc", "csr"):
        Z = sparse.csr_array(X).asformat(format)
        Z.indices, Z.indptr = Z.indices.astype(np.int64), Z.indptr.astype(np.int64)
        same(model, fit(Z, y), X)
    halves = sparse.csc_array(X)
    start, end = halves.indptr[:2]
    order = np.arange(halves.nnz)
    order[start:end] = order[start:end][::-1]
    unsorted = sparse.csc_array((halves.data[order], halves.indices[order], halves.indptr), X.shape)
    same(model, fit(unsorted, y), X)
    same(model, model, unsorted)


def test_a_damaged_sparse_matrix_is_refused(sparse_data):
    X, y = sparse_data
    Z = sparse.csc_array(X)
    Z.indices[0] = -5
    with pytest.raises(ValueError, match="index"):
        fit(Z, y)


def test_single_precision(sparse_data):
    X, y = sparse_data
    X = X.astype(np.float32)
    same(fit(X, y), fit(X.astype(np.float64), y), X)
    same(fit(np.asfortranarray(X), y), fit(np.asfortranarray(X.astype(np.float64)), y), X)


DENSE = """
X = np.empty((n, {columns}), dtype={dtype!r}, order={order!r})
for k in range({columns}):
    X[:, k] = np.sin(np.arange(n) * (k + 0.37))
y = 2.0 * X[:, 0].astype(np.float64)
"""
SPARSE = """
from scipy import sparse
X = sparse.random_array((n, 300), density=0.001, format={form!r}, rng=np.random.default_rng(0))
y = X @ np.eye(300)[3]
"""
CASES = {
    "C": (500_000, DENSE.format(columns=20, dtype="float64", order="C")),
    "F": (500_000, DENSE.format(columns=20, dtype="float64", order="F")),
    "single C": (500_000, DENSE.format(columns=40, dtype="float32", order="C")),
    "single F": (500_000, DENSE.format(columns=40, dtype="float32", order="F")),
    "CSC": (100_000, SPARSE.format(form="csc")),
    "CSR": (100_000, SPARSE.format(form="csr")),
}


@pytest.mark.parametrize("case", CASES)
def test_inputs_are_not_copied(case):
    """The inputs take 80 MB (the sparse ones would take 240 if they were dense)."""
    pytest.importorskip("resource")
    rows, make = CASES[case]
    measure = """
import resource, sys
import numpy as np
from fewer import RVR, SparseRegressor, _data
unit = 1 if sys.platform == "darwin" else 1024
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
"""
    fit_and_predict = """
model = SparseRegressor().fit(X, y)
assert model.score(X[: n // 10], y[: n // 10]) > 0.99
"""
    code = f"{measure}\nn = 2000{make}{fit_and_predict}"  # starts the threads
    code += f"\nn = {rows}{make}\nbefore = peak(){fit_and_predict}\nprint(peak() - before)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 40


# ---- what is refused ----


def test_missing_and_infinite_values_are_located(sparse_data):
    X, y = sparse_data
    model = fit(X, y)
    X = X.copy()
    X[4, 2] = np.nan
    for bad in (X, np.asfortranarray(X), X.astype(np.float32), sparse.csr_array(X)):
        with pytest.raises(ValueError, match=r"row 5, column 'x3': the value is missing \(NaN\)"):
            fit(bad, y)
        with pytest.raises(ValueError, match="row 5, column 'x3'"):
            model.predict(bad)
    with pytest.raises(ValueError, match="row 5, column 'dose': the value is missing"):
        fit(pd.DataFrame(X, columns=[*"ab", "dose", *"defgh"]), y)
    X[4, 2] = -np.inf
    with pytest.raises(ValueError, match=r"row 5, column 'x3': the value is infinite \(-inf\)"):
        fit(X, y)
    y[6] = np.nan
    with pytest.raises(ValueError, match=r"row 7, column 'y': the value is missing"):
        fit(np.nan_to_num(X, neginf=0), y)


def test_text_in_arrays_is_refused():
    X = np.array([["a", "1"], ["b", "2"]])
    for bad in (X, X.astype(object)):
        with pytest.raises(ValueError, match=r"X has text in it.*give a data frame"):
            fit(bad, [1.0, 2.0])


def test_lengths_must_agree(sparse_data):
    X, y = sparse_data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(X, y[:-1])
    with pytest.raises(ValueError, match="X has 7 features, but SparseRegressor is expecting 8"):
        fit(X, y).predict(X[:, :7])


# ---- data frames ----

NAMES = ["age", "dose", "c", "d", "weight", "f", "g", "h"]
FRAMES = {
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "pandas, mixed": lambda X: pd.DataFrame(X, columns=NAMES).astype(
        {"age": "Float64", "c": object, "d": "float64"}
    ),
    "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pa.table(dict(zip(NAMES, X.T.copy(), strict=True))),
    "arrow batch": lambda X: pa.RecordBatch.from_pydict(dict(zip(NAMES, X.T.copy(), strict=True))),
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_numbers_are_arrays_with_names(sparse_data, kind):
    X, y = sparse_data
    model, other = fit(X, y), fit(FRAMES[kind](X), y)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-12)
    np.testing.assert_allclose(other.predict(FRAMES[kind](X)), model.predict(X), rtol=1e-12)
    assert other.terms_ == ["dose", "weight"]
    assert list(other.feature_names_in_) == NAMES
    with pytest.raises(ValueError, match="feature names should match"):
        other.predict(FRAMES["pandas"](X)[NAMES[::-1]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        other.predict(X)


def test_frames_of_single_precision_and_of_numbered_columns(sparse_data):
    X, y = sparse_data
    single = pd.DataFrame(X, columns=NAMES, dtype=np.float32)
    same(fit(single.to_numpy(), y), fit(single, y).fit(single.to_numpy(), y), single.to_numpy())
    numbered = fit(pd.DataFrame(X), y)
    assert not hasattr(numbered, "feature_names_in_")
    assert numbered.terms_ == ["x2", "x5"]


def test_the_target_has_its_name(sparse_data):
    X, y = sparse_data
    for target in (pd.Series(y, name="price"), pl.Series("price", y)):
        assert "weight in price" in repr(fit(X, target).explain())


def categories(n=90):
    rng = np.random.default_rng(5)
    city = rng.choice(["Bergen", "Oslo", "Tromsø"], size=n)
    smoker = rng.choice([True, False], size=n)
    sex = rng.choice(["f", "m"], size=n)
    dose = rng.normal(size=n)
    y = 3.0 * (city == "Oslo") + 2 * dose + smoker - (sex == "m") + 0.05 * rng.normal(size=n)
    return {"city": city, "dose": dose, "smoker": smoker, "sex": sex}, y


TABLES = {
    "pandas": pd.DataFrame,
    "pandas, categories": lambda d: pd.DataFrame(d).astype({"city": "category", "sex": object}),
    "polars": lambda d: pl.DataFrame({k: v.tolist() for k, v in d.items()}),
    "polars, categories": lambda d: pl.DataFrame(
        {k: v.tolist() for k, v in d.items()},
        schema_overrides={"city": pl.Categorical, "sex": pl.Enum(["f", "m"])},
    ),
    "arrow": lambda d: pa.table({k: v.tolist() for k, v in d.items()}),
    "arrow, dictionary": lambda d: pa.table(
        {k: pa.array(v.tolist()).dictionary_encode() if k == "city" else v for k, v in d.items()}
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_categories_become_terms(kind):
    data, y = categories()
    make = TABLES[kind]
    model = fit(make(data), y)
    assert model.terms_ == ["city=Oslo", "dose", "smoker", "sex=m"]
    assert model.n_features_in_ == 4
    assert list(model.feature_names_in_) == ["city", "dose", "smoker", "sex"]
    assert model.coef_.shape == (6,)
    same(model, fit(pd.DataFrame(data), y), make(data))
    # By name: in any order, with others between.
    other = {"id": np.arange(90), **{name: data[name] for name in reversed(data)}}
    np.testing.assert_array_equal(model.predict(make(other)), model.predict(make(data)))


def test_categories_that_do_not_fit_are_named():
    data, y = categories()
    frame = pd.DataFrame(data)
    model = fit(frame, y)
    with pytest.raises(ValueError, match="row 3, column 'city': the category 'Bodø' was not in"):
        model.predict(frame.assign(city=["Oslo", "Oslo", "Bodø", *["Oslo"] * 87]))
    with pytest.raises(ValueError, match="missing 'dose'; the table has 'city', 'smoker', 'sex'"):
        model.predict(frame.drop(columns="dose"))
    with pytest.raises(ValueError, match="row 2, column 'city': the category is missing"):
        fit(frame.assign(city=["Oslo", None, *["Bergen"] * 88]), y)
    with pytest.raises(ValueError, match="row 1, column 'dose': the value is missing"):
        fit(frame.assign(dose=[np.nan, *[1.0] * 89]), y)
    with pytest.raises(ValueError, match="with the columns 'city', 'dose'"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="takes numbers"):
        fit(frame, y, basis=np.sin)


def test_columns_that_are_not_understood_are_named():
    y = [1.0, 2.0]
    days = ["2024-01-01", "2024-01-02"]
    frames = [
        pd.DataFrame({"when": pd.to_datetime(days)}),
        pl.DataFrame({"when": days}).with_columns(pl.col("when").str.to_date()),
        pa.table({"when": pa.array(days).cast(pa.date32())}),
        pd.DataFrame({"when": [1, "b"]}),
    ]
    for frame in frames:
        with pytest.raises(ValueError, match=r"column 'when': values of type .* not understood"):
            fit(frame, y)
    with pytest.raises(TypeError, match=r"give X\.collect\(\)"):
        fit(pl.LazyFrame({"a": y}), y)
    numbers = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [1.0, 0.0, 7.0]})
    model = fit(numbers, [1.0, 2.0, 4.0])
    with pytest.raises(ValueError, match="text in 'b': the model was fitted on columns of numbers"):
        model.predict(numbers.assign(b=["x", "y", "z"]))


def test_a_pandas_frame_of_one_type_is_not_copied(sparse_data):
    X, _ = sparse_data
    for order in ("C", "F"):
        frame = pd.DataFrame(np.array(X, order=order), copy=False)
        array = _data.of_frame(frame)
        assert np.shares_memory(array, frame.to_numpy())
        assert np.shares_memory(_data.of_array(array)[0], array)


def test_a_table_of_numbers_alone_needs_no_table(monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    y = frame["a"] - frame["b"]
    with monkeypatch.context() as patched:
        # As the command reads a file.
        patched.setattr("fewer._data.of_frame", lambda frame: None)
        model = RVR(basis="linear").fit(frame, y)
    assert model.model_.table_names == ["a", "b"]
    with pytest.warns(UserWarning, match="feature names"):
        told = model.predict(frame.to_numpy())
    np.testing.assert_allclose(told, model.predict(frame))
