"""The examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import fewer

MODULES = ["fewer", *(f"fewer.{m.name}" for m in pkgutil.iter_modules(fewer.__path__))]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_everything_public_is_documented():
    assert fewer.__version__
    for name in fewer.__all__:
        assert getattr(fewer, name).__doc__
