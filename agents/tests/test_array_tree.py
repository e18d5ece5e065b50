"""The compiled tree of `mcts` against exact values, known counts and the tree over forks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

import numpy as np
import palestra
import pytest
from numpy.typing import NDArray
from palestra import ArrayGame, ArrayState, Episode, InvalidOption, Rng, Shape, Turn
from palestra.rules import finish, pass_turn, randint, turn_to
from palestra_agents import array_tree
from palestra_agents.array_tree import ArrayTree, fits_array_tree
from palestra_agents.mcts import ForkTree, MCTSAgent
from palestra_agents.minimax import MinimaxAgent
from palestra_agents.uct import Choice, Settings

PLAIN = Settings(c=0.7, playouts=1, depth=1_000)


def opening(env: str, compiled: bool | None = None, **options: Any) -> Episode:
    return Episode(palestra.game(env, **options), 0, compiled=compiled)


def random_position(env: str, moves: int, seed: int, **options: Any) -> Episode:
    """A position after so many random moves that is not the end."""
    rng = Rng(seed)
    while True:
        episode = opening(env, True, **options)
        for _ in range(moves):
            if episode.to_act:
                episode.act({episode.to_act[0]: rng.choice(episode.legal_actions())})
        if episode.to_act:
            return episode


def search(episode: Episode, simulations: int, seed: int = 1, settings: Settings = PLAIN) -> Any:
    return ArrayTree(episode, Rng(seed), settings).run(simulations)


def most_visited(choices: Mapping[Any, Choice]) -> Any:
    return max(choices, key=lambda action: choices[action].visits)


def alpha_beta(episode: Episode, depth: int) -> Mapping[str, Any]:
    facts = MinimaxAgent(depth=depth).act([Turn(episode, episode.to_act[0])])[0].facts
    assert facts is not None
    return facts


def best_moves(episode: Episode, depth: int = 1_000) -> set[Any]:
    """All moves that alpha-beta finds best."""
    facts = alpha_beta(episode, depth)
    best = {text for text, value in facts["candidates"].items() if value == facts["value"]}
    seat = episode.to_act[0]
    return {a for a in episode.legal_actions() if episode.action_text(seat, a) in best}


# Against exact values


@pytest.mark.parametrize(
    ("env", "options", "moves"),
    [
        ("games/TicTacToe-v0", {}, range(1, 8)),
        ("games/ConnectFour-v0", {"rows": 4, "columns": 4, "line": 3}, range(4, 12)),
        ("games/Hex-v0", {"board_size": 3}, range(1, 7)),
    ],
)
def test_the_move_is_one_that_alpha_beta_finds_best(
    env: str, options: dict[str, Any], moves: range
) -> None:
    for seed in range(40):
        episode = random_position(env, moves[seed % len(moves)], seed, **options)
        assert most_visited(search(episode, 4_000, seed)) in best_moves(episode), seed


def test_tic_tac_toe_is_drawn_against_perfect_play() -> None:
    for agents in (["mcts:simulations=3000", "minimax"], ["minimax", "mcts:simulations=3000"]):
        records = palestra.play("games/TicTacToe-v0", agents=agents, episodes=4)
        assert [record.returns for record in records] == [(0.0, 0.0)] * 4


@pytest.mark.parametrize(
    ("moves", "wins"),
    [
        ((0, 6, 0, 6, 0, 5), {0}),  # in one: the fourth of a column
        ((3, 3, 4, 4), {2, 5}),  # in two: three in the bottom row, open at both ends
        ((3, 0, 4, 0), {2, 5}),
    ],
)
def test_connect_four_finds_known_wins(moves: tuple[int, ...], wins: set[int]) -> None:
    episode = opening("games/ConnectFour-v0")
    for move in moves:
        episode.act({episode.to_act[0]: move})
    assert most_visited(search(episode, 3_000)) in wins


@pytest.mark.parametrize(("moves", "seed"), [(12, 82), (15, 20), (15, 59), (16, 177), (18, 88)])
def test_connect_four_finds_the_only_win_in_three(moves: int, seed: int) -> None:
    """Positions in which alpha-beta wins by one move within five steps, and not within three."""
    episode = random_position("games/ConnectFour-v0", moves, seed)
    wins = best_moves(episode, 5)
    assert len(wins) == 1
    assert [alpha_beta(episode, depth)["value"] for depth in (3, 5)] == [0.0, 1.0]
    assert {most_visited(search(episode, 20_000))} == wins


def test_the_whole_of_tic_tac_toe_is_one_graph() -> None:
    """It has 5,478 positions, and 958 of them are ends (published counts)."""
    tree = ArrayTree(opening("games/TicTacToe-v0", True), Rng(3), Settings(20.0, 1, 1_000))
    tree.run(300_000)
    assert tree.nodes == 5_478 - 958


# Against the tree over forks


@pytest.mark.parametrize("moves", [(), (0,), (4, 1, 0)])
def test_visits_are_those_of_the_tree_over_forks(moves: tuple[int, ...]) -> None:
    episode = opening("games/TicTacToe-v0", True)
    for move in moves:
        episode.act({episode.to_act[0]: move})
    legal = episode.legal_actions()

    def visits(trees: list[Any]) -> NDArray[Any]:
        found = [tree.run(100) for tree in trees]
        return np.array([[choices[action].visits for action in legal] for choices in found])

    seat = episode.to_act[0]
    ours = visits([ArrayTree(episode.fork(), Rng(seed), PLAIN) for seed in range(1_000)])
    forks = visits([ForkTree(Turn(episode, seat), Rng(seed), PLAIN) for seed in range(100)])
    error = np.sqrt(ours.var(0) / len(ours) + forks.var(0) / len(forks))
    assert (abs(ours.mean(0) - forks.mean(0)) < 4 * error).all()
    assert ours.std(0).max() > 1  # the seeds make a difference


# Compiled and interpreted


@pytest.mark.parametrize(
    ("env", "options"),
    [
        ("games/TicTacToe-v0", {}),
        ("games/Hex-v0", {"board_size": 3, "swap": True}),
        ("games/Dictator-v0", {}),
    ],
)
def test_interpreted_rules_find_the_same(env: str, options: dict[str, Any]) -> None:
    settings = Settings(c=1.3, playouts=2, depth=4)
    compiled, plain = (
        search(opening(env, how, **options), 60, 5, settings) for how in (True, False)
    )
    assert compiled == plain
    assert list(compiled) == list(plain)


def test_a_tree_that_outgrows_its_arrays_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = opening("games/TicTacToe-v0", True)
    large = search(episode, 500)
    monkeypatch.setattr(array_tree, "EDGES", 0)
    assert search(episode, 500) == large


def test_the_search_leaves_the_episode_alone() -> None:
    episode = opening("games/ConnectFour-v0")
    before = episode.state.tobytes()
    search(episode, 50)
    assert episode.state.tobytes() == before


# Several seats and unequal returns


class HeapState(ArrayState):
    """Stones on a heap, and what each seat has taken."""

    stones: Annotated[int, np.int8]
    taken: Annotated[NDArray[np.int8], Shape("num_players")]


@dataclass(frozen=True)
class Heap(ArrayGame[HeapState]):
    """Seats take one to three stones in turn; the last one taken costs a third of them."""

    size: int = 9
    num_players: int = 3
    known: bool = True

    order = "sequential"
    payoffs = "general-sum"
    deterministic = True
    num_actions = 3
    observation_shape = (1,)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-20.0, 20.0) if self.known else (-inf, inf)

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        state.stones = config.size
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        seat = 0
        while not state.acting[seat]:
            seat += 1
        state.stones -= actions[seat] + 1
        state.taken[seat] += actions[seat] + 1
        out.rewards[seat, 0] += (actions[seat] + 1) * (seat + 1)
        if state.stones == 0:
            out.rewards[seat, 0] -= 7 + seat
            finish(state)
        else:
            pass_turn(state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        for action in range(3):
            mask[action] = action < state.stones

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[0] = state.stones

    def describe(self, state: Any, seat: int) -> str:
        return f"{state.stones} stones"


def solve(stones: int, seat: int, seats: int) -> tuple[list[list[float]], list[float]]:
    """Returns from here for each number of stones taken, and of best play, by induction."""
    lines = []
    for take in range(1, min(3, stones) + 1):
        later = [0.0] * seats
        if stones > take:
            later = list(solve(stones - take, (seat + 1) % seats, seats)[1])
        later[seat] += take * (seat + 1) - (7 + seat if stones == take else 0)
        lines.append(later)
    return lines, max(lines, key=lambda returns: returns[seat])


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("seats", [2, 3, 5])
def test_seats_with_unequal_returns_play_by_induction(seats: int, known: bool) -> None:
    for size in range(2, 8):
        lines, best = solve(size, 0, seats)
        choices = search(Episode(Heap(size, seats, known), 0, compiled=False), 300)
        assert lines[most_visited(choices)][0] == best[0], size


# Chance


class DrawState(ArrayState):
    """A number that was drawn, and whether it was."""

    drawn: Annotated[int, np.int8]
    number: Annotated[int, np.int8]


@dataclass(frozen=True)
class Draw(ArrayGame[DrawState]):
    """Take 2, or name a number below three for 3 if it is the one drawn, before or after that."""

    before: bool = True

    order = "sequential"
    payoffs = "general-sum"
    num_players = 1
    num_actions = 3
    observation_shape = (2,)
    payoff_bounds = (0.0, 3.0)

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        if state.drawn:
            number = state.number if config.before else randint(state, 3)
            out.rewards[0, 0] = 3.0 if actions[0] == number else 0.0
            finish(state)
        elif actions[0] == 0:
            out.rewards[0, 0] = 2.0
            finish(state)
        else:
            state.drawn = 1
            state.number = randint(state, 3)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        mask[: 3 if state.drawn else 2] = 1

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[0], view[1] = state.drawn, state.number

    def describe(self, state: Any, seat: int) -> str:
        return f"drawn: {state.drawn}, number {state.number}"


@pytest.mark.parametrize(("before", "gamble", "best"), [(True, 3.0, 1), (False, 1.0, 0)])
def test_chance_is_worth_its_mean_and_seen_after_it_is_drawn(
    before: bool, gamble: float, best: int
) -> None:
    choices = search(Episode(Draw(before), 0, compiled=False), 2_000)
    assert most_visited(choices) == best
    assert choices[0].value == 2.0 * choices[0].visits
    mean = choices[1].value / choices[1].visits
    assert abs(mean - gamble) < (0.1 if before else 6 / np.sqrt(choices[1].visits))


def test_what_the_episode_will_draw_makes_no_difference() -> None:
    one, other = (Episode(Draw(False), seed, compiled=False) for seed in (0, 1))
    assert search(one, 200) == search(other, 200)


@pytest.mark.parametrize("env", ["games/FrozenLake-v0", "games/Game2048-v0"])
def test_with_chance_interpreted_rules_find_the_same(env: str) -> None:
    settings = Settings(c=1.0, playouts=2, depth=6)
    compiled, plain = (search(opening(env, how), 40, 5, settings) for how in (True, False))
    assert compiled == plain
    assert len(compiled) >= 2


# The agent


def test_the_same_seed_gives_the_same_search() -> None:
    episode = opening("games/Othello-v0")
    assert search(episode, 100, 4) == search(episode, 100, 4) != search(episode, 100, 5)


def test_facts_are_means_of_what_was_tried() -> None:
    episode = opening("games/ConnectFour-v0")
    agent = MCTSAgent(simulations=200, seed=3)
    decision = agent.act([Turn(episode, 0)])[0]
    facts = decision.facts
    assert facts is not None
    assert facts["value"] == facts["candidates"][episode.action_text(0, decision.action)]
    assert set(facts["candidates"]) == {str(column) for column in range(1, 8)}
    assert all(-1.0 <= value <= 1.0 for value in facts["candidates"].values())


def test_only_array_games_of_perfect_information_and_single_movers_fit() -> None:
    fitting = ("games/TicTacToe-v0", "games/Chess-v0", "games/Sokoban-v0", "games/Game2048-v0")
    others = ("games/KuhnPoker-v0", "games/MatrixGame-v0", "games/Taboo-v0", "games/Blackjack-v0")
    assert all(fits_array_tree(palestra.game(env)) for env in fitting)
    assert not any(fits_array_tree(palestra.game(env)) for env in others)


def test_a_tree_that_would_take_all_memory_is_refused() -> None:
    with pytest.raises(InvalidOption, match="1 to 10000000"):
        palestra.make_agent("mcts:simulations=1000000000")
