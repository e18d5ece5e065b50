"""Running a tournament: schedule, engine and store put together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from palestra import InvalidOption
from palestra.agents.fitting import why_unfit
from palestra.kernel.registry import load_game, registry
from palestra.records.versions import versions_for, versions_of_names

from palestra_arena.engine import Engine, group, open_engine
from palestra_arena.match import Match, Meeting, matches_of
from palestra_arena.referee import Factories, check_field
from palestra_arena.result import GameResult
from palestra_arena.schedule import Plan, ScheduledEnvironment, make_plan
from palestra_arena.settings import Settings
from palestra_arena.store import Store
from palestra_arena.trust.held_out import seen_before

Progress = Callable[[int, int, GameResult | None], None]


@dataclass(frozen=True, slots=True)
class Tournament:
    """A finished tournament: all its settings, and its games in the order of the schedule.

    `played` games were played by this run; the others were in the store.
    """

    settings: Settings
    results: tuple[GameResult, ...]
    played: int


def run_tournament(
    settings: Settings,
    store: str | Path | Store = ":memory:",
    *,
    agents: Factories | None = None,
    progress: Progress | None = None,
    other_versions: bool = False,
) -> Tournament:
    """Play the missing games of a tournament, and return all of them.

    `store` is a file, which makes the tournament resumable: every game is kept as soon as it is
    over, and a later run with the same settings resumes it. `agents` maps names used in
    the settings to agents, as in `make_agent`, or to functions without arguments that return one;
    with workers they must be importable.
    `progress` is called with games done, games known of so far, and the last result. A store that
    was begun with other versions of palestra or of the plugins is refused, unless `other_versions`.
    """
    factories = agents or {}
    check_field(settings, factories)
    plan = make_plan(settings, entries_of(settings, factories))
    opening = next(plan)  # raises for anything invalid before a file is made
    with nullcontext(store) if isinstance(store, Store) else Store(store) as opened:
        opened.begin(settings, versions_in(settings, factories), other_versions=other_versions)
        return _run(settings, plan, opening, opened, factories, progress)


def versions_in(settings: Settings, factories: Factories) -> dict[str, str]:
    """The versions of what decides the games: palestra, the environments' and the agents'."""
    known = registry().environments
    rules = [known[environment.id].entry_point for environment in settings.environments]
    names = [name for name in settings.agents if name not in factories]
    return versions_for(*rules, *factories.values()) | versions_of_names(names)


def _run(
    settings: Settings,
    plan: Plan,
    meetings: list[Meeting],
    store: Store,
    factories: Factories,
    progress: Progress | None,
) -> Tournament:
    # games that ended in an error are played again
    known = {result.match: result for result in store.results() if result.status != "error"}
    engine = open_engine(settings, factories)
    done: list[GameResult] = []
    played = 0
    try:
        while True:
            matches = list(
                dict.fromkeys(m for meeting in meetings for m in matches_of(meeting, settings))
            )
            _check_held_out(matches, settings)
            missing = [match for match in matches if match not in known]
            total, ready = len(done) + len(matches), len(done) + len(matches) - len(missing)
            if progress:
                progress(ready, total, None)
            for result in _play(missing, engine, settings, store):
                known[result.match] = result
                played, ready = played + 1, ready + 1
                if progress:
                    progress(ready, total, result)
            results = [known[match] for match in matches]
            done += results
            try:
                meetings = plan.send(results)
            except StopIteration:
                return Tournament(settings, tuple(done), played)
    finally:
        engine.close()


def _check_held_out(matches: Sequence[Match], settings: Settings) -> None:
    for match in () if settings.allow_seen else matches:
        entry = seen_before(settings.trained, match.environment.id, match.agents, match.seed)
        if entry:
            raise InvalidOption(
                f"{entry}, and this tournament would score it on seed {match.seed}; begin at "
                f"seed {entry.last + 1} or later, or say allow_seen to score it all the same"
            )


def _play(
    matches: Sequence[Match], engine: Engine, settings: Settings, store: Store
) -> Iterator[GameResult]:
    """Play matches and keep each as soon as it is over."""
    for played in engine.play(group(matches, settings.together)):
        store.add(played.result, played.record)
        yield played.result


def entries_of(settings: Settings, factories: Factories) -> list[ScheduledEnvironment]:
    """Every environment with its number of seats and the agents that are left out of it."""
    partners = getattr(settings.schedule, "partners", ())
    named = [agent for agent in (*settings.agents, *partners) if agent not in factories]
    entries = []
    for environment in settings.environments:
        spec = registry().environment(environment.id)
        game = load_game(spec, environment.options, environment.players or 1)
        if environment.players not in (None, game.num_players):
            fewest, most = spec.players
            raise InvalidOption(
                f"{environment.id} seats {fewest} to {most}, not {environment.players}"
            )
        unfit = frozenset(agent for agent in named if why_unfit(agent, game, spec))
        entries.append(ScheduledEnvironment(environment, game.num_players, unfit))
    return entries
