"""`palestra.play`, `palestra.stream` and `palestra.rollouts`."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from palestra.agents.agent import Agent
from palestra.agents.budget import Budget
from palestra.agents.fitting import check_agents
from palestra.agents.making import AgentLike
from palestra.isolation.seating import seat_agent
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import Game
from palestra.kernel.registry import open_game
from palestra.kernel.rng import SEED_LIMIT, check_seed
from palestra.kernel.specs import EnvSpec
from palestra.records.record import EpisodeRecord, options_of
from palestra.records.versions import versions_for, versions_of_names
from palestra.runner.calls import Calls
from palestra.runner.faults import as_exception, is_stop
from palestra.runner.listeners import Listeners
from palestra.runner.run_folder import RunFolder, RunPlan
from palestra.runner.runner import MAX_LIVE, Runner
from palestra.shaping import Shaper, open_episode, reward_name

RUNNER_SETTINGS = ("invalid", "budgets", "live", "max_episode_steps", "move_seconds")


def stream(
    env: str | EnvSpec | Game[Any, Any],
    *,
    agents: AgentLike | Sequence[AgentLike],
    episodes: int = 1,
    seed: int = 0,
    out: str | Path | None = None,
    resume: bool = False,
    other_versions: bool = False,
    invalid: str = "retry:2",
    budgets: dict[str, Budget] | Budget | None = None,
    hooks: Iterable[object] = (),
    live: int = MAX_LIVE,
    max_episode_steps: int | None = None,
    rewards: Sequence[str | Shaper] | None = None,
    gamma: float = 1.0,
    move_seconds: float | None = None,
    isolate: bool | None = None,
    asynchronous: bool = False,
    **options: Any,
) -> Iterator[EpisodeRecord]:
    """Play episodes and yield each record as soon as it is finished, keeping none in memory.

    env, agents, episodes, seed, out, resume, other_versions, invalid, budgets, hooks, live,
        max_episode_steps, rewards, gamma, move_seconds, isolate, asynchronous, options: as in
        `play`, which returns the same records as a list and raises the same errors.

    Raises `InvalidOption` for resume=True without a folder.
    """
    spec, game, seated = _open(env, agents, seed, options, isolate)
    runner = Runner(
        game,
        seated,
        spec=spec,
        seed=seed,
        invalid=invalid,
        budgets=budgets,
        listeners=Listeners(hooks),
        live=live,
        max_episode_steps=max_episode_steps,
        rewards=rewards,
        gamma=gamma,
        move_seconds=move_seconds,
        calls=Calls() if asynchronous else None,
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
        rewards=tuple(map(reward_name, rewards or ())),
        gamma=gamma,
        max_episode_steps=max_episode_steps,
        move_seconds=move_seconds,
        versions=versions_for(game, *runner.agents)
        | versions_of_names(
            (agent.name for agent in runner.agents), map(reward_name, rewards or ())
        ),
    )
    with RunFolder(out, plan, resume=resume, other_versions=other_versions) as folder:
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

    env: an id, or a game that was made.
    agents: one entry per seat, or one agent for every seat; naming one twice seats the same agent
        twice. See `make_agent` for what an entry may be.

    The settings:

    episodes: how many (1). seed: episode i starts from seed + i (0).
    out: a folder whose `episode.jsonl` gets every record as soon as it is finished. A run that is
        interrupted leaves its unfinished episodes in `unfinished.jsonl`; resume=True resumes them,
        plays the missing ones, and returns the records of this call. Episodes that ended in an
        error are kept in `errors.jsonl`; resuming plays them again. A run that was begun with other
        versions of palestra or of the plugins is refused, unless other_versions=True.
    invalid: the policy for illegal moves ("retry:2"); see `Episode`.
    budgets: limits, a `Budget` for every agent or by name.
    hooks: objects with life-cycle hooks. live: episodes played side by side (256).
    max_episode_steps: truncate longer episodes (no limit).
    rewards: step shapers to pay, by name, as code ("mine.py:near") or as functions of a
        `Transition` ("env": the game's own), under the discount gamma (1.0).
    move_seconds: a seat that takes longer for a move forfeits, or the episode is truncated if the
        game is not zero-sum (no limit; main thread only).
    isolate: each agent plays in a process of its own, which reaches nothing but its turns (Linux):
        see `palestra.isolation`. By default only agents named by a file do, as in "mine.py:Mine";
        with False none does.
    asynchronous: whether a language model, or a coroutine, answers each turn as soon as it is
        ready, so that a long reply holds up its own episode only (False: all turns that wait are
        asked together, and the next ones when all have been answered).

    Everything else goes to the game; num_players follows from `agents` if not given.

    An exception of an agent, the game or a listener ends that episode only: its record has `error`,
    and a RuntimeWarning says how many there are. If no episode finishes, it is raised.

    Raises `UnknownName` for an environment, agent or shaper that is not registered, `InvalidOption`
    for settings that the game, an agent or a policy does not take and for a folder that holds
    another run, `RecordError` for one whose records cannot be read.
    """
    records = sorted(stream(env, agents=agents, **settings), key=lambda record: record.number)
    _warn_of_errors(records)
    return records


def _warn_of_errors(records: Sequence[EpisodeRecord]) -> None:
    """Warn the caller's caller of episodes that ended in an error."""
    failed = [record for record in records if record.error]
    if failed:
        cause = failed[0].error.strip().splitlines()[-1]
        warnings.warn(
            f"{len(failed)} of {len(records)} episodes ended in an error, the first with {cause}; "
            "see EpisodeRecord.error",
            RuntimeWarning,
            stacklevel=3,
        )


def _open(
    env: str | EnvSpec | Game[Any, Any],
    agents: AgentLike | Sequence[AgentLike],
    seed: int,
    options: dict[str, Any],
    isolate: bool | None,
) -> tuple[EnvSpec | None, Game[Any, Any], list[Agent]]:
    """Make the game with its options, and the agents at its seats."""
    if isinstance(agents, str) or not isinstance(agents, Sequence) or callable(agents):
        spec, game = open_game(env, options)
        agents = [agents] * game.num_players
    else:
        spec, game = open_game(env, options, len(agents))
    check_agents(agents, game, spec)
    return spec, game, _seat(agents, seed, isolate)


def _seat(agents: Sequence[AgentLike], seed: int, isolate: bool | None) -> list[Agent]:
    """Open every agent once, each with its own random numbers."""
    made: dict[Any, Agent] = {}
    seated = []
    for seat, agent in enumerate(agents):
        key = agent if isinstance(agent, str) else id(agent)
        if key not in made:
            try:
                made[key] = seat_agent(agent, isolate=isolate)
                made[key].reseed((check_seed(seed) + seat) % SEED_LIMIT)
            except BaseException as error:
                if is_stop(error):
                    raise
                raise as_exception(error) from error
        seated.append(made[key])
    return seated


def rollouts(
    env: str | EnvSpec | Game[Any, Any],
    *,
    agents: AgentLike | Sequence[AgentLike],
    n: int,
    seed: int = 0,
    start: Episode | None = None,
    parent: str = "",
    rewards: Sequence[str | Shaper] | None = None,
    gamma: float = 1.0,
    hooks: Iterable[object] = (),
    **settings: Any,
) -> list[EpisodeRecord]:
    """Play one start n times, side by side, and return the records: a group of siblings.

    Chance inside the game is the same for all, and follows from `seed`; agents draw different
    random numbers in each, and the same ones in every call with this seed.

    env, agents, rewards, gamma, hooks: as in `play`. n: how many records, at least 1.
    start: an episode to branch from; by default a new one. Its steps so far are in every record, up
        to `branched_at`; `EpisodeRecord.own_turns` leaves them out. It keeps its own rewards, so
        `rewards` and `gamma` cannot be given with it.
    parent: the number, or the tag `id`, of the record that the start was taken from.
    settings: as in `play`: invalid, budgets, live, max_episode_steps, move_seconds, isolate,
        asynchronous, and the game's options.

    Records of one call share `group`, which identifies seed and position. Raises `InvalidOption`
    for a start of another game, and for settings of runs that are kept in a folder.
    """
    if n < 1:
        raise InvalidOption(f"n must be at least 1, not {n}")
    if start is not None and not isinstance(start, Episode):
        raise InvalidOption(
            f"start is the episode to branch from, not {start!r}; a game's option of that name is "
            "given to the game: rollouts(palestra.game(id, start=…), …)"
        )
    if start is not None and (rewards is not None or gamma != 1.0):
        raise InvalidOption(
            "a start pays what it was made with; give rewards and gamma to the episode, as in "
            "palestra.make(…, view='episode', rewards=…), and not to rollouts"
        )
    unknown = {"episodes", "out", "resume", "other_versions"} & set(settings)
    if unknown:
        raise InvalidOption(f"rollouts takes no {min(unknown)}: n records are returned")
    isolate = settings.pop("isolate", None)
    calls = Calls() if settings.pop("asynchronous", False) else None
    own = {name: settings.pop(name) for name in RUNNER_SETTINGS if name in settings}
    spec, game, seated = _open(env, agents, seed, settings, isolate)
    if start is None:
        start = open_episode(game, seed, rewards=rewards, gamma=gamma, spec=spec)
    elif start.game != game:
        raise InvalidOption(
            f"the start is an episode of {start.game!r}, not of {game!r}; pass its game, or the "
            "options it was made with"
        )
    listeners = Listeners(hooks)
    runner = Runner(
        game, seated, spec=spec, seed=seed, listeners=listeners, root=start, calls=calls, **own
    )
    position = f"-{start.state_key().hex()[:12]}" if start.steps_played else ""
    records = sorted(runner.run(range(n)), key=lambda record: record.number)
    for record in records:
        record.group, record.parent = f"{start.seed}@{start.steps_played}{position}", parent
        record.branched_at = start.steps_played
    _warn_of_errors(records)
    return records
