"""Candidates at every turn by fork: K answers to one position, and on from the best of them.

AT-GRPO's tree sampling: rollouts that are played apart meet the same position at the first turn
only, so that nothing can be compared at later ones. Here K siblings branch off at every turn of the
learners; each sibling is a record of `palestra.rollouts`, and `at-grpo` compares them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import palestra
from palestra import Agent, Decision, Episode, EpisodeRecord, InvalidOption, Turn, make_agent
from palestra.agents.fitting import check_agents
from palestra.kernel.registry import open_game
from palestra.records.record import StepRecord, notes_of, read_action
from palestra.shaping import open_episode

from palestra_rewards.reading import own, turn_rewards


@dataclass(frozen=True, slots=True)
class Branches:
    """`candidates` are the siblings of every turn, in playing order; `trunk` what was played."""

    trunk: EpisodeRecord
    candidates: list[EpisodeRecord] = field(default_factory=list)


class Lasting(Agent):
    """An agent that stays open from one call of `palestra.rollouts` to the next."""

    def __init__(self, agent: Agent) -> None:
        self.agent, self.name = agent, agent.name

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return self.agent.act(turns)

    def reseed(self, seed: int) -> None:
        self.agent.reseed(seed)

    def forget(self, episode_key: int) -> None:
        self.agent.forget(episode_key)


def opened(
    env: Any, agents: Any, seed: int, options: dict[str, Any], **settings: Any
) -> tuple[Episode, list[Lasting]]:
    """An episode at its start, and its agents, each opened once; close them with `close_all`."""
    alone = isinstance(agents, str | Agent) or callable(agents)
    spec, game = open_game(env, options, 1 if alone else len(agents))
    several = [agents] * game.num_players if alone else list(agents)
    check_agents(several, game, spec)
    made: dict[Any, Lasting] = {}
    for agent in several:
        key = agent if isinstance(agent, str) else id(agent)
        if key not in made:
            made[key] = agent if isinstance(agent, Lasting) else Lasting(make_agent(agent))
    seated = [made[agent if isinstance(agent, str) else id(agent)] for agent in several]
    return open_episode(game, seed, spec=spec, **settings), seated


def seats_of_agents(seated: Sequence[Agent], learners: Collection[str] | None) -> list[int]:
    """The seats of the agents with these names; all where none is named."""
    names = {agent.name for agent in seated}
    wanted = names if learners is None else set(learners)
    if not wanted or not wanted <= names:
        raise InvalidOption(
            f"learners must be among the agents that play, {', '.join(sorted(names))}; not "
            f"{', '.join(sorted(wanted - names)) or 'none of them'}"
        )
    return [seat for seat, agent in enumerate(seated) if agent.name in wanted]


def close_all(agents: Sequence[Lasting]) -> None:
    for agent in dict.fromkeys(agents):
        agent.agent.close()


def branch_turns(
    env: Any,
    *,
    agents: Any,
    k: int = 4,
    seed: int = 0,
    learners: Collection[str] | None = None,
    horizon: int = 1,
    team: float = 1.0,
    local: float = 0.0,
    max_episode_steps: int | None = None,
    rewards: Sequence[str] | None = None,
    gamma: float = 1.0,
    invalid: str = "retry:2",
    **options: Any,
) -> Branches:
    """Play one episode, with k candidates from one position at every turn of the learners.

    learners: names of the agents that are trained, by default all; where none of them decides,
    one answer is played. horizon: steps each candidate is followed for, its own included; 0
    follows it to its end. The best candidate by `team` times the mean return of the learners'
    seats plus `local` times what its turns are paid is played, the first of several.
    Seats that decide together are sampled together. Everything else is as in `palestra.rollouts`;
    what potential-based shapers pay is taken back where a candidate ends, and tells none apart.

    `estimate("at-grpo", Group.of(found.candidates, agents=learners))` are the advantages. Zhao et
    al., "Stronger Together" (2025).
    """
    if k < 1 or horizon < 0:
        raise InvalidOption(f"k must be at least 1 and horizon at least 0, not {k} and {horizon}")
    trunk, seated = opened(env, agents, seed, options, rewards=rewards, gamma=gamma)
    learning = seats_of_agents(seated, learners)
    found: list[EpisodeRecord] = []
    best: EpisodeRecord | None = None
    try:
        while not trunk.over and (
            max_episode_steps is None or trunk.steps_played < max_episode_steps
        ):
            now = trunk.steps_played
            asked = any(seat in learning for seat in trunk.to_act)
            followed = horizon if asked else 1
            ends = [now + followed] if followed else []
            if max_episode_steps is not None:
                ends.append(max_episode_steps)
            siblings = palestra.rollouts(
                trunk.game,
                agents=seated,
                n=k if asked else 1,
                seed=seed,
                start=trunk,
                invalid=invalid,
                max_episode_steps=min(ends) if ends else None,
            )
            siblings = [one for one in siblings if not one.error]
            if asked:
                found += siblings
            scores = [score_of(one, learning, team=team, local=local) for one in siblings]
            best = siblings[int(np.argmax(scores))]
            follow(trunk, best.steps[now])
    finally:
        close_all(seated)
    if best is None:
        raise InvalidOption("nobody decides anything in this episode")
    return Branches(best, found)


def score_of(
    record: EpisodeRecord, seats: Sequence[int], *, team: float = 1.0, local: float = 0.0
) -> float:
    """What `at-grpo` scores the turns of a candidate by, on average over these seats."""
    outcome = float(np.mean([record.returns[seat] for seat in seats]))
    first = record.steps[record.branched_at].turns if record.steps[record.branched_at :] else []
    paid = own(record, turn_rewards(record))[: len(first)]
    mine = [value for turn, value in zip(first, paid, strict=True) if turn.seat in seats]
    return team * outcome + local * (float(np.mean(mine)) if mine else 0.0)


def follow(episode: Episode, step: StepRecord) -> None:
    """Play a recorded step on, with what was noted on it and the mistakes that were made."""
    notes = notes_of(step)
    for turn in step.turns:
        for _ in turn.errors:
            episode.count_mistake(turn.seat)
    lost = [turn for turn in step.turns if turn.status == "forfeit"]
    if lost:
        episode.forfeit(lost[0].seat, lost[0].text, notes)
        return
    episode.act({turn.seat: read_action(episode, turn) for turn in step.turns}, notes)
