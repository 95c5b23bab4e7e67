"""Kernel matrices against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.gaussian_process.kernels import Matern
from sklearn.metrics import pairwise

from fewer.kernels import kernel_matrix

GAMMA = 0.3
REFERENCES = {
    "rbf": lambda X, C: pairwise.rbf_kernel(X, C, gamma=GAMMA),
    "laplacian": lambda X, C: pairwise.laplacian_kernel(X, C, gamma=GAMMA),
    "matern32": lambda X, C: Matern(1 / np.sqrt(2 * GAMMA), nu=1.5)(X, C),
    "matern52": lambda X, C: Matern(1 / np.sqrt(2 * GAMMA), nu=2.5)(X, C),
    "polynomial-kernel": lambda X, C: pairwise.polynomial_kernel(X, C, 3, GAMMA, 0.5),
    "linear-kernel": pairwise.linear_kernel,
}


@pytest.mark.parametrize("kernel", REFERENCES)
@pytest.mark.parametrize("columns", [3, 40])
def test_kernels_equal_those_of_scikit_learn(kernel, columns):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, columns)) * (rng.random((70, columns)) < 0.4)
    C = rng.normal(size=(9, columns))
    expected = REFERENCES[kernel](X, C)
    for rows in (X, np.asfortranarray(X), sparse.csc_array(X), sparse.csr_array(X)):
        found = kernel_matrix(rows, C, kernel=kernel, gamma=GAMMA, degree=3, coef0=0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_unknown_kernels_are_named():
    with pytest.raises(ValueError, match=r"kernel = .*unknown variant"):
        kernel_matrix(np.ones((3, 2)), kernel="gauss")
