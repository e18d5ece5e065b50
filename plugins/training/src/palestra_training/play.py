"""Rollouts for a learner: groups of episodes from one start, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import palestra
from palestra import EpisodeRecord, Game, InvalidOption
from palestra.agents.agent import Agent
from palestra.agents.fitting import check_agents
from palestra.agents.making import make_agent
from palestra.agents.models import Model
from palestra.records.record import go_on
from palestra.runner.calls import Calls
from palestra.runner.listeners import Listeners
from palestra.runner.runner import Runner
from palestra.runner.running import RunningEpisode
from palestra.shaping import open_episode

from palestra_training.plan import TrainPlan
from palestra_training.stopping import TrainingStopped

LEARNER = "learner"


def seat_learner(model: Model, plan: TrainPlan, temperature: float, *, keep: bool) -> Agent:
    """The learner as an agent; keep: with the exact tokens of every decision."""
    agent = make_agent(
        "llm",
        model=model,
        mode=plan.mode,
        prompt=plan.prompt,
        history=plan.history,
        max_tokens=plan.max_tokens,
        temperature=temperature,
        keep_tokens=keep,
        seed=plan.seed,
    )
    agent.name = model.name
    return agent


class Start(NamedTuple):
    """A rollout to play: who sits where, from which seed, as which of those that start alike.

    hint: an unfinished record of this seed, from whose end the rollout goes on.
    """

    line_up: Sequence[Agent]
    seed: int
    sibling: int = 0
    hint: EpisodeRecord | None = None


def play_groups(
    game: Game[Any, Any],
    spec: Any,
    plan: TrainPlan,
    line_ups: Sequence[Sequence[Agent]],
    seeds: Sequence[int],
    size: int,
    earlier: Sequence[int] = (),
    listeners: Listeners | None = None,
) -> list[EpisodeRecord]:
    """Play `size` rollouts of every seed, each seed with its own line-up, all side by side.

    earlier: how often each seed was played before, so that its new rollouts are not the same.
    """
    times = earlier or [0] * len(seeds)
    starts = [
        Start(line_up, seed, before * size + sibling)
        for line_up, seed, before in zip(line_ups, seeds, times, strict=True)
        for sibling in range(size)
    ]
    return play_starts(
        game,
        spec,
        starts,
        invalid=plan.invalid,
        max_episode_steps=plan.max_episode_steps,
        listeners=listeners,
        asynchronous=plan.asynchronous,
    )


def play_starts(
    game: Game[Any, Any],
    spec: Any,
    starts: Sequence[Start],
    *,
    invalid: str,
    max_episode_steps: int | None,
    listeners: Listeners | None = None,
    asynchronous: bool = False,
) -> list[EpisodeRecord]:
    """One record a start, in order; what starts alike with the same agents has the same group.

    asynchronous: as in `palestra.play`.
    """
    calls = Calls() if asynchronous else None
    runners: dict[tuple[int, ...], Runner] = {}
    running: list[tuple[Runner, RunningEpisode, str]] = []
    policy = "raise" if invalid.startswith("retry") else invalid
    for line_up, seed, sibling, hint in starts:
        key = tuple(map(id, line_up))
        if key not in runners:
            runners[key] = Runner(
                game,
                line_up,
                spec=spec,
                seed=seed,
                invalid=invalid,
                max_episode_steps=max_episode_steps,
                listeners=listeners,
                calls=calls,
            )
        episode = open_episode(game, seed, spec=spec, invalid=policy)
        group = f"{seed} {'+'.join(a.name for a in line_up)}"
        if hint is not None:
            go_on(episode, hint)
            group += f" hint {len(hint.steps)}"
        started = RunningEpisode(len(running), episode, [0] * len(line_up), sibling=sibling)
        running.append((runners[key], started, group))
        if listeners and listeners.episode_started:
            listeners.episode_started(episode=episode, agents=tuple(a.name for a in line_up))
    every = list(runners.values())
    try:
        for together in [[owner] for owner in every] if calls is None else [every]:
            own = [pair[:2] for pair in running if pair[0] in together]
            while own:
                for runner in together:
                    runner.step([started for owner, started in own if owner is runner])
                own = [(owner, started) for owner, started in own if not started.over]
    finally:
        if calls is not None:
            calls.close()
    records = []
    for (runner, started, group), start in zip(running, starts, strict=True):
        record = runner.finish(started)
        record.group = group
        record.branched_at = len(start.hint.steps) if start.hint is not None else 0
        if record.error:
            raise TrainingStopped(
                f"episode {record.number} of seed {record.seed} failed:\n{record.error}"
            )
        records.append(record)
    return records


def open_env(plan: TrainPlan, split: str = "", **options: Any) -> tuple[Any, Game[Any, Any]]:
    """The environment's spec and game under a plan's options."""
    from palestra.kernel.registry import open_game

    chosen = {**plan.options, **options}
    if split or plan.split:
        chosen["split"] = split or plan.split
    return open_game(plan.env, chosen)


def check_players(plan: TrainPlan, spec: Any, game: Game[Any, Any]) -> None:
    """Raise `InvalidOption` or `UnknownName` for agents or a held-out environment that do not fit.

    Otherwise an evaluation would fail after rounds of learning.
    """
    taught = [plan.hints.agent] * bool(plan.hints.agent)
    taught += [plan.warm_up.agent] * bool(plan.warm_up.episodes)
    check_agents([*plan.opponents, *taught], game, spec)
    if plan.matching == "nash" and game.payoffs == "common" and game.num_players > 1:
        raise InvalidOption(
            'matching = "nash" needs rivals that beat one another, and all seats of '
            f'{plan.env} are paid alike; use "pfsp" or "uniform"'
        )
    held_out = plan.evaluation
    judged, judging = open_env(plan, held_out.split, **held_out.options)
    if judging.num_players > game.num_players:
        raise InvalidOption(
            f"the evaluation is of {judging.num_players} seats and training of {game.num_players}; "
            "change evaluation.options or evaluation.split: it may have no more seats than training"
        )
    check_agents(held_out.opponents if judging.num_players > 1 else (), judging, judged)


def random_play(plan: TrainPlan, episodes: int, agent: str) -> list[EpisodeRecord]:
    """Episodes of one agent in all seats."""
    spec, game = open_env(plan)
    return palestra.play(
        game if spec is None else plan.env,
        agents=[agent] * game.num_players,
        episodes=episodes,
        seed=1_000_000 + plan.seed,
        max_episode_steps=plan.max_episode_steps,
        **plan.options,
        **({"split": plan.split} if plan.split else {}),
    )
