"""Episodes that end before the learning seat's first turn are reported by their first step."""

from __future__ import annotations

from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode
from palestra.engine.text_batch import TextBatch
from palestra.views.sb3 import SB3VecEnv
from palestra.views.vector import VectorView

LIARS = "games/LiarsDice-v0"
SMALL_DICE: dict[str, Any] = {"num_players": 5, "dice": 1}  # seat 4 often has no turn


def by_sum(seen: Any, masks: Any) -> Any:
    """The last legal move or the first, as the observation has it."""
    legal = [np.flatnonzero(mask) for mask in masks]
    sums = np.asarray(seen).reshape(len(legal), -1).astype(int) @ np.arange(seen[0].size)
    moves = [one[-1 if total % 5 == 0 else 0] for one, total in zip(legal, sums, strict=True)]
    return np.array(moves)


def played_out(seed: int) -> tuple[float, int]:
    """The return of seat 4 and the number of its turns when all play like `by_sum`."""
    episode, turns = Episode(palestra.game(LIARS, **SMALL_DICE), seed), 0
    while not episode.over:
        (seat,) = episode.to_act
        turns += seat == 4
        move = by_sum(episode.observation(seat)[None], episode.action_mask(seat)[None])[0]
        episode.act({seat: episode.game.action_of(int(move))})
    return episode.returns[4], turns


@pytest.mark.exhaustive(sample=4)
@pytest.mark.parametrize("rewards", [None, ["env"]])
@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
@pytest.mark.parametrize("inside", [False, True])
def test_an_episode_that_is_over_before_the_first_turn_is_reported_by_its_first_step(
    mode: str, rewards: list[str] | None, inside: bool
) -> None:
    view = VectorView(
        LIARS,
        6,
        seat=4,
        opponents="random" if inside else by_sum,
        autoreset=mode,
        rewards=rewards,
        **SMALL_DICE,
    )
    seen, info = view.reset(seed=11)
    paid, length, silent, ended = np.zeros(6), np.zeros(6, int), 0, 0
    for _ in range(60):
        seeds = view.batch.episode_seeds
        idle = view.batch.lanes["over"].astype(bool)
        seen, reward, over, cut, info = view.step(by_sum(seen, info["action_mask"]))
        assert not cut.any()
        paid += reward
        length += ~idle
        for lane in np.flatnonzero(over & ~idle).tolist():
            ended += 1
            assert paid[lane] == info["final_return"][lane] != 0.0
            if not inside:
                returns, turns = played_out(seeds[lane])
                assert (paid[lane], length[lane]) == (returns, max(turns, 1))
                silent += turns == 0
            paid[lane] = length[lane] = 0
        if mode == "disabled" and over.any():
            seen, info = view.reset(options={"reset_mask": over})
        if mode != "disabled":
            assert (over == view.batch.finished).all()
    view.close()
    assert ended >= 60
    assert inside or 10 <= silent < ended


@pytest.mark.parametrize("mode", ["next_step", "same_step", "disabled"])
def test_text_batches_report_it_too(mode: str) -> None:
    game = palestra.game(LIARS, **SMALL_DICE)
    batch = TextBatch(game, 3, seed=5, autoreset=mode, random_seats=range(4))
    batch.reset()
    lengths: list[int] = []
    paid, length = np.zeros(3), np.zeros(3, int)
    for _ in range(60):
        idle = np.array([mode != "same_step" and row.any() for row in batch.terminations])
        batch.random_actions()
        batch.step()
        paid += batch.rewards[:, 4]
        length += ~idle
        for lane in np.flatnonzero(batch.finished).tolist():
            assert paid[lane] == batch.final_returns[lane, 4] != 0.0
            lengths.append(int(length[lane]))
            paid[lane] = length[lane] = 0
        if mode == "disabled" and batch.finished.any():
            batch.reset(lanes=np.flatnonzero(batch.finished))
    assert len(lengths) >= 40
    assert set(lengths) == {1, 2} or max(lengths) <= 3


def test_sb3_vectors_go_on_after_it() -> None:
    env = SB3VecEnv(LIARS, 32, seat=4, opponents="random", seed=3, **SMALL_DICE)
    seen = env.reset()
    paid, ends = np.zeros(32), np.zeros(32, int)
    for _ in range(40):
        seen, rewards, done, infos = env.step(by_sum(seen, env.action_masks()))
        paid += rewards
        ends += done
        for lane in np.flatnonzero(done).tolist():
            assert paid[lane] == infos[lane]["episode"]["r"] != 0.0
            paid[lane] = 0.0
    env.close()
    assert ends.min() >= 20
