"""Candidates at every turn: k answers to one position, and play continues from the best.

AT-GRPO's tree sampling. Independent rollouts share only their first position, so later turns cannot
be compared. Here k siblings branch off at every turn of the learners; each sibling is a record of
`palestra.rollouts`, and `at-grpo` compares them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import palestra
from palestra import Agent, Episode, EpisodeRecord, InvalidOption, retrace
from palestra.agents.fitting import check_agents
from palestra.agents.making import Lasting
from palestra.kernel.game import Game
from palestra.kernel.registry import open_game
from palestra.records.record import StepRecord, notes_of, read_action, who_lost
from palestra.shaping import open_episode

from palestra_rewards.reading import own, turn_rewards


@dataclass(frozen=True, slots=True)
class Branches:
    """`trunk` is the episode played; `candidates` are the siblings of every turn, in order."""

    trunk: EpisodeRecord
    candidates: list[EpisodeRecord] = field(default_factory=list)


def open_branch(
    env: Any, agents: Any, seed: int, options: dict[str, Any], **settings: Any
) -> tuple[Episode, list[Lasting]]:
    """An episode at its start, and its agents by seat, each opened once.

    Close the agents with `close_all`.
    """
    alone = isinstance(agents, str | Agent) or callable(agents)
    spec, game = open_game(env, options, 1 if alone else len(agents))
    several = [agents] * game.num_players if alone else list(agents)
    check_agents(several, game, spec)
    made: dict[Any, Lasting] = {}
    for agent in several:
        key = agent if isinstance(agent, str) else id(agent)
        if key not in made:
            made[key] = agent if isinstance(agent, Lasting) else Lasting(agent)
    seated = [made[agent if isinstance(agent, str) else id(agent)] for agent in several]
    return open_episode(game, seed, spec=spec, **settings), seated


def seats_of_agents(seated: Sequence[Agent], learners: Collection[str] | None) -> list[int]:
    """The seats of the agents with these names; all seats by default."""
    names = {agent.name for agent in seated}
    wanted = names if learners is None else set(learners)
    if not wanted or not wanted <= names:
        raise InvalidOption(
            f"learners must be among the agents that play, {', '.join(sorted(names))}; not "
            f"{', '.join(sorted(wanted - names)) or 'none of them'}"
        )
    return [seat for seat, agent in enumerate(seated) if agent.name in wanted]


def close_all(agents: Sequence[Lasting]) -> None:
    """Close agents that outlast a play, each once."""
    for agent in dict.fromkeys(agents):
        agent.close_for_good()


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

    learners: names of the agents that are trained, by default all; at steps where none of them
    decides, only one answer is sampled. horizon: number of steps for which each candidate is
    followed, its own included; 0 follows it to the end. The candidate with the highest score is
    played: `team` times the mean return of the learners' seats plus `local` times the rewards of
    its turns; ties go to the first. Seats that decide together are sampled together. Everything
    else is as in `palestra.rollouts`. Potential-based shaping is cancelled where a candidate ends
    and so does not affect the choice.

    `estimate("at-grpo", Group.of(found.candidates, agents=learners))` gives the advantages. Zhao et
    al., "Stronger Together" (2025).
    """
    if k < 1 or horizon < 0:
        raise InvalidOption(f"k must be at least 1 and horizon at least 0, not {k} and {horizon}")
    trunk, seated = open_branch(env, agents, seed, options, rewards=rewards, gamma=gamma)
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
        raise InvalidOption("no seat has a decision in this episode")
    return Branches(best, found)


def redone_turns(
    record: EpisodeRecord,
    *,
    agents: Any,
    seat: int = 0,
    turns: Collection[int] | None = None,
    n: int = 1,
    horizon: int = 0,
    seed: int = 0,
    invalid: str = "retry:2",
    game: Game[Any, Any] | None = None,
) -> list[EpisodeRecord]:
    """Turns of an episode played again by agents that see everything: Agent-Omit's second sample.

    Each result branches off at a turn of `seat`. Its agents are new there, so that the prompt holds
    all that the seat was ever shown, whatever the agent had left out of its own. turns: which of
    the seat's turns, from 0; by default those whose prompt was shorter than the whole context (the
    fact "full tokens", which the adapter `omit` reports). horizon: number of steps to play, the
    turn's own included; 0 plays to the end, so that the sample has an outcome. n: samples per turn.
    game: the game, for a record without an environment id.

    Samples of one turn are rollouts of one task, apart from those of other turns.
    """
    if horizon < 0:
        raise InvalidOption(f"horizon must be at least 0, not {horizon}")
    places = [(number, turn) for number, step in enumerate(record.steps) for turn in step.turns]
    own = [(number, turn) for number, turn in places if turn.seat == seat]
    if turns is None:
        shorter = [turn.facts.get("full tokens", 0) > turn.usage.tokens_in for _, turn in own]
        turns = [place for place, yes in enumerate(shorter) if yes]
    for place in turns:
        if not 0 <= place < len(own):
            raise InvalidOption(f"seat {seat} has {len(own)} turns, numbered from 0; not {place}")
    wanted = {own[place][0] for place in turns}
    found: list[EpisodeRecord] = []
    for number, episode in enumerate(retrace(record, game)):
        if number in wanted:
            found += palestra.rollouts(
                episode.game,
                agents=agents,
                n=n,
                seed=seed + number,
                start=episode,
                invalid=invalid,
                max_episode_steps=number + horizon if horizon else None,
            )
    return found


def score_of(
    record: EpisodeRecord, seats: Sequence[int], *, team: float = 1.0, local: float = 0.0
) -> float:
    """The score that `at-grpo` gives the turns of a candidate, averaged over these seats."""
    outcome = float(np.mean([record.returns[seat] for seat in seats]))
    first = record.steps[record.branched_at].turns if record.steps[record.branched_at :] else []
    paid = own(record, turn_rewards(record))[: len(first)]
    mine = [value for turn, value in zip(first, paid, strict=True) if turn.seat in seats]
    return team * outcome + local * (float(np.mean(mine)) if mine else 0.0)


def follow(episode: Episode, step: StepRecord) -> None:
    """Apply a recorded step to the episode, with its notes and its mistakes."""
    notes = notes_of(step)
    for turn in step.turns:
        for _ in turn.errors:
            episode.count_mistake(turn.seat)
    if lost := who_lost(step):
        episode.forfeit(lost, notes=notes)
        return
    episode.act({turn.seat: read_action(episode, turn) for turn in step.turns}, notes)
