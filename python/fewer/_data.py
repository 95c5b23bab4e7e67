"""From arrays, sparse matrices and data frames to what the core takes, without copies."""

from __future__ import annotations

import numbers
import sys
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

Words: TypeAlias = list[str | None]
# Values, rows, columns, distance between rows, distance between columns.
Dense: TypeAlias = tuple[NDArray[np.float64] | NDArray[np.float32], int, int, int, int]
# "csc" or "csr", values, indices, starts, rows, columns.
Sparse: TypeAlias = tuple[str, NDArray[np.float64], NDArray[np.uint32], NDArray[np.uintp], int, int]
# Names and columns of a table with words in it.
Table: TypeAlias = tuple[list[str], list[NDArray[np.float64] | Words]]
# Class labels as a model file holds them.
Labels: TypeAlias = list[bool] | list[int] | list[str]
# Numbers, or the position of each row's class and the classes.
Target: TypeAlias = NDArray[np.float64] | tuple[NDArray[np.uintp], Labels]
# What the core takes.
Input: TypeAlias = Dense | Sparse | Table

# Rows that are likely to show all classes.
_FIRST = 500


def classes_of(y: Any) -> tuple[NDArray[Any], NDArray[np.uintp]]:
    """Return the classes, sorted, and the position of each row's among them."""
    name = name_of(y) or "y"
    plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf"
    y = y if plain else column_or_1d(y, warn=True)
    missing: Any = ()
    if y.dtype.kind == "f":
        missing = np.flatnonzero(np.isnan(y))
    elif y.dtype.kind == "O":
        missing = [k for k, v in enumerate(y) if v is None or (v == v) is not True]
    if len(missing):
        raise ValueError(
            f"row {missing[0] + 1}, column '{name}': the label is missing; drop such rows first"
        )
    if y.dtype.kind == "f" and np.isinf(y).any():
        raise ValueError(f"Input y contains infinity; labels are expected in column '{name}'")
    if not plain:
        check_classification_targets(y)
    classes, codes = _unique(y)
    # The look of scikit-learn's takes as long as a small fit: it refuses numbers that are not
    # whole, and warns of too many classes.
    if plain and (4 * len(classes) > len(y) or (classes != np.trunc(classes)).any()):
        check_classification_targets(y)
    if len(classes) == 1:
        raise ValueError(
            f"column '{name}' has one class only, {classes[0]!s}: at least 2 classes are needed"
        )
    return classes, codes.astype(np.uintp)


def _unique(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Do as NumPy's unique does, without sorting all rows where the first show every class."""
    classes = np.unique(y[:_FIRST])
    if y.dtype.kind in "biuf" and len(classes):
        codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        if (classes[codes] == y).all():
            return classes, codes
    return np.unique(y, return_inverse=True)


def labels(classes: NDArray[Any]) -> Labels:
    """Return classes as a model file holds them; whole numbers may have been of any type."""
    values = classes.tolist()
    if all(isinstance(value, bool) for value in values):
        return [bool(value) for value in values]
    if all(isinstance(value, int | float) and abs(value) < 2**63 for value in values):
        return [int(value) for value in values]
    return [str(value) for value in values]


def of_array(X: Any) -> Input:
    """Borrow an array or a sparse matrix that scikit-learn has checked."""
    return _sparse(X) if sparse.issparse(X) else _dense(X)


def _dense(X: NDArray[Any]) -> Dense:
    """Borrow an array in any order; only negative, zero or odd strides make a copy."""
    size = X.itemsize
    usable = X.dtype.isnative and X.flags.aligned
    for length, stride in zip(X.shape, X.strides, strict=True):
        usable = usable and (length < 2 or (stride > 0 and stride % size == 0))
    if not usable:
        X = np.array(X, dtype=X.dtype.newbyteorder("="), order="C")
    rows, columns = X.shape
    down = X.strides[0] // size if rows > 1 else columns
    across = X.strides[1] // size if columns > 1 else 1
    # One dimension from the first to the last value, with whatever lies between.
    span = (rows - 1) * down + (columns - 1) * across + 1
    values = np.lib.stride_tricks.as_strided(X, (span,), (size,), writeable=False)
    return values, rows, columns, down, across


def _sparse(X: Any) -> Sparse:
    """Borrow the values; the indices too, where they are 32 bits wide."""
    rows, columns = X.shape
    values = np.ascontiguousarray(X.data, dtype=np.float64)
    return X.format, values, _narrow(X.indices), _unsigned(X.indptr), rows, columns


def _narrow(indices: NDArray[Any]) -> NDArray[np.uint32]:
    """Negative indices become huge ones, which the core refuses."""
    if indices.dtype.itemsize > 4 and len(indices):
        # What has no room becomes huge as well.
        indices = np.clip(indices, -1, np.iinfo(np.uint32).max)
        return np.ascontiguousarray(indices.astype(np.uint32))
    return np.ascontiguousarray(indices, dtype=np.int32).view(np.uint32)


def _unsigned(starts: NDArray[Any]) -> NDArray[np.uintp]:
    """Negative starts become huge ones, which the core refuses."""
    wide: NDArray[np.intp] = np.ascontiguousarray(starts, dtype=np.intp)
    return wide.view(np.uintp)


def first_rows(X: Any, rows: int) -> NDArray[np.float64]:
    """Copy a few rows as a dense array of doubles."""
    X = X[:rows]
    X = X.toarray() if sparse.issparse(X) else X
    return np.array(X, dtype=np.float64, order="C")


def as_frame(X: Any) -> Any:
    """Return X if it is a data frame of pandas or polars or a table of Arrow, else None."""
    library, kind = _library(X), type(X).__name__
    if library not in ("pandas", "polars", "pyarrow"):
        return None
    if kind == "LazyFrame":
        raise TypeError("X is a LazyFrame, which has no values yet: give X.collect() instead")
    if not hasattr(X, "columns"):
        return None
    if kind == "RecordBatch":
        return sys.modules["pyarrow"].Table.from_batches([X])
    return X


def _library(X: Any) -> str:
    return type(X).__module__.partition(".")[0]


def name_of(y: Any) -> str | None:
    """Return the name of a series, or of the only column of a data frame."""
    name = getattr(y, "name", None)
    frame = as_frame(y)
    if frame is not None and frame.shape[1] == 1:
        name = frame_names(frame)[0]
    return name if isinstance(name, str) and name else None


def holds_numbers(y: Any) -> bool:
    """Whether a target holds numbers: no text, truth values or categories, even of numbers."""
    frame, column = as_frame(y), None
    if frame is not None and frame.shape[1] == 1:
        column = _column(frame, 0)
    elif frame is None and _library(y) == "pandas":
        column = _PandasColumn("y", sys.modules["pandas"].Series(y))
    elif frame is None and _library(y) == "polars":
        column = _PolarsColumn("y", y)
    elif frame is None and _library(y) == "pyarrow":
        column = _ArrowColumn("y", y)
    if column is not None and not column.is_number:
        return False
    array = np.asarray(y if column is None else list(column.values))
    if array.dtype.kind != "O":
        return array.dtype.kind not in "bUS"
    # Gaps are for others to refuse.
    known = [v for v in array.ravel().tolist() if v is not None and (v == v) is True]
    return bool(known) and all(
        isinstance(v, numbers.Real | Decimal) and not isinstance(v, bool | np.bool_) for v in known
    )


def frame_names(frame: Any) -> list[Any]:
    """Return the names of the columns."""
    names = getattr(frame, "column_names", None)  # Arrow
    return list(frame.columns if names is None else names)


def of_frame(frame: Any) -> NDArray[Any] | None:
    """Return a frame of numbers as an array (borrowed where pandas can), else None."""
    columns = [_column(frame, k) for k in range(frame.shape[1])]
    if not all(column.is_number for column in columns):
        return None
    single = bool(columns) and all(column.is_single for column in columns)
    dtype = np.float32 if single else np.float64
    if _library(frame) == "pandas" and all(isinstance(t, np.dtype) for t in frame.dtypes):
        array: NDArray[Any] = frame.to_numpy(dtype=dtype)
        return array
    array = np.empty(frame.shape, dtype=dtype, order="F")
    for k, column in enumerate(columns):
        array[:, k] = column.numbers()
    return array


def text_columns(frame: Any) -> list[str]:
    """Return the names of the columns that hold words."""
    names = frame_names(frame)
    return [str(names[k]) for k in range(len(names)) if not _column(frame, k).is_number]


def table(frame: Any, only: list[str] | None = None) -> Table:
    """Return names and columns for the core to encode; of the columns named, if any are."""
    names = [str(name) for name in frame_names(frame)]
    chosen = [k for k in range(len(names)) if only is None or names[k] in only]
    columns = [_column(frame, k) for k in chosen]
    values = [column.numbers() if column.is_number else column.words() for column in columns]
    return [names[k] for k in chosen], values


class _Column:
    """One column: numbers, or words that name categories."""

    is_number: bool
    is_single: bool = False

    def __init__(self, name: Any, values: Any) -> None:
        self.name = name
        self.values = values
        self.is_number = self._is_number()

    def _is_number(self) -> bool:
        raise NotImplementedError

    def numbers(self) -> NDArray[np.float64]:
        raise NotImplementedError

    def words(self) -> Words:
        raise NotImplementedError

    def refuse(self, kind: Any) -> ValueError:
        return ValueError(
            f"column '{self.name}': values of type {kind} are not understood; convert them to "
            "numbers or text, or leave the column out"
        )


def _word(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


class _PandasColumn(_Column):
    def _is_number(self) -> bool:
        pandas: Any = sys.modules["pandas"]
        dtype, types = self.values.dtype, pandas.api.types
        if isinstance(dtype, pandas.CategoricalDtype):
            return False
        self.is_single = dtype == np.float32
        if types.is_complex_dtype(dtype):
            raise self.refuse(dtype)
        if types.is_bool_dtype(dtype) or types.is_numeric_dtype(dtype):
            return True
        if dtype != np.object_:
            if types.is_string_dtype(dtype):
                return False
            raise self.refuse(dtype)
        known = self.values[~self.values.isna()]
        kinds = {type(value) for value in known}
        if all(issubclass(kind, numbers.Real | np.bool_ | Decimal) for kind in kinds):
            return True
        if all(issubclass(kind, str) for kind in kinds):
            return False
        raise self.refuse(" and ".join(sorted(kind.__name__ for kind in kinds)))

    def numbers(self) -> NDArray[np.float64]:
        array: NDArray[np.float64] = self.values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.ascontiguousarray(array)

    def words(self) -> Words:
        missing = self.values.isna()
        pairs = zip(self.values.astype(object), missing, strict=True)
        return [None if gap else _word(value) for value, gap in pairs]


class _PolarsColumn(_Column):
    def _is_number(self) -> bool:
        polars: Any = sys.modules["polars"]
        dtype = self.values.dtype
        self.is_single = dtype == polars.Float32
        if dtype.is_numeric() or dtype in (polars.Boolean, polars.Null):
            return True
        if dtype in (polars.String, polars.Categorical, polars.Enum):
            return False
        raise self.refuse(dtype)

    def numbers(self) -> NDArray[np.float64]:
        polars: Any = sys.modules["polars"]
        array: NDArray[np.float64] = self.values.cast(polars.Float64).to_numpy()
        return np.ascontiguousarray(array)

    def words(self) -> Words:
        polars: Any = sys.modules["polars"]
        words: Words = self.values.cast(polars.String).to_list()
        return words


class _ArrowColumn(_Column):
    def _is_number(self) -> bool:
        pyarrow: Any = sys.modules["pyarrow"]
        kind, types = self.values.type, pyarrow.types
        self.is_single = types.is_float32(kind)
        tests = (
            types.is_integer,
            types.is_floating,
            types.is_boolean,
            types.is_decimal,
            types.is_null,
        )
        if any(test(kind) for test in tests):
            return True
        if types.is_dictionary(kind) or types.is_string(kind) or types.is_large_string(kind):
            return False
        raise self.refuse(kind)

    def numbers(self) -> NDArray[np.float64]:
        values = self.values.to_pylist() if self.values.null_count else self.values.to_numpy()
        return np.array(values, dtype=np.float64)

    def words(self) -> Words:
        return [None if value is None else _word(value) for value in self.values.to_pylist()]


def _column(frame: Any, k: int) -> _Column:
    library = _library(frame)
    if library == "pandas":
        return _PandasColumn(frame.columns[k], frame.iloc[:, k])
    if library == "polars":
        return _PolarsColumn(frame.columns[k], frame.to_series(k))
    return _ArrowColumn(frame.column_names[k], frame.column(k))
