from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from palestra import InvalidOption
from palestra_arena import Environment, Settings, Swiss, read_settings
from palestra_arena.settings import settings_from

TOML = """
agents = ["random", "mcts:simulations=50"]
games = 20
game_seconds = 30.0

[schedule]
kind = "swiss"
rounds = 3

[[environments]]
id = "games/ConnectFour-v0"
options = { columns = 5 }
"""


def test_a_toml_file_is_settings(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(TOML)
    assert read_settings(path) == Settings(
        environments=(Environment("games/ConnectFour-v0", options={"columns": 5}),),
        agents=("random", "mcts:simulations=50"),
        games=20,
        game_seconds=30.0,
        schedule=Swiss(rounds=3),
    )


def test_settings_survive_json(tmp_path: Path) -> None:
    settings = Settings(environments=("a/B-v0",), agents=("x",), schedule=Swiss(eliminate=1))
    path = tmp_path / "a.json"
    path.write_bytes(msgspec.json.encode(settings))
    assert read_settings(path) == settings


def test_environments_and_schedules_may_be_named_in_short() -> None:
    short = settings_from({"environments": ["a/B-v0"], "agents": ["x"], "schedule": "swiss"})
    assert short == Settings(environments=("a/B-v0",), agents=("x",), schedule=Swiss())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("agents = ['x']\nenvironments = ['a/B-v0']\ngame = 3", "unknown field `game`"),
        ("agents = ['x']\nenvironments = ['a/B-v0']\ngames = 'many'", "Expected `int`"),
        ("agents = ['x']\nenvironments = ['a/B-v0']\nschedule = 'swis'", "swis"),
        ("agents = [", "neither TOML"),
        ("games = 3", "environment"),
        ("agents = ['x']\nenvironments = 5", "must be a list of ids, not 5"),
        ("agents = ['x']\nenvironments = 'a/B-v0'", "must be a list of ids, not 'a/B-v0'"),
        *(
            (f"agents = ['x']\nenvironments = ['a/B-v0']\nschedule = {schedule}", says)
            for schedule, says in (
                ("{kind = 'swiss', rounds = 0}", "rounds must be 1 or more, not 0"),
                ("{kind = 'swiss', eliminate = -1}", "eliminate must be 0 or more, not -1"),
                ("{kind = 'swiss', bye = nan}", "bye must be a finite number, not nan"),
                ("{kind = 'ladder', sweeps = -3}", "sweeps must be 1 or more"),
                ("{kind = 'population', lineups = 0}", "lineups must be 1 or more"),
            )
        ),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(InvalidOption, match=says):
        read_settings(path)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="no settings file"):
        read_settings(tmp_path / "a.toml")
