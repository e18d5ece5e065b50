"""N episodes in arrays, all seats: the batch view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from palestra.engine.batch import Batch
from palestra.engine.cuda_batch import CudaBatch
from palestra.engine.shaped_batch import open_batch
from palestra.engine.text_batch import TextBatch
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import InvalidOption, UnknownName
from palestra.kernel.game import Game
from palestra.kernel.specs import EnvSpec
from palestra.shaping import Shaper
from palestra.views.opening import check_settings, open_for

DEVICES = ("cpu", "cuda")


def make(
    env: str | EnvSpec | Game[Any, Any],
    *,
    num_envs: int,
    device: str = "cpu",
    seed: int | None = None,
    autoreset: str = "next_step",
    threads: int = 1,
    compiled: bool | None = None,
    random_seats: Sequence[int] = (),
    scripted_seats: Sequence[int] = (),
    max_episode_steps: int | None = None,
    rewards: Sequence[str | Shaper] | None = None,
    gamma: float = 1.0,
    **options: Any,
) -> Batch | CudaBatch | TextBatch:
    """Open the batch view; `options` go to the game.

    An ArrayGame runs in compiled loops over `threads` threads or, with device="cuda", one GPU
    thread a lane; any other game with an array view in a plain loop with the same interface.
    `random_seats` and `scripted_seats` play by themselves inside the loop. `rewards` names step
    shapers to pay ("env": the game's own terms) under the discount `gamma`; infos then hold
    `reward_terms`, the step's rewards by name, each (N, P). A step with shapers leaves the compiled
    loop, and takes a Python call per lane unless all of them are `BatchShaper`s.
    """
    if device not in DEVICES:
        raise UnknownName("device", device, DEVICES)
    check_settings(
        num_envs=num_envs,
        max_episode_steps=max_episode_steps,
        threads=threads,
        compiled=compiled,
        rewards=rewards,
        gamma=gamma,
    )
    _, game = open_for(make, env, options)
    alone: Any = {"random_seats": random_seats, "scripted_seats": scripted_seats}
    if device == "cuda":
        if rewards is not None:
            raise InvalidOption('step shapers are Python functions: with them, use device="cpu"')
        alone["max_steps"] = max_episode_steps
        return _on_gpu(game, num_envs, seed, autoreset, threads, alone)
    if isinstance(game, ArrayGame):
        return open_batch(
            game,
            num_envs,
            rewards=rewards,
            gamma=gamma,
            seed=seed,
            autoreset=autoreset,
            threads=threads,
            compiled=compiled,
            max_steps=max_episode_steps,
            **alone,
        )
    if threads != 1 or compiled:
        raise InvalidOption(f"{type(game).__name__} is not an ArrayGame: it runs in one plain loop")
    return TextBatch(
        game,
        num_envs,
        seed=seed,
        autoreset=autoreset,
        max_steps=max_episode_steps,
        rewards=rewards,
        gamma=gamma,
        **alone,
    )


def _on_gpu(
    game: Game[Any, Any],
    num_envs: int,
    seed: int | None,
    autoreset: str,
    threads: int,
    alone: Mapping[str, Any],
) -> CudaBatch:
    if not isinstance(game, ArrayGame):
        raise InvalidOption(f"{type(game).__name__} is not an ArrayGame; it cannot run on a GPU")
    if threads != 1:
        raise InvalidOption(
            'threads are for device="cpu"; a GPU has a thread for every environment'
        )
    return CudaBatch(game, num_envs, seed=seed, autoreset=autoreset, **alone)
