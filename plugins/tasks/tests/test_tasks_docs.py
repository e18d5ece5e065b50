"""The Python of the page about tasks runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "tasks.md"
CODE = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize("code", CODE, ids=range(len(CODE)))
def test_the_python_of_the_page_runs(code: str) -> None:
    exec(compile(code, PAGE.name, "exec"), {"__name__": __name__})
