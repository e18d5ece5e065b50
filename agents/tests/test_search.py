"""Search agents against known values."""

from __future__ import annotations

import palestra
import pytest
from palestra import Episode, InvalidOption, Turn, UnknownName
from palestra_agents.minimax import MinimaxAgent, value


def at(env: str, *moves: int) -> Episode:
    episode: Episode = palestra.make(env, view="episode", seed=0)
    for move in moves:
        episode.act({episode.to_act[0]: move})
    return episode


def choice(agent: str, episode: Episode) -> object:
    made = palestra.make_agent(agent)
    made.reseed(1)
    return made.act([Turn(episode, episode.to_act[0])])[0].action


def test_tic_tac_toe_is_a_draw() -> None:
    assert value(palestra.game("games/TicTacToe-v0")) == 0.0


def test_three_in_a_row_on_four_by_four_is_won_by_the_first() -> None:
    game = palestra.game("games/ConnectFour-v0", rows=4, columns=4, line=3)
    assert value(game) == 1.0


@pytest.mark.parametrize("agent", ["minimax", "minimax:depth=2", "mcts:simulations=400"])
def test_a_win_in_one_is_taken(agent: str) -> None:
    assert choice(agent, at("games/TicTacToe-v0", 0, 3, 1, 4)) == 2
    if agent != "minimax":
        assert choice(agent, at("games/ConnectFour-v0", 0, 6, 0, 6, 0, 5)) == 0


@pytest.mark.parametrize("agent", ["minimax", "minimax:depth=2", "mcts:simulations=800"])
def test_a_loss_in_one_is_blocked(agent: str) -> None:
    assert choice(agent, at("games/TicTacToe-v0", 0, 4, 1)) == 2
    if agent != "minimax":
        assert choice(agent, at("games/ConnectFour-v0", 3, 0, 3, 0, 3)) == 3


def test_minimax_draws_itself_and_never_loses() -> None:
    for rival in ("minimax", "random", "first", "mcts:simulations=50"):
        for agents, own in (([rival, "minimax"], 1), (["minimax", rival], 0)):
            records = palestra.play("games/TicTacToe-v0", agents=agents, episodes=8)
            assert all(record.returns[own] >= 0 for record in records)
            if rival == "minimax":
                assert all(record.returns == (0.0, 0.0) for record in records)


def test_mcts_beats_random_in_connect_four() -> None:
    records = palestra.play(
        "games/ConnectFour-v0", agents=["mcts:simulations=100", "random"], episodes=30
    )
    assert sum(record.returns[0] == 1.0 for record in records) >= 28


@pytest.mark.exhaustive(sample=32)
@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_mcts_plays_every_registered_game(env: str) -> None:
    seats = palestra.game(env).num_players
    records = palestra.play(
        env,
        agents=["mcts:simulations=3,depth=10", *["random"] * (seats - 1)],
        episodes=1,
        max_episode_steps=6,
    )
    assert records[0].mistakes == (0,) * seats


def test_mcts_does_not_see_the_other_card() -> None:
    """With the jack against a bet folding is best, whatever the other holds."""
    game = palestra.game("games/KuhnPoker-v0")
    for other in (1, 2):
        episode = Episode(game, 0)
        state = episode.state
        state.deck[:] = [other, 0, 3 - other]
        episode.load(state)
        episode.act({0: 1})
        assert choice("mcts:simulations=600", episode) == 0


def test_the_same_seed_gives_the_same_games() -> None:
    def games() -> list[object]:
        records = palestra.play(
            "games/ConnectFour-v0", agents=["mcts:simulations=20", "random"], episodes=2, seed=4
        )
        return [[turn.action for turn in record.turns] for record in records]

    assert games() == games()


def test_minimax_says_why_it_cannot_play() -> None:
    episode = palestra.make("games/KuhnPoker-v0", view="episode", seed=0)
    with pytest.raises(InvalidOption, match=r"hides information.*mcts"):
        MinimaxAgent().act([Turn(episode, 0)])


@pytest.mark.parametrize(
    ("agent", "error", "says"),
    [
        ("mcts:simulation=5", UnknownName, "did you mean 'simulations'"),
        ("mcst", UnknownName, "did you mean 'mcts'"),
        ("mcts:simulations=0", InvalidOption, "an integer from 1 to 10000000, not 0"),
        ("minimax:depth=0", InvalidOption, "an integer at least 1, not 0"),
        ("cfr:iterations=0", InvalidOption, "an integer at least 1, not 0"),
        ("random:colour=red", UnknownName, "colour"),
    ],
)
def test_wrong_names_and_options_are_explained(agent: str, error: type, says: str) -> None:
    with pytest.raises(error, match=says):
        palestra.make_agent(agent)
