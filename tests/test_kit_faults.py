"""The script that counts which one-line faults of real games the kit finds."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import palestra
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    sys.path.insert(0, str(ROOT / "scripts"))  # where it finds seed_faults
    found = importlib.util.spec_from_file_location("kit_faults", ROOT / "scripts/kit_faults.py")
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["kit_faults"] = module
    try:
        found.loader.exec_module(module)
    finally:
        sys.path.remove(str(ROOT / "scripts"))
    return module


def test_its_games_are_ten_with_a_golden_transcript_each(script: ModuleType) -> None:
    specs = {spec.id: spec for spec in palestra.specs()}
    assert len(set(script.GAMES)) == 10
    for game in script.GAMES:
        assert (script.golden_folder(specs[game]) / f"{game.partition('/')[2]}.txt").exists()
        assert len(script.faults_of(specs[game], 12, 0)) == 12


def test_a_sound_game_has_no_fault(script: ModuleType) -> None:
    spec = next(spec for spec in palestra.specs() if spec.id == "games/KuhnPoker-v0")
    found = script.look_at(spec.id, script.golden_folder(spec))
    assert found == script.Found("", "")
