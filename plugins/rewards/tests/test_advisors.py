"""Advisors that learn from one reward term each, and the agent that plays by their sum."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption, Turn
from palestra_rewards.tabular import Advisors, MultiAdvisor

STAY, NORTH, SOUTH, WEST, EAST = range(5)
TERMS = ("fruit_0", "fruit_1", "fruit_2")
SMALL = {"rows": 3, "columns": 3, "num_fruits": 3, "sight": 3}


def one_fruit(turn: Turn, term: str) -> object:
    """Where the player is, and the advisor's own fruit: the others' do not concern it."""
    places = turn.observation.reshape(-1, 2).tolist()
    return [places[0], places[1 + int(term.removeprefix("fruit_"))]]


VIEW = f"{__name__}:one_fruit"


@cache
def taught(planning: str, gamma: float, *, view: str = VIEW, episodes: int = 60) -> Advisors:
    """Advisors after random play on a board of three by three."""
    records = palestra.play(
        "grid/Fruit-v0",
        agents=["random"],
        episodes=episodes,
        seed=0,
        max_episode_steps=30,
        **SMALL,
    )
    return Advisors(TERMS, planning=planning, gamma=gamma, view=view).learn(records)


def in_the_middle() -> Episode:
    """A fruit one step to the north, one to the west and one to the east of the player."""
    game = palestra.make("grid/Fruit-v0", view="episode", seed=0, **SMALL).game
    episode = Episode(game, 0)
    episode.load(game.arrange([(1, 1)], [(0, 1), (1, 0), (1, 2)]))
    return episode


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("gamma", [0.4, 0.6])
def test_an_egocentric_advisor_values_its_fruit_by_its_distance(gamma: float) -> None:
    """Closed form: gamma ** steps from where the action leads, 0 once the fruit is eaten."""
    advisors = taught("egocentric", gamma, episodes=200)
    checked = 0
    for values in advisors.values:
        for key, actions in values.items():
            (row, column), (fruit_row, fruit_column) = eval(key)
            for action, value in actions.items():
                down, right = {0: (0, 0), 1: (-1, 0), 2: (1, 0), 3: (0, -1), 4: (0, 1)}[int(action)]
                steps = abs(row + down - fruit_row) + abs(column + right - fruit_column)
                expected = gamma**steps if fruit_row >= 0 else 0.0
                assert value <= expected + 1e-9  # an episode may be cut off before
                checked += abs(value - expected) < 1e-6
    assert checked > 0.9 * sum(len(a) for v in advisors.values for a in v.values())


@pytest.mark.parametrize(("gamma", "stalls"), [(0.4, False), (0.6, True)])
def test_egocentric_advisors_stall_between_three_fruits_beyond_one_half(
    gamma: float, stalls: bool
) -> None:
    """Laroche et al., attractors: to stay is worth 3 gamma, to go 1 + 2 gamma squared."""
    advisors = taught("egocentric", gamma, episodes=200)
    turn = Turn(in_the_middle(), 0)
    seen = advisors.sees(turn)
    stay, north = advisors.sums(seen, ["0", "1"])
    assert stay == pytest.approx(3 * gamma)
    assert north == pytest.approx(1 + 2 * gamma**2)
    chosen = {MultiAdvisor(advisors=advisors, seed=s).act([turn])[0].action for s in range(8)}
    assert chosen == {STAY} if stalls else STAY not in chosen


def test_empathic_advisors_who_see_everything_take_the_shortest_tour(tmp_path: Path) -> None:
    """From one start, by a file: as quick as the exact tour of `fruit-picker`."""
    rounds = [
        palestra.rollouts("grid/Fruit-v0", agents="random", n=150, seed=5, **SMALL),
    ]
    advisors = Advisors(TERMS, planning="empathic", gamma=0.9)
    for records in rounds:
        advisors.learn(records)
    advisors.save(tmp_path / "advisors.json")
    name = f"multi-advisor:{tmp_path / 'advisors.json'}"
    mine, best = (
        palestra.play("grid/Fruit-v0", agents=[agent], seed=5, **SMALL)[0]
        for agent in (name, "fruit-picker")
    )
    assert len(mine.steps) == len(best.steps)
    assert mine.returns == (3.0,)


def test_agnostic_advisors_are_those_of_a_player_at_random() -> None:
    """On a corridor of three cells, by hand: v(end) = 0; V(far) = g V(near) of even chances."""
    corridor = {"rows": 2, "columns": 2, "num_fruits": 1, "sight": 2, "max_steps": 400}
    records = palestra.rollouts("grid/Fruit-v0", agents="random", n=80, seed=1, **corridor)
    gamma = 0.5
    found = Advisors(["fruit_0"], planning="agnostic", gamma=gamma, view=VIEW).learn(records)
    near, far = np.linalg.solve(
        # near: stay, go to the fruit (1), go to the opposite corner; far: stay, near, near
        [[1 - gamma / 3, -gamma / 3], [-2 * gamma / 3, 1 - gamma / 3]],
        [1 / 3, 0],
    )
    for key, actions in found.values[0].items():
        (row, column), (fruit_row, fruit_column) = eval(key)
        if fruit_row < 0:
            continue
        distance = abs(row - fruit_row) + abs(column - fruit_column)
        mean = float(np.mean(list(actions.values())))
        assert mean == pytest.approx({1: near, 2: far}[distance], abs=1e-6)


def test_several_seats_learn_apart_and_explore() -> None:
    two = SMALL | {"num_players": 2}
    records = palestra.play("grid/Fruit-v0", agents=["random"] * 2, episodes=40, seed=2, **two)
    first, both = (
        Advisors(TERMS, view=VIEW, planning="egocentric", gamma=0.5).learn(records, seats=seats)
        for seats in ([0], None)
    )
    assert sum(map(len, first.values)) < sum(map(len, both.values))
    agent = MultiAdvisor(advisors=both, epsilon=0.5)
    played = palestra.play("grid/Fruit-v0", agents=[agent, "random"], episodes=3, **two)
    assert not any(record.error for record in played)
    weighed = Advisors(TERMS, weights={"fruit_1": 0.0}, view=VIEW)
    weighed.values = both.values
    key = next(iter(both.values[1]))
    assert weighed.sums(["", key, ""], list(both.values[1][key])) == [0.0] * len(
        both.values[1][key]
    )


def test_advisors_that_do_not_fit_are_named(tmp_path: Path) -> None:
    with pytest.raises(palestra.UnknownName, match="planning 'egocentrc'"):
        Advisors(["a"], planning="egocentrc")
    with pytest.raises(palestra.UnknownName, match="term 'b'"):
        Advisors(["a"], weights={"b": 1.0})
    with pytest.raises(InvalidOption, match="at least one reward term"):
        Advisors([])
    with pytest.raises(InvalidOption, match="there are no advisors at"):
        palestra.make_agent(f"multi-advisor:{tmp_path / 'none.json'}")
    with pytest.raises(InvalidOption, match="name the file"):
        palestra.make_agent("multi-advisor")
