"""TorchRL 0.14.1: GymEnv with a masked policy, PettingZooWrapper turn by turn and all at once."""

from __future__ import annotations

import pytest
import torch
from page import run


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


def test_an_unknown_option_is_told_in_pythons_words() -> None:
    from torchrl.envs import GymEnv

    with pytest.raises(TypeError, match="unexpected keyword argument"):
        GymEnv("palestra:games/ConnectFour-v0", frame_skip=4, nonsense=1)
    skipping = GymEnv("palestra:games/FrozenLake-v0", frame_skip=2)  # it asks for frameskip= first
    assert skipping.rollout(3)["next", "reward"].shape[-1] == 1
