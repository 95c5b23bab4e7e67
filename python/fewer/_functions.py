"""The user's own functions of x and kernels."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

# What the second argument of a kernel is called that takes its rows for centres by default.
_CENTRES = ("Y", "C", "centres")


def name_of(function: Callable[..., Any], unnamed: str = "basis") -> str:
    """Return the name under which a model file remembers the function."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    return unnamed if name == "<lambda>" else name


def is_kernel(function: Callable[..., Any]) -> bool:
    """Tell a kernel k(X, C) from functions of X by the arguments it must be given."""
    if isinstance(function, np.ufunc):  # not all versions let its signature be read
        return function.nin == 2
    which = (
        "write a function of one argument, such as def f(X), for functions of x, or of two, such "
        "as def k(X, C), for a kernel"
    )
    name = name_of(function)
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ValueError(
            f"basis function '{name}': which arguments it takes cannot be told; {which}, that "
            "calls it"
        ) from None
    empty = inspect.Parameter.empty
    keywords = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is empty]
    if keywords:
        raise ValueError(
            f"basis function '{name}': it must be given {', '.join(keywords)} by name; bind them "
            "with functools.partial"
        )
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    required = sum(p.default is empty for p in positional)
    if required == 2:
        return True
    if required > 2 or not parameters:
        raise ValueError(f"basis function '{name}': it must be given {required} arguments; {which}")
    if len(positional) > 1 and positional[1].default is None and positional[1].name in _CENTRES:
        return True
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) or not positional:
        raise ValueError(
            f"basis function '{name}': it may be called with one argument or with more; {which}"
        )
    return False
