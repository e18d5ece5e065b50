"""The Python of the page about sites runs, and a site of one's own passes the kit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import palestra
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "web.md"
CODE = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    "code",
    [pytest.param(c, marks=[pytest.mark.slow] if "Chromium" in c else []) for c in CODE],
    ids=range(len(CODE)),
)
def test_the_python_of_the_page_runs(code: str, request: pytest.FixtureRequest) -> None:
    if "Chromium" in code:
        request.getfixturevalue("chromium_path")
    exec(compile(code, PAGE.name, "exec"), {"__name__": __name__})


def test_the_site_of_the_page_is_a_game() -> None:
    (code,) = [code for code in CODE if "class LampSite" in code]
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(code, PAGE.name, "exec"), names)
    episode = palestra.Episode(names["LampSite"](), 0)
    assert "Click" in str(episode.legal(0))
    episode.act({0: episode.parse(0, "click('1')")})
    assert episode.outcome is not None
    assert episode.outcome.results == ("win",)
    assert list(episode.returns) == [1.0]
