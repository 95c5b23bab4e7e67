"""One file per library. A file lists its adapters in ``ADAPTERS``; that is all."""

from __future__ import annotations

import importlib
import pkgutil

from benchmarks.adapters.base import Adapter

__all__ = ["Adapter", "discover"]


def discover() -> list[type[Adapter]]:
    """All adapters of this folder, by file name, in the order each file lists them."""
    found: list[type[Adapter]] = []
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda m: m.name):
        if not module.name.startswith("base"):
            found.extend(importlib.import_module(f"{__name__}.{module.name}").ADAPTERS)
    return found
