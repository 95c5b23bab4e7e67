"""The README says what the code does: its example and its table are run."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_it_says():
    example = doctest.DocTestParser().get_doctest(README, {}, "README", "README.md", 0)
    assert example.examples, "no example was found"
    report: list[str] = []
    doctest.DocTestRunner().run(example, out=report.append)
    assert not report, "".join(report)


def test_the_table_is_what_the_demo_prints(tmp_path):
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    command = target / "release" / "fewer"
    if not command.exists():
        pytest.skip("the command is not built: `make demo` builds it")
    printed = subprocess.run(
        [command, "demo"], cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    (table,) = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)
    assert table in printed
