"""The channels that array games list are those that their observations have."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point
from palestra_games.card.kuhn_poker import KuhnPoker

ARRAY_GAMES = sorted(
    spec.id
    for spec in registry().environments.values()
    if spec.id.split("/")[0] in ("games", "grid", "markets", "tasks") and spec.array_game
)
# options that add channels or move them
OTHER_OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "games/Holdem-v0": ({"num_players": 4, "stacks": (40, 60, 20, 90), "hands": 2},),
    "games/Hanabi-v0": ({"num_players": 4}, {"colours": 3, "ranks": 4, "num_players": 3}),
    "games/LiarsDice-v0": ({"num_players": 3},),
    "grid/Kitchen-v0": ({"num_players": 3, "sight": 2},),
    "grid/Particles-v0": (
        {"scenario": "tag", "num_players": 5, "num_prey": 2, "sight": 0.8},
        {"scenario": "adversary", "num_players": 4},
        {"scenario": "speaker-listener", "num_players": 2},
    ),
    "grid/CarBall-v0": ({"num_players": 6},),
    "grid/Fetch-v0": ({"num_players": 3},),
    "grid/Harvest-v0": ({"num_players": 7},),
}
CASES = [(id, options) for id in ARRAY_GAMES for options in ({}, *OTHER_OPTIONS.get(id, ()))]


@pytest.mark.parametrize(("id", "options"), CASES)
def test_channels_that_say_one_hot_are(id: str, options: dict[str, Any]) -> None:
    episode = palestra.make(id, view="episode", compiled=False, seed=3, **options)
    game, rng = episode.game, palestra.Rng.seeded(5)
    assert issubclass(load_entry_point(registry().environment(id).entry_point), ArrayGame)
    for _ in range(25):
        for seat in range(game.num_players):
            parts = palestra.read_channels(game, episode.observation(seat), seat)
            assert parts, f"{id} lists no channels"
            for channel in game.observation_channels(seat):
                if "one-hot" in channel.meaning and "each" not in channel.meaning:
                    _require_one_hot(channel.name, parts[channel.name], game.channel_axis)
        if episode.over:
            break
        acting = episode.to_act
        episode.act({seat: game.sample(episode.state, seat, rng) for seat in acting})


def _require_one_hot(name: str, part: Any, axis: int) -> None:
    assert set(np.unique(part)) <= {0, 1}, name
    assert np.all(part.sum(axis=axis) <= 1), name


def test_the_first_position_of_chess_by_channel() -> None:
    episode = palestra.make("games/Chess-v0", view="episode", compiled=False)
    for seat in range(2):
        parts = palestra.read_channels(episode.game, episode.observation(seat), seat)
        assert parts["own"].shape == (8, 8, 6)
        assert parts["own"].sum(axis=(0, 1)).tolist() == [8, 2, 2, 2, 1, 1]
        assert parts["own"][1, :, 0].all()  # pawns on the second rank, seen from the own side
        assert parts["other"][6, :, 0].all()
        assert parts["own_castling"].all()
        assert parts["to_move"].all() == (seat == 0)


def test_what_a_listener_hears_has_a_channel() -> None:
    episode = palestra.make(
        "grid/Particles-v0",
        view="episode",
        compiled=False,
        scenario="speaker-listener",
        num_players=2,
    )
    episode.act({0: 2, 1: 0})  # "say blue"
    game = episode.game
    heard = palestra.read_channels(game, episode.observation(1), 1)["heard"]
    assert heard.tolist() == [0, 0, 1]
    goal = palestra.read_channels(game, episode.observation(0), 0)["goal"]
    assert sorted(goal.round(2).tolist()) == pytest.approx([0.15, 0.15, 0.65])


def test_a_batch_of_observations_is_split_along_the_same_axis() -> None:
    batch = palestra.make("games/KuhnPoker-v0", view="batch", num_envs=5, seed=0)
    batch.reset()
    game = KuhnPoker()
    parts = palestra.read_channels(game, batch.observations)
    assert parts["card"].shape == (*batch.observations.shape[:-1], 3)
    assert (parts["card"].sum(axis=-1) == 1).all()


def test_an_observation_of_another_shape_is_refused() -> None:
    game = KuhnPoker()
    with pytest.raises(palestra.InvalidOption, match=r"ends with the axes \(11,\)"):
        palestra.read_channels(game, np.zeros(12, np.int8))
