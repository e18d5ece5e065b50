"""Siblings of one start: as quick as `play`, reproducible, with all of its options."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import signature
from typing import Any

import palestra
import pytest
from palestra import Agent, Budget, Decision, Episode, InvalidOption, Turn

CONNECT = "games/ConnectFour-v0"


class Counting(Agent):
    """Draws legal moves, and keeps how many turns it was asked at once."""

    name = "counting"

    def __init__(self) -> None:
        self.asked: list[int] = []

    def act(self, turns: Sequence[Turn]) -> list[Decision]:
        self.asked.append(len(turns))
        return [Decision(action=turn.sample(turn.rng(self.seed, 0))) for turn in turns]

    seed = 0

    def reseed(self, seed: int) -> None:
        self.seed = seed


def moves(records: Sequence[Any]) -> list[list[Any]]:
    return [[turn.action for turn in record.turns] for record in records]


def test_all_siblings_are_asked_at_once() -> None:
    agent = Counting()
    records = palestra.rollouts(CONNECT, agents=agent, seed=1, n=8)
    assert agent.asked[0] == 8
    assert len(agent.asked) == max(len(record.steps) for record in records)


@pytest.mark.parametrize("env", [CONNECT, "games/Hangman-v0", "grid/Foraging-v0"])
def test_two_calls_with_one_seed_are_equal(env: str) -> None:
    first, again, other = (
        moves(palestra.rollouts(env, agents="random", seed=seed, n=4, max_episode_steps=12))
        for seed in (5, 5, 6)
    )
    assert first == again != other
    assert len({str(one) for one in first}) > 1


def test_the_first_sibling_is_the_episode_that_play_plays() -> None:
    siblings = palestra.rollouts(CONNECT, agents=["random", "random"], seed=9, n=3)
    played = palestra.play(CONNECT, agents=["random", "random"], seed=9)
    assert moves(siblings)[0] == moves(played)[0]
    assert len({record.seed for record in siblings}) == 1


def test_options_rewards_policy_and_budgets_are_those_of_play() -> None:
    settings: dict[str, Any] = {"rewards": ["env", "food-distance"], "gamma": 0.5}
    settings |= {"max_episode_steps": 4, "rows": 6, "invalid": "forfeit"}
    group = palestra.rollouts("grid/Foraging-v0", agents="random", seed=2, n=2, **settings)
    assert group[0].options["rows"] == 6
    assert (group[0].rewards_from, group[0].gamma) == (("env", "food-distance"), 0.5)
    assert all(len(record.own_turns) <= 8 for record in group)
    records = palestra.rollouts(
        CONNECT, agents=lambda turn: 99, seed=2, n=2, invalid="forfeit", budgets=Budget(calls=5)
    )
    assert [record.outcome.results for record in records] == [("forfeit", "win")] * 2


def started(env: str, steps: int, **options: Any) -> Episode:
    start = palestra.make(env, view="episode", seed=3, **options)
    for _ in range(steps):
        start.act({seat: start.legal_actions(seat)[0] for seat in start.to_act})
    return start


def test_turns_before_the_branch_are_told_apart() -> None:
    start = started(CONNECT, 3)
    group = palestra.rollouts(CONNECT, agents="random", n=3, start=start, parent="trunk")
    for record in group:
        assert record.branched_at == 3
        assert record.parent == "trunk"
        assert record.own_turns == record.turns[3:]
    other = palestra.rollouts(CONNECT, agents="random", n=1, start=started(CONNECT, 4))
    assert other[0].group != group[0].group


def test_settings_that_do_not_fit_are_named() -> None:
    start = started(CONNECT, 1)
    with pytest.raises(InvalidOption, match="n must be at least 1"):
        palestra.rollouts(CONNECT, agents="random", n=0)
    with pytest.raises(InvalidOption, match="pays what it was made with"):
        palestra.rollouts(CONNECT, agents="random", n=2, start=start, rewards=["novelty"])
    with pytest.raises(InvalidOption, match="the start is an episode of"):
        palestra.rollouts("games/TicTacToe-v0", agents="random", n=2, start=start)
    with pytest.raises(InvalidOption, match="rollouts takes no out"):
        palestra.rollouts(CONNECT, agents="random", n=2, out="runs")


def test_a_games_option_named_start_is_given_to_the_game() -> None:
    env = "text/Trash-v0"
    with pytest.raises(InvalidOption, match=r"episode to branch from, not 80;.*palestra\.game"):
        palestra.rollouts(env, agents="random", n=2, start=80)  # type: ignore[arg-type]
    game = palestra.game(env, start=80, rounds=2, talk=False)
    records = palestra.rollouts(game, agents="random", n=2)
    assert [record.options["start"] for record in records] == [80, 80]


def test_no_other_option_has_the_name_of_a_setting() -> None:
    """A setting of `play`, `rollouts` or `make` would hide an option of its name."""
    functions = (palestra.play, palestra.stream, palestra.rollouts, palestra.make)
    settings = {name for function in functions for name in signature(function).parameters}
    hidden = {
        (spec.id, option.name)
        for spec in palestra.specs()
        for option in spec.options
        if option.name in settings
    }
    assert hidden <= {("text/Trash-v0", "start"), ("markets/Trading-v0", "start")}
