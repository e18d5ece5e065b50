"""`palestra.play`, `palestra.stream` and `palestra.rollouts`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from palestra.agents.agent import Agent
from palestra.agents.budget import Budget
from palestra.agents.fitting import check_agents
from palestra.agents.making import AgentLike, make_agent
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import Game
from palestra.kernel.plugins import Listeners
from palestra.kernel.registry import open_game
from palestra.kernel.specs import EnvSpec
from palestra.records.record import EpisodeRecord, options_of
from palestra.runner.run_folder import RunFolder, RunPlan
from palestra.runner.runner import MAX_LIVE, Runner
from palestra.runner.running import RunningEpisode


def stream(
    env: str | EnvSpec | Game[Any, Any],
    *,
    agents: AgentLike | Sequence[AgentLike],
    episodes: int = 1,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    invalid: str = "retry:2",
    budgets: dict[str, Budget] | Budget | None = None,
    hooks: Iterable[object] = (),
    live: int = MAX_LIVE,
    max_steps: int | None = None,
    rewards: Sequence[str] | None = None,
    gamma: float = 1.0,
    **options: Any,
) -> Iterator[EpisodeRecord]:
    """Play episodes and yield each record as soon as it is finished; none is kept here.

    The arguments are those of `play`, which returns the same records as a list.
    """
    if isinstance(agents, str | Agent) or callable(agents):
        spec, game = open_game(env, options)
        agents = [agents] * game.num_players
    else:
        spec, game = open_game(env, options, len(agents))
    check_agents(agents, game, spec)
    runner = Runner(
        game,
        _seat(agents, seed),
        spec=spec,
        seed=seed,
        invalid=invalid,
        budgets=budgets,
        listeners=Listeners(hooks),
        live=live,
        max_steps=max_steps,
        rewards=rewards,
        gamma=gamma,
    )
    if out is None:
        if resume:
            raise InvalidOption("resume=True continues a run in a folder; say which: out=…")
        yield from runner.run(range(episodes))
        return
    plan = RunPlan(
        env=spec.id if spec else type(game).__name__,
        options=options_of(game),
        seed=seed,
        agents=tuple(agent.name for agent in runner.agents),
        invalid=invalid,
        rewards=tuple(rewards or ()),
        gamma=gamma,
        max_steps=max_steps,
    )
    with RunFolder(out, plan, resume=resume) as folder:
        finished, begun = folder.read(runner.ledger)
        numbers = (number for number in range(episodes) if number not in finished)
        try:
            for record in runner.run(numbers, begun):
                folder.add(record)
                folder.keep(runner.unfinished)
                yield record
        finally:
            folder.keep(runner.unfinished, now=True)


def play(
    env: str | EnvSpec | Game[Any, Any],
    *,
    agents: AgentLike | Sequence[AgentLike],
    **settings: Any,
) -> list[EpisodeRecord]:
    """Play episodes and return their records, in order of episode.

    agents: one entry a seat, or one agent for every seat; naming one twice seats the same agent
    twice.
    episodes: how many (1). seed: episode i starts from seed + i (0).
    out: a folder whose `episode.jsonl` gets every record as soon as it is finished. A run that is
    interrupted leaves its unfinished episodes beside it, in `unfinished.jsonl`; resume=True
    continues both, and returns what is played now. Episodes that ended in an error are kept in
    `errors.jsonl`; resuming plays them again.
    invalid: the policy for illegal moves ("retry:2"). budgets: limits, for every agent or by name.
    hooks: objects with life-cycle hooks. live: episodes played side by side (256).
    max_steps: truncate longer episodes. rewards: names of step shapers to pay ("env": the game's
    own) under the discount gamma (1.0).
    Everything else goes to the game; num_players follows from `agents` if not given.

    What an agent, the game or a listener raises ends that episode only: its record has `error`,
    and a RuntimeWarning says how many there are. It is raised if no episode finishes.
    """
    records = sorted(stream(env, agents=agents, **settings), key=lambda record: record.number)
    failed = [record for record in records if record.error]
    if failed:
        cause = failed[0].error.strip().splitlines()[-1]
        warnings.warn(
            f"{len(failed)} of {len(records)} episodes ended in an error, the first with {cause}; "
            "see EpisodeRecord.error",
            RuntimeWarning,
            stacklevel=2,
        )
    return records


def _seat(agents: Sequence[AgentLike], seed: int) -> list[Agent]:
    """Open every agent once, with random numbers of its own."""
    made: dict[Any, Agent] = {}
    seated = []
    for seat, agent in enumerate(agents):
        key = agent if isinstance(agent, str) else id(agent)
        if key not in made:
            made[key] = make_agent(agent)
            made[key].reseed(seed + seat)
        seated.append(made[key])
    return seated


def rollouts(
    game: Game[Any, Any] | str,
    *,
    agents: Sequence[AgentLike],
    seed: int,
    n: int,
    start: Episode | None = None,
) -> list[EpisodeRecord]:
    """Play one start n times: a group of siblings that share seed and position.

    `start` is an episode to branch from; by default the beginning from `seed`. Agents draw their
    own random numbers, and so differ; chance inside the game is the same for all.
    """
    spec, rules = open_game(game, {}, len(agents))
    root = start or Episode(rules, seed, spec=spec)
    seated = [make_agent(agent) for agent in agents]
    runner = Runner(rules, seated, spec=spec, seed=seed)
    records = []
    for number in range(n):
        running = RunningEpisode(number, root.fork(), [0] * rules.num_players, sibling=number)
        while not running.episode.over:
            runner.step([running])
        record = runner.finish(running)
        record.group, record.branched_at = f"{root.seed}@{root.turn}", root.turn
        records.append(record)
    return records
