"""Tasks worth training on: neither trivial nor hopeless for an agent as it is now.

The dynamic task generation of Open Ended Learning Team et al., "Open-Ended Learning Leads to
Generally Capable Agents", 2021 (arXiv:2107.12808): a task is proposed, played a few times by the
agent and by a control policy, and kept or rejected by their returns. A task is a seed of an
environment (what is dealt), a seat, and who plays the other seats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.random import default_rng
from numpy.typing import ArrayLike, NDArray

from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import Game
from palestra.kernel.options import check_options
from palestra.views.batch import make

Array = NDArray[Any]
Policy = Callable[[Array, Array], Array]
"""From observations (N, seats, …) and masks (N, seats, actions) to action numbers (N, seats)."""


@dataclass(frozen=True)
class TaskFilter:
    """A task is kept if all three conditions hold for the returns of `episodes` episodes of each:

        P(agent > good) < solved               it is not too easy,
        P(agent > control + margin) > better   it is not too hard,
        E(control) < free                      it does not pay much for doing little.

    Every episode of the agent is compared with every episode of the control. A trainer draws
    `candidates` seeds every `every` updates, and trains on the tasks kept until the next draw.
    """

    good: Annotated[float, Meta(description="the return of a player who has mastered a task")]
    solved: Annotated[
        float, Meta(ge=0, le=1, description="share of good episodes from which a task is too easy")
    ] = 0.9
    margin: Annotated[
        float, Meta(ge=0, description="how far above the control's a better return is")
    ] = 0.0
    better: Annotated[
        float, Meta(ge=0, le=1, description="share of better episodes up to which it is too hard")
    ] = 0.1
    free: Annotated[float, Meta(description="the control's mean return from which it is free")] = (
        math.inf
    )
    episodes: Annotated[int, Meta(ge=1, description="episodes of a task, of either policy")] = 10
    candidates: Annotated[int, Meta(ge=1, description="seeds drawn at a time")] = 256
    every: Annotated[int, Meta(ge=1, description="updates between draws")] = 20

    def __post_init__(self) -> None:
        check_options(self)

    def criteria(self, agent: ArrayLike, control: ArrayLike) -> dict[str, Array]:
        """The truth of each criterion, of shape (tasks, …), for returns (tasks, episodes, …)."""
        paid, base = np.asarray(agent, float), np.asarray(control, float)
        if paid.ndim < 2 or paid.shape[:1] + paid.shape[2:] != base.shape[:1] + base.shape[2:]:
            raise InvalidOption(
                "returns must be (tasks, episodes) of the same tasks, not "
                f"{paid.shape} and {base.shape}"
            )
        above = paid[:, :, None] > base[:, None] + self.margin
        return {
            "not too easy": (paid > self.good).mean(axis=1) < self.solved,
            "not too hard": above.mean(axis=(1, 2)) > self.better,
            "not free": base.mean(axis=1) < self.free,
        }

    def accept(self, agent: ArrayLike, control: ArrayLike) -> Array:
        """Which tasks are kept, by returns (tasks, episodes, …) of the agent and the control."""
        return np.all(list(self.criteria(agent, control).values()), axis=0)


def filter_tasks(
    env: str | Game[Any, Any],
    seeds: Sequence[int],
    chosen: TaskFilter,
    *,
    agent: Policy,
    control: Policy | None = None,
    others: Policy | None = None,
    options: Mapping[str, Any] | None = None,
) -> Array:
    """Which tasks to keep, (seeds, seats): every seat is played by the agent and by the control.

    Works for every environment that has the batch view. `control` is random play if not given,
    and `others`, who plays the other seats, the agent. Raises `InvalidOption` if no task is kept.
    """
    deals = [int(seed) for seed in seeds for _ in range(chosen.episodes)]
    if not deals:
        raise InvalidOption("name at least one seed to choose from")
    batch = make(env, num_envs=len(deals), autoreset="disabled", **(options or {}))
    seats = batch.game.num_players
    paid = np.empty((2, len(seeds), chosen.episodes, seats))
    for who, policy in enumerate((agent, control or random_policy(deals[0]))):
        for seat in range(seats):
            returns = _play(batch, deals, seat, policy, others or agent)
            paid[who, :, :, seat] = returns[:, seat].reshape(len(seeds), chosen.episodes)
    kept = chosen.accept(*paid)
    if not kept.any():
        criteria = chosen.criteria(*paid).items()
        counts = ", ".join(f"{passed.sum()} are {name}" for name, passed in criteria)
        raise InvalidOption(
            f"none of {kept.size} tasks (seeds and seats) is kept: {counts}. The agent was paid "
            f"{paid[0].mean():.3g} on average and the control {paid[1].mean():.3g}; relax the "
            f"criterion that fewest tasks meet: good and solved, margin and better, or free"
        )
    return kept


def random_policy(seed: int) -> Policy:
    """Uniformly random legal play."""
    rng = default_rng(seed)
    return lambda seen, masks: (rng.random(masks.shape) * (masks > 0)).argmax(axis=-1)


def _play(batch: Any, deals: Sequence[int], seat: int, policy: Policy, others: Policy) -> Array:
    """Returns (rows, seats) of one episode a row, with the policy in one seat."""
    batch.reset(deals)
    over = np.zeros(len(deals), bool)
    while True:
        actions = np.array(policy(batch.observations, batch.masks))
        if others is not policy and actions.shape[1] > 1:
            own = actions[:, seat].copy()
            actions = np.array(others(batch.observations, batch.masks))
            actions[:, seat] = own
        *_, infos = batch.step(actions)
        over |= infos["episode"]["_finished"]
        if over.all():
            returns: Array = infos["episode"]["returns"]
            return returns
