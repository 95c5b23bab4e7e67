"""Fits beside the rest of a Python program: threads, signals, forks, panics."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone, is_classifier

from fewer import ProbitClassifier, SparseRegressor, _core

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals and forks")


def run(code: str, **kwargs) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=True, **kwargs
    )


@pytest.mark.parametrize(
    ("estimator", "n", "p"),
    [
        (SparseRegressor(), 3000, 60),
        (SparseRegressor(basis="rbf"), 500, 6),
        (ProbitClassifier(), 3000, 60),
        (ProbitClassifier(basis="rbf"), 500, 6),
        (ProbitClassifier(basis="rbf", candidates=50, memory_limit=1e6), 500, 6),
    ],
)
def test_the_same_bits_for_any_number_of_threads(estimator, n, p):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, p))
    y = X[:, :5].sum(axis=1) + rng.normal(size=n)
    y = np.digitize(y, [-2, 2]) if is_classifier(estimator) else y
    fits = [clone(estimator).set_params(n_jobs=jobs).fit(X, y) for jobs in (1, 2, -1, None)]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.coef_, fits[0].coef_)
        np.testing.assert_array_equal(fit.intercept_, fits[0].intercept_)
        np.testing.assert_array_equal(fit.predict(X), fits[0].predict(X))


@pytest.mark.parametrize(
    ("estimator", "n", "p"),
    [
        (SparseRegressor(n_jobs=1), 2500, 1200),
        (ProbitClassifier(n_jobs=1, basis="rbf", max_iter=20, tol=1e-3), 1500, 3),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_threads_run_during_a_fit(estimator, n, p):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = X[:, 0] + rng.normal(size=n)
    y = y > 0 if is_classifier(estimator) else y
    ticks: list[float] = []
    done = threading.Event()

    def tick():
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    estimator.fit(X, y)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert sum(start < t < end for t in ticks) >= (end - start) / 0.1


@POSIX
@pytest.mark.parametrize(
    ("estimator", "n", "p"),
    [
        ("SparseRegressor()", 3000, 3000),
        ("SparseRegressor(n_jobs=1)", 3000, 3000),
        ("SparseRegressor(n_jobs=2)", 400, 8000),
        ("SparseRegressor(basis='rbf')", 3000, 5),
        ("ProbitClassifier()", 3000, 1000),
        ("ProbitClassifier(basis='rbf')", 3000, 5),
        ("ProbitClassifier(basis='rbf', memory_limit=3e8)", 3000, 5),
        ("LassoCV()", 2000, 3000),
        ("LassoCV(n_jobs=1, verbose=1)", 2000, 3000),
        ("SparseRegressor(basis='rbf', gamma='cv')", 1000, 5),
        ("ProbitClassifier(prior='laplace', lam='cv')", 2000, 500),
    ],
)
def test_ctrl_c_stops_a_fit(estimator, n, p):
    code = f"""
        import time
        import numpy as np
        from fewer import LassoCV, ProbitClassifier, SparseRegressor
        rng = np.random.default_rng(0)
        X = rng.normal(size=({n}, {p}))
        y = X @ rng.normal(size={p}) + rng.normal(size={n})
        y = y > 0 if {"Classifier" in estimator} else y
        print("fitting", flush=True)
        try:
            while True:
                {estimator}.fit(X, y)
        except KeyboardInterrupt:
            print("stopped", time.monotonic(), flush=True)
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "fitting\n"
        time.sleep(0.7)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        word, stopped = process.stdout.readline().split()
    assert word == "stopped"
    assert float(stopped) - sent < 0.5


@POSIX
def test_ctrl_c_stops_an_evaluation_and_a_path():
    code = """
        import signal, time
        import numpy as np
        import fewer
        rng = np.random.default_rng(0)
        X = rng.normal(size=(2000, 3000))
        y = X @ rng.normal(size=3000) + rng.normal(size=2000)
        def stop(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, stop)
        for long in (
            lambda: fewer.cross_validate(fewer.LassoCV(), X, y),
            lambda: fewer.lasso_path(X, y, n_lams=10_000),
        ):
            signal.setitimer(signal.ITIMER_REAL, 0.7)
            start = time.monotonic()
            try:
                long()
            except KeyboardInterrupt:
                print(time.monotonic() - start)
    """
    times = [float(line) for line in run(code).stdout.split()]
    assert len(times) == 2
    assert max(times) < 1.2


@POSIX
def test_a_fork_can_fit():
    code = """
        import os
        import numpy as np
        from fewer import SparseRegressor
        X = np.random.default_rng(0).normal(size=(2000, 10))
        y = X[:, 0] + 0.1 * X[:, 1] ** 2
        parent = SparseRegressor().fit(X, y)
        child = os.fork()
        if child == 0:
            same = SparseRegressor().fit(X, y).predict(X) == parent.predict(X)
            os._exit(0 if same.all() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    """
    run(code)


@POSIX
def test_ctrl_c_stops_a_slow_function():
    code = """
        import signal, time
        import numpy as np
        from fewer import SparseRegressor
        X = np.random.default_rng(0).normal(size=(50, 2))
        def slow(X):
            if len(X) > 8:
                signal.setitimer(signal.ITIMER_REAL, 0.1)
                time.sleep(30)
            return X
        def stop(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGALRM, stop)
        start = time.monotonic()
        try:
            SparseRegressor(basis=slow).fit(X, X[:, 0])
        except KeyboardInterrupt:
            print(time.monotonic() - start)
    """
    assert float(run(code).stdout) < 1


def test_a_panic_is_an_exception_that_asks_for_a_report():
    with pytest.raises(RuntimeError, match=r"defect in fewer.*on purpose.*report"):
        _core._panic()
