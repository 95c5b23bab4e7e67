"""Effective draws per second of the Bayesian lasso, beside NumPyro.

    python -m benchmarks.bayesian_lasso [--repeats N] [--save]

The model of Park & Casella 2008 on the diabetes data, columns and target as in their paper, λ² ~
Gamma(1, 1.78). The figure is the smallest bulk effective number of draws over all weights and λ,
as ArviZ computes it for both, divided by CPU seconds in one thread. For fewer that is the whole
fit, warm-up and diagnostics included; for NumPyro sampling alone, after warm-up and compilation.
NUTS is run on the weights themselves and on weights in units of the prior's scale, with the
likelihood of all rows and with that of XᵀX and Xᵀy, which is the same; four chains at once.
Libraries take turns; shown is the best of each.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false")

import numpy as np  # noqa: E402
from sklearn.datasets import load_diabetes  # noqa: E402

RESULTS = Path(__file__).parent / "results"
SHAPE, RATE = 1.0, 1.78

Sampled = tuple[float, dict[str, np.ndarray]]  # CPU seconds, draws by chain


def data() -> tuple[np.ndarray, np.ndarray]:
    """Columns of unit length, as scikit-learn has them, and the target about its mean."""
    X, y = load_diabetes(return_X_y=True)
    return X, y - y.mean()


def of_fewer(draws: int) -> Callable[[int], Sampled]:
    """The whole fit."""
    from fewer import BayesianLasso

    X, y = data()

    def run(seed: int) -> Sampled:
        model = BayesianLasso(
            standardize=False, lam_rate=RATE, draws=draws, n_jobs=1, random_state=seed
        )
        start = time.process_time()
        model.fit(X, y)
        seconds = time.process_time() - start
        return seconds, {"w": model.draws_["coef"], "lam": model.draws_["lam"]}

    return run


def of_numpyro(relative: bool, products: bool, chains: int, draws: int) -> Callable[[int], Sampled]:
    """Sampling after warm-up, compiled before."""
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS

    jax.config.update("jax_enable_x64", True)
    X, y = map(jnp.asarray, data())
    rows, columns = X.shape
    gram, cross, square, scale = X.T @ X, X.T @ y, y @ y, y.std()

    def model() -> None:
        square_of_lam = numpyro.sample("square_of_lam", dist.Gamma(SHAPE, RATE))
        lam = numpyro.deterministic("lam", jnp.sqrt(square_of_lam))
        # p(σ²) ∝ 1/σ² is flat in log σ.
        log = numpyro.sample("log", dist.ImproperUniform(dist.constraints.real, (), ()))
        sigma = scale * jnp.exp(log)
        if relative:
            z = numpyro.sample("z", dist.Laplace(0, 1).expand([columns]).to_event(1))
            w = numpyro.deterministic("w", z * sigma / lam)
        else:
            w = numpyro.sample("w", dist.Laplace(0, sigma / lam).expand([columns]).to_event(1))
        if products:
            residual = square - 2 * w @ cross + w @ (gram @ w)
        else:
            residual = jnp.sum((y - X @ w) ** 2)
        # The intercept integrated out takes one row.
        numpyro.factor("y", -(rows - 1) * jnp.log(sigma) - 0.5 * residual / sigma**2)

    sampler = MCMC(
        NUTS(model),
        num_warmup=1000,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.warmup(jax.random.PRNGKey(0))
    sampler.run(jax.random.PRNGKey(1))  # compiles

    def run(seed: int) -> Sampled:
        start = time.process_time()
        sampler.run(jax.random.PRNGKey(seed + 2))
        found = jax.block_until_ready(sampler.get_samples(group_by_chain=True))
        seconds = time.process_time() - start
        return seconds, {name: np.asarray(found[name]) for name in ("w", "lam")}

    return run


def effective(draws: dict[str, np.ndarray]) -> float:
    """The smallest bulk effective number of draws, by ArviZ."""
    import arviz

    numbers = [draws["lam"], *np.moveaxis(draws["w"], -1, 0)]
    return min(float(arviz.ess(np.asarray(x), method="bulk")) for x in numbers)


def entrants() -> Iterator[tuple[str, Callable[[], Callable[[int], Sampled]]]]:
    """All that is measured, and how each is made ready."""
    yield "fewer, 4 × 1000 draws", partial(of_fewer, 1000)
    yield "fewer, 4 × 10000 draws", partial(of_fewer, 10000)
    for relative, weights in ((False, "w"), (True, "wλ/σ")):
        for products, likelihood in ((False, "rows"), (True, "XᵀX")):
            label = f"NumPyro, NUTS on {weights}, {likelihood}, 4 × 1000 draws"
            yield label, partial(of_numpyro, relative, products, 4, 1000)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="parts of names, between commas")
    parser.add_argument("--save", action="store_true")
    args = parser.parse_args()
    wanted = args.only.split(",")
    runs = [(k, make()) for k, make in entrants() if any(part in k for part in wanted)]
    found: dict[str, list[tuple[float, float, Any]]] = {label: [] for label, _ in runs}
    for repeat in range(args.repeats):
        for label, run in runs:
            seconds, draws = run(repeat)
            found[label].append((effective(draws), seconds, float(np.median(draws["lam"]))))
    best = {label: max(entries, key=lambda e: e[0] / e[1]) for label, entries in found.items()}
    ours = max(e[0] / e[1] for label, e in best.items() if label.startswith("fewer"))
    lines = [
        __doc__ or "",
        "| sampler | effective draws | CPU s | per second | fewer is faster by | median λ |",
        "|---|---|---|---|---|---|",
    ]
    for label, (draws, seconds, lam) in best.items():
        rate = draws / seconds
        lines.append(
            f"| {label} | {draws:.0f} | {seconds:.3g} | {rate:.4g} | {ours / rate:.3g} | "
            f"{lam:.3f} |"
        )
    text = "\n".join(lines) + "\n"
    print(text)
    if args.save:
        (RESULTS / "bayesian_lasso.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
