"""The cases with a goal, by what they minimise."""

from __future__ import annotations

from benchmarks import lasso, logistic
from benchmarks.lasso import Reference
from benchmarks.problem import Case, Problem, Solution


def largest_lam(case: Case, problem: Problem) -> float:
    """The smallest penalty at which the L1 problem has no weights."""
    if case.task in logistic.TASKS:
        return logistic.Logistic.of(case.task, case.classes, problem.X, problem.y).largest_lam()
    return lasso.largest_lam(problem.X, problem.y)


def judge(
    case: Case, problem: Problem, solution: Solution, reference: Reference
) -> dict[str, float | None]:
    """The measures of one solution."""
    how = logistic.judge_logistic if case.task in logistic.TASKS else lasso.judge_lasso
    return how(case, problem, solution, reference)
