"""The goal seeker against brute force over all states of small worlds, and against chance."""

from __future__ import annotations

from collections import deque
from itertools import product
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pytest
from palestra import Agent, Episode, InvalidOption, Rng, Turn
from palestra.agents.making import make_agent
from palestra.grids.compass import EASTWARD, SOUTHWARD
from palestra_envs.grid.particles.game import Particles
from palestra_envs.grid.xland.game import ACTIONS, DROP, GOAL, GRAB, OPPOSITE, WINDOW, XLand
from palestra_envs.grid.xland.goal_seekers import Beliefs, GoalSeeker, dangers, options_of, plan
from palestra_envs.grid.xland.options import HOLD, NEAR, ON, SEE, write_goal
from palestra_envs.grid.xland.rules import FREE, goal_holds

# Brute force


def place_of(state: Any) -> tuple[int, int, tuple[int, ...]]:
    """Own cell, object in hand, where each lies (-1: in hand), of one player."""
    held = next((item for item, who in enumerate(state.held_by.tolist()) if who == 0), -1)
    lies = [-1 if item == held else cell for item, cell in enumerate(state.lies.tolist())]
    return int(state.cell[0]), held, tuple(lies)


def moved(game: XLand, state: Any, place: Any, action: int) -> Any:
    cell, held, lies = place
    if action == GRAB:
        here = [item for item, there in enumerate(lies) if there == cell]
        if held < 0 and here:
            return cell, here[0], tuple(-1 if i == here[0] else c for i, c in enumerate(lies))
    elif action == DROP:
        if held >= 0:
            return cell, -1, tuple(cell if i == held else c for i, c in enumerate(lies))
    else:
        row, column = cell // game.columns + SOUTHWARD[action], cell % game.columns
        column += EASTWARD[action]
        inside = 0 <= row < game.rows and 0 <= column < game.columns
        if inside and not state.walls[game.at(row, column)]:
            return game.at(row, column), held, lies
    return place


def fewest_steps(game: XLand, state: Any) -> int | None:
    """Steps to the first pay of a lone player who knows all; None if there is no way at all."""
    scratch, start = game.clone(state), place_of(state)

    def paid(place: Any) -> bool:
        scratch.cell[0] = place[0]
        for item, cell in enumerate(place[2]):
            scratch.held_by[item], scratch.lies[item] = (0, 0) if cell < 0 else (FREE, cell)
        return goal_holds(game.config, scratch, 0)

    if paid(start):
        return 0
    found, queue = {start: 0}, deque([start])
    while queue:
        place = queue.popleft()
        for action in range(1, len(ACTIONS)):
            then = moved(game, state, place, action)
            if then not in found:
                found[then] = found[place] + 1
                if paid(then):
                    return found[then]
                queue.append(then)
    return None


def knowing_all(game: XLand, state: Any) -> Beliefs:
    beliefs = Beliefs(game, 0)
    beliefs.update(game.observe(state, 0), 0)
    beliefs.walls = state.walls.tolist()
    walls = zip(state.floor.tolist(), beliefs.walls, strict=True)
    beliefs.floor = [-2 if wall else colour for colour, wall in walls]
    beliefs.lies = [
        int(state.cell[0]) if who == 0 else cell
        for cell, who in zip(state.lies.tolist(), state.held_by.tolist(), strict=True)
    ]
    return beliefs


def drawn_small(seed: int, **options: Any) -> tuple[XLand, Any]:
    """A drawn world of four by four cells with two objects, so that all its states can be tried."""
    game = XLand(rows=4, columns=4, num_players=1, num_objects=2, sight=2, **options)
    return game, game.initial_state(seed)


ME, RED, GREEN = range(3)
TERMS = [
    *[(NEAR, one, other) for one, other in ((ME, RED), (GREEN, ME), (RED, GREEN))],
    *[(SEE, ME, RED), (SEE, ME, GREEN), (HOLD, ME, RED), (HOLD, ME, GREEN)],
    *[(ON, thing, colour) for thing in range(3) for colour in range(3)],
]


@pytest.mark.parametrize("denied", [0, 1])
@pytest.mark.parametrize("term", TERMS)
def test_plans_to_one_relation_or_its_denial_are_the_shortest_there_are(
    term: tuple[int, int, int], denied: int
) -> None:
    compared = 0
    for seed in range(12):
        game, state = drawn_small(seed)
        if seed % 3 == 2:  # with something in hand
            state.held_by[seed % 2], state.lies[seed % 2] = 0, 0
        write_goal(state.goals[0], [[(*term, denied)]])
        actions, steps = (
            plan(knowing_all(game, state), ((*term, denied),)),
            fewest_steps(game, state),
        )
        assert (None if actions is None else len(actions)) == steps
        compared += bool(steps)
    assert compared


@pytest.mark.exhaustive
def test_plans_to_several_relations_reach_them_in_the_fewest_steps() -> None:
    planned = 0
    for seed in range(150):
        game, state = drawn_small(seed, max_options=1, max_terms=3)
        option = options_of(game.observe(state, 0))[0]
        actions, steps = plan(knowing_all(game, state), option), fewest_steps(game, state)
        assert (None if actions is None else len(actions)) == steps
        for step, action in enumerate(actions or ()):
            paid = game.step(state, {0: action}).rewards
            assert bool(paid) == (step + 1 == steps)
        planned += bool(actions)
    assert planned > 100


def turns_of(episode: Episode, agents: dict[int, Agent]) -> dict[int, int]:
    return {seat: agents[seat].act([Turn(episode, seat)])[0].action for seat in episode.to_act}


def play_out(game: XLand, names: list[str], seed: int, state: Any = None) -> list[list[float]]:
    """What each seat is paid in each step; one agent plays all seats of its name."""
    episode = Episode(game, seed, compiled=False)
    if state is not None:
        episode.load(state)
    made = {name: make_agent(name) for name in set(names)}
    for number, name in enumerate(sorted(made)):
        made[name].reseed(1000 * seed + number)
    paid = []
    while not episode.over:
        before = list(episode.returns)
        episode.act(turns_of(episode, {seat: made[name] for seat, name in enumerate(names)}))
        paid.append([b - a for a, b in zip(before, episode.returns, strict=True)])
    return paid


def test_whatever_can_be_reached_in_a_small_world_is_and_held_by_who_sees_only_a_part() -> None:
    """Paid in the end if and only if brute force finds a way; never sooner than it; then always."""
    reached, fewest, taken = 0, 0, 0
    for seed in range(80):
        game, state = drawn_small(seed, max_steps=60)
        steps = fewest_steps(game, state)
        paid = [pay for (pay,) in play_out(game, ["goal-seeker"], seed)]
        if steps is None:
            assert not any(paid)
            continue
        first = paid.index(1.0)
        assert first + 1 >= steps
        assert all(paid[first:])
        reached, fewest, taken = reached + 1, fewest + steps, taken + first + 1
    assert reached > 60
    assert taken < 1.2 * fewest  # it looks for what it does not see


# Hand-made worlds

FLOOR = ["0011222"] * 7


def world(goals: Any, players: Any, objects: Any, **options: Any) -> tuple[XLand, Any]:
    walls = options.pop("walls", ())
    game = XLand(
        rows=7, columns=7, num_players=len(players), num_objects=len(objects), density=0, **options
    )
    return game, game.arrange(players, objects, goals, floor=FLOOR, walls=walls)


def first_paid(game: XLand, state: Any, names: list[str], seat: int = 0) -> int:
    paid = [pay[seat] for pay in play_out(game, names, 0, state)]
    assert all(paid[paid.index(1.0) :])
    return paid.index(1.0) + 1


@pytest.mark.parametrize(
    ("term", "steps"),
    [
        pytest.param((NEAR, 0, 1, 0), 5, id="to the red ball, six cells off"),
        pytest.param((HOLD, 0, 1, 0), 7, id="and to pick it up"),
        pytest.param((ON, 0, 2, 0), 4, id="four cells east"),
        pytest.param((ON, 0, 0, 1), 2, id="off white, two cells east"),
        pytest.param((ON, 2, 1, 0), 9, id="six south, grab, two east"),
        pytest.param((ON, 1, 2, 1), 6 + 1 + 3, id="six east, grab, three west"),
        pytest.param((NEAR, 1, 2, 0), 6 + 1 + 11, id="from corner to corner"),
    ],
)
def test_one_relation_is_reached_in_the_fewest_steps(term: Any, steps: int) -> None:
    game, state = world([[[term]]], [(0, 0)], [(0, 6), (6, 0)], sight=6)
    assert first_paid(game, state, ["goal-seeker"]) == steps


@pytest.mark.parametrize(
    ("term", "steps"),
    [
        pytest.param((NEAR, 0, 1, 1), 1, id="away from what lies beside"),
        pytest.param((SEE, 0, 1, 1), 2, id="two cells away, out of sight"),
        pytest.param((HOLD, 0, 1, 1), 0, id="it holds nothing"),
    ],
)
def test_a_denied_relation_is_left_in_the_fewest_steps(term: Any, steps: int) -> None:
    game, state = world([[[term]]], [(3, 3)], [(3, 2), (0, 0)], sight=2)
    assert first_paid(game, state, ["goal-seeker"]) == max(1, steps)


def test_it_puts_down_what_it_should_not_hold() -> None:
    game, state = world([[[(HOLD, 0, 1, 1)]]], [(3, 3)], [(3, 3), (0, 0)], sight=2)
    state.held_by[0], state.lies[0] = 0, 0
    assert first_paid(game, state, ["goal-seeker"]) == 1


def test_it_takes_the_option_that_is_nearest() -> None:
    goal = [[(HOLD, 0, 1, 0)], [(ON, 0, 1, 0)]]
    game, state = world([goal], [(0, 0)], [(0, 6), (6, 0)], sight=6)
    assert first_paid(game, state, ["goal-seeker"]) == 2


def test_it_walks_round_walls() -> None:
    """Straight on, the ball would be three cells off; the wall makes it nine."""
    walls = [(row, 3) for row in range(6)]
    game, state = world([[[(HOLD, 0, 1, 0)]]], [(3, 2)], [(3, 4), (0, 0)], sight=6, walls=walls)
    beliefs = knowing_all(game, state)
    assert len(plan(beliefs, ((HOLD, 0, 1, 0),)) or ()) == 3 + 2 + 3 + 1


def test_what_was_seen_is_remembered_until_the_episode_ends() -> None:
    """Two balls five cells apart, of which it sees one at a time: it goes back for the first."""
    goal = [[(NEAR, 1, 2, 0)]]
    game, state = world([goal], [(3, 1)], [(3, 0), (3, 5)], sight=2)
    agent, episode = GoalSeeker(), Episode(game, 0, compiled=False)
    episode.load(state)
    seen = set()
    while not episode.over and not any(episode.returns):
        episode.act(turns_of(episode, {0: agent}))
        (beliefs,) = agent._beliefs.values()
        seen.add(tuple(beliefs.lies))
    assert (game.at(3, 0), -1) in seen  # the second is not known yet
    assert (game.at(3, 0), game.at(3, 5)) in seen  # the first is out of sight
    assert episode.returns == [1.0]
    agent.forget(id(episode))
    assert not agent._beliefs


def test_it_brings_what_another_should_hold_and_takes_what_he_should_not() -> None:
    goals = [[(HOLD, 1, 2, 0)]], [[(SEE, 1, 0, 0)]]
    game, state = world(goals, [(0, 0), (6, 6)], [(0, 6), (6, 0)], sight=6, max_steps=30)
    agent, episode, red = GoalSeeker(), Episode(game, 0, compiled=False), 0
    episode.load(state)
    while not episode.over:
        episode.act({0: turns_of(episode, {0: agent, 1: agent})[0], 1: 0})
    row, column = game.place(episode.state.lies[red])
    assert abs(row - 6) + abs(column - 6) == 1
    assert int(episode.state.held_by[red]) == FREE
    game, state = world(
        [[[(HOLD, 1, 2, 1)]], goals[1]], [(0, 0), (6, 6)], [(0, 6), (6, 0)], sight=6
    )
    agent, episode = GoalSeeker(), Episode(game, 0, compiled=False)
    episode.load(state)
    for _ in range(7):
        episode.act({0: turns_of(episode, {0: agent, 1: agent})[0], 1: 0})
    assert int(episode.state.held_by[red]) == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_chaser_beside_a_runner_stays_beside_him_whatever_he_does(seed: int) -> None:
    game = XLand(game="tag", num_players=2, rows=7, columns=7, num_objects=1, max_steps=100)
    paid = [chaser for chaser, _ in play_out(game, ["goal-seeker", "random"], seed)]
    assert 1.0 in paid
    assert all(paid[paid.index(1.0) :])


def test_the_opposite_of_a_goal_is_true_where_the_goal_is_not() -> None:
    """By truth tables of (a and not b) or (c and d)."""
    game = XLand()
    view = game.observe(game.initial_state(0), 0)
    a, b, c, d = ((NEAR, 0, 2, 0), (HOLD, 0, 2, 1), (SEE, 0, 3, 0), (ON, 0, 1, 0))
    write_goal(view[GOAL:WINDOW].reshape(3, 3, 4), [[a, b], [c, d]])
    for opposite in (0, 1):
        view[OPPOSITE] = opposite
        for values in product((False, True), repeat=4):
            true = {t[:3]: value for t, value in zip((a, b, c, d), values, strict=True)}
            met = any(all(true[t[:3]] != bool(t[3]) for t in o) for o in options_of(view))
            goal = (values[0] and not values[1]) or (values[2] and values[3])
            assert met == (goal != bool(opposite))


def test_only_a_rival_seen_of_late_is_a_danger() -> None:
    game, state = world([[[(NEAR, 1, 0, 1)]]] * 2, [(3, 3), (3, 5)], [(0, 0)], sight=2)
    beliefs, term = Beliefs(game, 0), (NEAR, 1, 0, 1)
    beliefs.update(game.observe(state, 0), 0)
    assert dangers(beliefs, (term,)) == {term: 1}
    assert dangers(beliefs, ((NEAR, 1, 0, 0),)) == {}
    beliefs.now = 10
    assert dangers(beliefs, (term,)) == {}


# Drawn tasks and named games, against chance


def gain(game: XLand, seats: list[int], episodes: int) -> tuple[float, float]:
    """How much more the seats earn than random players in their places, and its standard error.

    All others play at random; both times in the same worlds.
    """
    seekers = ["goal-seeker" if p in seats else "random" for p in range(game.num_players)]
    more = []
    for seed in range(episodes):
        earned = [
            fmean(sum(pay[seat] for pay in play_out(game, names, seed)) for seat in seats)
            for names in (seekers, ["random"] * game.num_players)
        ]
        more.append(earned[0] - earned[1])
    return fmean(more), stdev(more) / episodes**0.5


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_lone_seeker_earns_far_more_than_chance_in_drawn_tasks() -> None:
    """54 of 64 steps against 7 (300 tasks); some tasks cannot be done at all."""
    mean, error = gain(XLand(num_players=1), [0], 120)
    assert mean - 3 * error > 40


@pytest.mark.exhaustive(sample=3)
@pytest.mark.parametrize(
    ("options", "seats", "least"),
    [
        pytest.param({"relation": "independent"}, [0], 5, id="independent"),
        pytest.param({"relation": "shared"}, [0, 1], 12, id="shared"),
        pytest.param({"relation": "rival"}, [0], 5, id="rival"),
        pytest.param({"relation": "rival"}, [1], 0, id="rival, the opposite"),
        pytest.param({"game": "tag", "num_players": 3}, [0], 30, id="chaser"),
        pytest.param({"game": "tag", "num_players": 3}, [1, 2], 0, id="runners"),
        pytest.param({"game": "hide-and-seek", "num_players": 4}, [0, 1], 15, id="seekers"),
        pytest.param({"game": "hide-and-seek", "num_players": 4}, [2, 3], 8, id="hiders"),
        pytest.param({"game": "capture-the-flag", "num_players": 4}, [1, 3], 15, id="flag"),
    ],
)
def test_seekers_earn_more_than_chance_in_every_seat(
    options: dict[str, Any], seats: list[int], least: float
) -> None:
    game = XLand(**options)
    mean, error = gain(game, seats, 8 if game.num_players > 2 else 20)
    assert mean - 2 * error > least


@pytest.mark.parametrize("options", [{"num_players": 3}, {"relation": "rival"}, {"game": "tag"}])
def test_it_decides_the_same_whatever_it_cannot_see(options: dict[str, Any]) -> None:
    game, rng, differing = XLand(**options), Rng(1), 0
    for seed in range(10):
        state = game.initial_state(seed)
        for seat in range(game.num_players):
            chosen = []
            for world in (state, game.determinize(state, seat, rng)):
                episode = Episode(game, seed, compiled=False)
                episode.load(world)
                chosen.append(GoalSeeker(seed=1).act([Turn(episode, seat)])[0].action)
                differing += not np.array_equal(world.cell, state.cell)
            assert chosen[0] == chosen[1]
    assert differing


def test_it_says_which_game_it_plays() -> None:
    episode = Episode(Particles(), 0, compiled=False)
    with pytest.raises(InvalidOption, match="plays XLand, not"):
        GoalSeeker().act([Turn(episode, 0)])


def test_a_reseeded_seeker_plays_the_same() -> None:
    game = XLand(game="capture-the-flag", num_players=2, max_steps=30)
    names = ["goal-seeker"] * 2
    assert play_out(game, names, 3) == play_out(game, names, 3)
