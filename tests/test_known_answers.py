"""Every environment of ours says what its rules are checked against and what they leave out."""

from __future__ import annotations

import pytest
from palestra.catalogue.about import about
from palestra.kernel.registry import registry

OURS = ("games", "grid", "text", "markets", "web", "tasks")
IDS = sorted(id for id in registry().environments if id.split("/")[0] in OURS)


@pytest.mark.parametrize("id", IDS)
def test_an_environment_names_an_answer_that_is_not_its_own(id: str) -> None:
    said = about(registry().environment(id).entry_point)
    assert len(said.checked.split()) >= 6, f"{id}: its docstring has no sentence 'Checked: …'"
    assert len(said.left_out.split()) >= 2, f"{id}: its docstring has no sentence 'Left out: …'"
    assert said.prose
    assert "Checked" not in said.prose
    assert "Left out" not in said.prose
