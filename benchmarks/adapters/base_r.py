"""Packages of R."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.adapters.base import Adapter


@functools.cache
def _version(package: str) -> str:
    ask = f'cat(as.character(packageVersion("{package}")))'
    try:
        found = subprocess.run(
            ["Rscript", "--vanilla", "-e", ask],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


class RScript(Adapter):
    """A package of R, fitted by a script of this folder."""

    script: ClassVar[Path]

    def interpreter(self) -> str:
        return shutil.which("Rscript") or "Rscript"

    def command(self, job_file: Path, job: Mapping[str, Any]) -> list[str]:
        pairs = [f"{key}={value}" for key, value in job.items()]
        return [self.interpreter(), "--vanilla", str(self.script), *pairs]

    def available(self) -> bool:
        return bool(_version(self.library))

    def version(self) -> str:
        return _version(self.library)
