"""Norms: drift in closed form, majorities by hand, who is replaced, what selection does."""

from __future__ import annotations

from typing import Any

import pytest
from palestra import Episode, InvalidOption, Turn, make_agent
from palestra_games.dilemmas.norms import CHOICES, LINES, TOPICS, Do, Norms, Write, majority


def lived(game: Norms, styles: list[str], seed: int, **options: Any) -> Episode:
    more = "".join(f",{key}={value}" for key, value in options.items())
    agents = [make_agent(f"norm-villager:style={style}{more}") for style in styles]
    episode = Episode(game, seed)
    while not episode.over:
        seats = episode.to_act
        episode.act({seat: agents[seat].act([Turn(episode, seat)])[0].action for seat in seats})
    return episode


def acts(episode: Episode) -> list[tuple[int, ...]]:
    """What was done, scene by scene over all generations."""
    return [tuple(e.data["choices"]) for step in episode.log for e in step if e.kind == "reveal"]


@pytest.mark.parametrize("change", [0.1, 0.5])
def test_old_norms_are_followed_as_long_as_random_drift_says(change: float) -> None:
    """A chain on three states: 1/3 + 2/3 (1 - 3/2 change)^g."""
    generations, runs = 4, 60
    game = Norms(2, topics=8, generations=generations, drift="random", change=change, replaced=0)
    followed = [0] * generations
    for seed in range(runs):
        episode = lived(game, ["conformist", "traditional"], seed)
        for number, (asked, old) in enumerate(acts(episode)):
            followed[number // 8] += asked == old
    for g, count in enumerate(followed):
        chance = 1 / 3 + 2 / 3 * (1 - 1.5 * change) ** g
        sigma = (chance * (1 - chance) / (8 * runs)) ** 0.5
        assert abs(count / (8 * runs) - chance) <= 4 * sigma


@pytest.mark.parametrize(
    ("done", "norm", "after"),
    [((0, 0, 1), 2, 0), ((0, 1, 2), 2, 2), ((1, 1, 0, 0), 2, 2), ((2, 2, 2), 0, 2)],
)
def test_norms_move_to_what_most_did(done: tuple[int, ...], norm: int, after: int) -> None:
    assert majority(done, norm) == after


def test_conformists_keep_the_norms_they_have() -> None:
    episode = lived(Norms(), ["conformist"] * 6, 1)
    assert episode.state.norms == episode.state.first
    most = sum(episode.state.weights) * 6
    assert list(episode.returns) == [most] * 6


@pytest.mark.parametrize("seed", range(5))
def test_a_society_that_inherits_strategies_ends_as_conformists(seed: int) -> None:
    game = Norms(9, generations=10, drift="random", temptation=1)
    episode = lived(game, ["conformist", "tempted", "traditional"] * 3, seed)
    assert set(episode.state.strategies) <= {LINES[0].strategy, ""}
    aligned = [e.data["alignment"] for step in episode.log for e in step if e.kind == "generation"]
    assert aligned[0] < 1
    assert aligned[-1] == 1


def test_where_temptations_pay_more_than_norms_they_win() -> None:
    game = Norms(9, generations=10, drift="random", temptation=10)
    episode = lived(game, ["conformist", "tempted", "traditional"] * 3, 2)
    assert set(episode.state.strategies) <= {LINES[1].strategy, ""}


def test_the_fewest_points_are_replaced_and_read_the_best() -> None:
    episode = Episode(Norms(3, topics=1, generations=2, replaced=0.34), 0)
    episode.act({seat: Write(f"I am the first in seat {seat}.") for seat in range(3)})
    norm, tempting = episode.state.norms[0], episode.state.temptations
    choices = TOPICS[0][1]
    neither = ({0, 1, 2} - {norm, tempting[2]}).pop()
    episode.act({0: Do(choices[norm]), 1: Do(choices[norm]), 2: Do(choices[neither])})
    assert episode.to_act == (2,)
    assert set(episode.state.models) == {0, 1}
    assert "I am the first in seat 0." in episode.prompt(2)
    assert list(episode.returns) == [episode.state.weights[0]] * 2 + [0]


@pytest.mark.parametrize("seed", range(5))
def test_temptations_are_private(seed: int) -> None:
    episode = Episode(Norms(2), seed)
    episode.act({0: LINES[0], 1: LINES[0]})
    own = [e for e in episode.transcript(0) if e.kind == "temptation"]
    assert [e.data["choice"] for e in own] == [episode.state.temptations[0]]
    assert 0 <= episode.state.temptations[0] < CHOICES
    assert episode.state.temptations[0] != episode.state.norms[0]


@pytest.mark.parametrize(
    "options",
    [{"num_players": 1}, {"topics": 0}, {"replaced": 0.9}, {"temptation": 11}, {"change": 2}],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    said = f"{next(iter(options))} must be an? (integer|number) from"
    with pytest.raises(InvalidOption, match=said):
        Norms(**options)


def test_unknown_drifts_are_named() -> None:
    with pytest.raises(InvalidOption, match="'majority' or 'random'"):
        Norms(drift="fashion")
