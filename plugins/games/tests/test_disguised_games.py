"""Disguises to be read: one play-through of a board game, a card game and a dice game."""

from __future__ import annotations

from pathlib import Path

import pytest
from palestra.kernel.registry import registry
from palestra.testing.golden import matches_golden_transcript
from palestra.testing.subject import Subject

GOLDEN = Path(__file__).with_name("golden_disguised")


@pytest.mark.parametrize("name", ["games/Chess-v0", "games/LeducHoldem-v0", "games/LiarsDice-v0"])
def test_a_disguised_game_reads_as_it_did(name: str) -> None:
    spec = registry().environment(name)
    matches_golden_transcript(Subject(spec, {"disguise": 7}, golden=GOLDEN))
