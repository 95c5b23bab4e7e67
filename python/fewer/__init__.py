"""Sparse supervised learning: the same accuracy from fewer terms.

>>> import numpy as np
>>> from fewer import SparseRegressor
>>> X = np.random.default_rng(0).normal(size=(100, 20))
>>> y = 4 + 2 * X[:, 0] - X[:, 5]
>>> SparseRegressor().fit(X, y).formula()
'4 + 2 x1 - 1 x6'
"""

from importlib.metadata import version as _version

from fewer import kernels, plots
from fewer._base import Certificate, EmptyModelWarning, Explanation, SeparableWarning, load
from fewer._bound import Bound, OneVsRestBound, RiskBound
from fewer._select import Selection, Tried
from fewer.adaptive_rvc import AdaptiveRVC
from fewer.adaptive_rvr import AdaptiveRVR
from fewer.automatic import auto
from fewer.bayesian_lasso import BayesianLasso
from fewer.bls import BLS
from fewer.evaluation import Evaluation, cross_validate
from fewer.fast_laplace import FastLaplace
from fewer.lasso import Lasso, LassoCV, LassoPath, lasso_path
from fewer.moments import Moments
from fewer.probit_classifier import ProbitClassifier
from fewer.rvc import RVC
from fewer.rvr import RVR
from fewer.smlr import RMLR, RMLRCV, SMLR, SMLRCV, SMLRPath
from fewer.sparse_regressor import SparseRegressor
from fewer.stability import Stability, stability_selection
from fewer.wavelet_rvr import WaveletRVR

__all__ = [
    "BLS",
    "RMLR",
    "RMLRCV",
    "RVC",
    "RVR",
    "SMLR",
    "SMLRCV",
    "AdaptiveRVC",
    "AdaptiveRVR",
    "BayesianLasso",
    "Bound",
    "Certificate",
    "EmptyModelWarning",
    "Evaluation",
    "Explanation",
    "FastLaplace",
    "Lasso",
    "LassoCV",
    "LassoPath",
    "Moments",
    "OneVsRestBound",
    "ProbitClassifier",
    "RiskBound",
    "SMLRPath",
    "Selection",
    "SeparableWarning",
    "SparseRegressor",
    "Stability",
    "Tried",
    "WaveletRVR",
    "auto",
    "cross_validate",
    "kernels",
    "lasso_path",
    "load",
    "plots",
    "stability_selection",
]

__version__ = _version("fewer")
