"""TorchRL 0.14.1: GymEnv with a masked policy, PettingZooWrapper both ways, and the batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from page import run
from palestra.kernel.episode import Episode
from palestra.views.torchrl import TorchRLEnv
from tensordict.nn import TensorDictModule


def legal(data: torch.Tensor, live: torch.Tensor | None = None) -> bool:
    allowed = data["action_mask"].gather(-1, data["action"].unsqueeze(-1)).squeeze(-1)
    return bool((allowed if live is None else allowed | ~live).all())


def test_the_page() -> None:
    names, ledger = run("TorchRL")
    assert {"ConnectFour", "TicTacToe", "Foraging"} == ledger.games
    assert ledger.illegal == 0

    played = names["played"]
    assert played.shape == (100,)
    assert legal(played)
    assert torch.isfinite(names["loss"])
    paid = set(played["next", "reward"].flatten().tolist())
    assert {0.0} < paid <= {-1.0, 0.0, 1.0}

    turns = names["by_turns"]
    seats = [turns["player_0"], turns["player_1"]]
    assert all(legal(seat, seat["mask"]) for seat in seats)
    # somebody is asked at every step, and nobody else
    assert (seats[0]["mask"].squeeze(-1) ^ seats[1]["mask"].squeeze(-1)).all()
    rewards = sum(turns["next", seat, "reward"].sum() for seat in ("player_0", "player_1"))
    assert rewards == 0.0

    together = names["at_once"]["player"]
    assert together["action"].shape == (60, 3)
    assert legal(together)
    ends = names["at_once"]["next", "done"].squeeze(-1).nonzero().flatten().tolist()
    assert ends == [19, 39, 59] or len(ends) > 3  # cut at 20, or all was eaten before

    many = names["many"]
    assert many.shape == (3, 40)
    assert many["action_mask"].shape == (3, 40, 7)
    assert many["next", "done"].any(dim=1).all()

    side_by_side = names["side_by_side"]
    assert side_by_side.shape == (64, 60)
    assert legal(side_by_side["agents"])
    assert int(side_by_side["next", "done"].sum()) >= 64 * 3


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("grid/Foraging-v0", {"num_players": 3, "max_episode_steps": 12}),
        ("games/TicTacToe-v0", {}),
        ("text/Commons-v0", {"num_players": 3, "rounds": 3}),
    ],
)
def test_lanes_of_a_tensor_are_episodes(name: str, options: dict[str, Any]) -> None:
    env = TorchRLEnv(name, 3, **options)
    game = env.batch.game
    env.set_seed(11)
    rng = torch.Generator().manual_seed(4)

    def choose(mask: torch.Tensor) -> torch.Tensor:
        drawn = torch.multinomial(mask.flatten(0, 1).float(), 1, generator=rng)
        return drawn.reshape(mask.shape[:2])

    policy = TensorDictModule(choose, [("agents", "action_mask")], [("agents", "action")])
    played = env.rollout(25, policy, break_when_any_done=False)
    ended = 0
    for lane in range(3):
        episode = Episode(game, 11 + lane)
        for step in played[lane]:
            acting = [seat for seat in range(game.num_players) if step["agents", "mask"][seat]]
            assert acting == list(episode.to_act)
            for seat in acting:
                seen = step["agents", "observation"][seat].numpy()
                assert np.array_equal(seen, episode.observation(seat))
                mask = step["agents", "action_mask"][seat].numpy()
                assert np.array_equal(mask, episode.action_mask(seat))
            chosen = {seat: game.action_of(int(step["agents", "action"][seat])) for seat in acting}
            episode.act(chosen)
            paid = step["next", "agents", "reward"][:, 0].tolist()
            assert paid == pytest.approx(list(episode.rewards), rel=1e-6)
            if bool(step["next", "done"]):
                cut = bool(step["next", "truncated"])
                assert cut == (not episode.over)
                ended += 1
                break  # the next episode of a lane has a seed of its own
    assert ended == 3


def test_an_unknown_option_is_told_in_pythons_words() -> None:
    from torchrl.envs import GymEnv

    with pytest.raises(TypeError, match="unexpected keyword argument"):
        GymEnv("palestra:games/ConnectFour-v0", frame_skip=4, nonsense=1)
    skipping = GymEnv("palestra:games/FrozenLake-v0", frame_skip=2)  # it asks for frameskip= first
    assert skipping.rollout(3)["next", "reward"].shape[-1] == 1
