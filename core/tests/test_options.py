"""What a game says of options it cannot use."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np
import palestra
import pytest
from palestra import InvalidOption, UnknownName, check_choice, check_ranges

MAPS = "grid/PathFinding-v0"


@dataclass
class Options:
    rows: Any = 3
    share: Any = 0.5

    def __post_init__(self) -> None:
        check_ranges(self, (("rows", 2, 1_000_000), ("share", 0, None)))


@pytest.mark.parametrize("rows", [2, 1_000_000, np.int64(7)])
def test_both_ends_of_a_range_are_in_it(rows: Any) -> None:
    assert Options(rows=rows, share=1e9).rows == rows


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"rows": 1}, "rows must be from 2 to 1000000, not 1"),
        ({"rows": 1_000_001}, "rows must be from 2 to 1000000, not 1000001"),
        ({"rows": "3"}, "rows must be from 2 to 1000000, not '3'"),
        ({"share": -0.5}, "share must be at least 0, not -0.5"),
        ({"share": float("nan")}, "share must be at least 0, not nan"),
        ({"share": None}, "share must be at least 0, not None"),
    ],
)
def test_what_does_not_fit_is_named_with_what_does(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidOption, match=f"^{says}$"):
        Options(**options)


def test_a_split_stands_for_its_options_and_others_count_for_more() -> None:
    maze = palestra.game(MAPS, map="maze", rows=21, columns=21, num_players=16, sight=5)
    assert palestra.game(MAPS, split="maze") == maze
    assert palestra.game(MAPS, split="maze", rows=11) == replace(maze, rows=11)
    assert gymnasium.make(f"palestra:{MAPS}", split="maze").unwrapped.game == maze  # type: ignore[attr-defined]
    record = palestra.play(MAPS, agents="random", split="maze", max_episode_steps=3)[0]
    assert record.options["map"] == "maze"
    assert len(record.agents) == 16


@pytest.mark.parametrize(
    "agent", ["first", palestra.make_agent("first"), lambda turn: turn.mask.argmax()], ids=type
)
def test_one_agent_takes_every_seat(agent: Any) -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=agent)
    assert len(record.agents) == 2
    assert [step.turns[0].action for step in record.steps] == [0, 1, 2, 3, 4, 5, 6]


def test_an_unknown_split_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match=r"grid/PathFinding-v0 'mazes'; did you mean 'maze'\?"):
        palestra.game(MAPS, split="mazes")
    with pytest.raises(UnknownName, match="It has none: name the options themselves"):
        palestra.game("games/Chess-v0", split="maze")


def test_a_game_that_is_made_takes_no_more_options() -> None:
    with pytest.raises(InvalidOption, match=r"takes no options \['sight'\]"):
        palestra.play(palestra.game(MAPS), agents=["random"] * 4, sight=3)


def test_a_word_that_is_no_choice_is_named_with_the_choices() -> None:
    check_choice("map", "maze", ("maze", "room"))
    with pytest.raises(InvalidOption, match=r"^map must be maze or room, not 'cave'$"):
        check_choice("map", "cave", ("maze", "room"))


@pytest.mark.parametrize("value", [np.array([1, 2]), "retry:²", 3, [], "x" * 5_000, {1: 2}])
def test_settings_of_a_view_are_refused_by_value_whatever_they_are(value: Any) -> None:
    for name in ("invalid", "obs", "render_mode"):
        with pytest.raises(palestra.PalestraError) as refused:
            palestra.make("games/TicTacToe-v0", **{name: value})
        assert len(str(refused.value)) < 500
