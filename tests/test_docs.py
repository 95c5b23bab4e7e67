"""The pages of the documentation say what the code does: their examples are run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGES = sorted((Path(__file__).parent.parent / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_examples_print_what_they_say(page):
    text = page.read_text(encoding="utf-8").replace("```\n", "\n")
    example = doctest.DocTestParser().get_doctest(text, {}, page.stem, str(page), 0)
    report: list[str] = []
    doctest.DocTestRunner().run(example, out=report.append)
    assert not report, "".join(report)
