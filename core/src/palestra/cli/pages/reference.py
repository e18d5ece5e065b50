"""Scores of simple agents, speed and an animation of an environment, measured once and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from palestra.agents.fitting import unmet_needs
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.errors import PalestraError
from palestra.kernel.game import Game
from palestra.kernel.registry import load_game, registry, renderer
from palestra.kernel.specs import AgentSpec, EnvSpec
from palestra.records.intervals import Sample
from palestra.records.metrics import Measures, measure, own_metrics
from palestra.records.record import EpisodeRecord
from palestra.runner.play import stream
from palestra.views.batch import make as make_batch

WITHOUT_MODEL = ("scripted", "search", "solver")  # kinds of agents that need nothing else
MOST_AGENTS = 4  # of an environment's own
LANES, SPEED_SECONDS = 1_024, 0.5

# a mean and its interval; None where it is not a number, as JSON has it
Mean = tuple[float | None, float | None, float | None]


class Score(msgspec.Struct, frozen=True):
    """What one agent reached: its mean return with a 95 % interval, and the game's own measures.

    `against` says who sat in the other seats; `seconds` is the processor
    time of one episode.
    """

    agent: str
    against: str
    episodes: int
    mean: Mean
    seconds: float
    measures: dict[str, Mean] = {}


class Reference(msgspec.Struct, frozen=True):
    """The scores of an environment with its default options, and the command that measured them.

    `speed` has rates a second of processor time, by what is counted.
    """

    env: str
    command: str
    versions: dict[str, str]
    scores: list[Score]
    speed: dict[str, float] = {}
    failed: dict[str, str] = {}

    def to_json(self) -> str:
        return msgspec.json.format(msgspec.json.encode(self), indent=1).decode() + "\n"

    def in_words(self) -> str:
        scores = [f"{s.agent} {s.mean[0]:.3g}" for s in self.scores]
        failures = (f"{name} failed: {why}" for name, why in self.failed.items())
        return "; ".join([*scores, *failures])


def read_reference(folder: Path | None, stem: str) -> Reference | None:
    """What `palestra reference` wrote about an environment; None if there is nothing."""
    file = folder / f"{stem}.json" if folder else None
    if file is None or not file.exists():
        return None
    return msgspec.json.decode(file.read_bytes(), type=Reference)


def measure_reference(
    spec: EnvSpec, episodes: int, seconds: float, *, speed: bool
) -> tuple[Reference, EpisodeRecord]:
    """Play every agent that needs no language model; the second value is an episode to draw.

    An agent stops after `episodes`, or after `seconds` of processor time and at least two
    episodes. The episode drawn is the first one of the agent with the best mean.
    """
    game = load_game(spec, {})
    scores, shown, failed = list[Score](), dict[str, EpisodeRecord](), dict[str, str]()
    for agent in reference_agents(spec, game):
        try:
            score, shown[agent] = _score(spec, game, agent, episodes, seconds)
        except Exception as error:  # of one agent: the others are measured all the same
            if agent == "random":
                raise
            failed[agent] = str(error).splitlines()[0] if str(error) else type(error).__name__
        else:
            scores.append(score)
    best = max(scores, key=lambda score: score.mean[0] or 0.0).agent
    found = Reference(
        env=spec.id,
        command=f"palestra reference FOLDER {spec.id} --episodes {episodes}",
        versions=shown[best].versions,
        scores=scores,
        speed=dict(_speeds(spec, game, scores)) if speed else {},
        failed=failed,
    )
    return found, shown[best]


def add_scores(
    spec: EnvSpec, agents: Sequence[str], episodes: int, seconds: float, known: Reference
) -> Reference:
    """What is known, with the scores of these agents measured now; those of others stay."""
    scores = {score.agent: score for score in known.scores}
    failed = {name: why for name, why in known.failed.items() if name not in agents}
    for agent in agents:
        try:
            scores[agent], _ = _score(spec, load_game(spec, {}), agent, episodes, seconds)
        except Exception as error:  # of one agent: the others are measured all the same
            scores.pop(agent, None)
            failed[agent] = str(error).splitlines()[0] if str(error) else type(error).__name__
    return msgspec.structs.replace(known, scores=list(scores.values()), failed=failed)


def reference_agents(spec: EnvSpec, game: Game[Any, Any]) -> list[str]:
    """Random play, the game's own script, and agents that declare this very environment."""
    own = [
        agent.name
        for _, agent in sorted(registry().agents.items())
        if spec.id in agent.plays and agent.kind in WITHOUT_MODEL and _ready(agent, game)
    ]
    script = [] if unmet_needs(registry().agent("scripted"), game) else ["scripted"]
    return ["random", *script, *own[:MOST_AGENTS]]


def _ready(agent: AgentSpec, game: Game[Any, Any]) -> bool:
    """Whether an agent can play without being told anything more."""
    return not unmet_needs(agent, game) and all(option.default for option in agent.options)


class LineUp(NamedTuple):
    """Who sits where, and the seats of the agent that is measured."""

    agents: list[str]
    own: list[int]


def _score(
    spec: EnvSpec, game: Game[Any, Any], agent: str, episodes: int, seconds: float
) -> tuple[Score, EpisodeRecord]:
    """Play the line-ups in turn; their first episodes, which compile the rules, are not counted."""
    line_ups, first = _line_ups(spec, game.num_players, agent)
    everywhere = len(line_ups[0].own) == game.num_players
    wanted = {metric.name for metric in own_metrics(spec.id)}
    sample, measures, begun = Sample(), Measures(), time.process_time()
    for record, own in _episodes(spec, line_ups, episodes):
        sample.add(sum(record.returns[seat] for seat in own) / len(own))
        found = measure(record) if everywhere else {}
        measures.add({n: v for n, v in found.items() if n.partition(":")[0] in wanted})
        if sample.count > 1 and time.process_time() - begun > seconds:
            break
    score = Score(
        agent=agent,
        against="-" if game.num_players == 1 else "itself" if everywhere else "random",
        episodes=sample.count,
        mean=sample.interval(bounds=game.payoff_bounds),
        seconds=(time.process_time() - begun) / sample.count,
        measures={name: measures.interval(name) for name in sorted(measures.samples)},
    )
    return score, first


def _line_ups(spec: EnvSpec, seats: int, agent: str) -> tuple[list[LineUp], EpisodeRecord]:
    """Where the agent is measured, and a first episode there.

    It has every seat, or in zero-sum games each seat in turn against random play. An agent that
    takes only some seats has these, and random play the others.
    """
    together = LineUp([agent] * seats, list(range(seats)))
    apart = [
        LineUp([agent if s == own else "random" for s in range(seats)], [own])
        for own in range(seats)
    ]
    if seats == 1 or spec.payoffs != "zero-sum":
        try:
            return [together], _play(spec, together)
        except PalestraError:
            if seats == 1:
                raise
    played: list[tuple[LineUp, EpisodeRecord]] = []
    problem: PalestraError | None = None
    for line_up in apart:
        try:
            played.append((line_up, _play(spec, line_up)))
        except PalestraError as error:
            problem = error
    if not played:
        raise problem or PalestraError(f"{agent} takes no seat")
    return [line_up for line_up, _ in played], played[0][1]


def _play(spec: EnvSpec, line_up: LineUp) -> EpisodeRecord:
    return _finished(next(stream(spec, agents=line_up.agents, episodes=1, live=1)))


def _episodes(
    spec: EnvSpec, line_ups: list[LineUp], episodes: int
) -> Iterator[tuple[EpisodeRecord, list[int]]]:
    """Episodes of the line-ups in turn, each of its own seed, with the agent's seats."""
    each = -(-episodes // len(line_ups))
    tables = [
        stream(spec, agents=line_up.agents, episodes=each, seed=number * each, live=1)
        for number, line_up in enumerate(line_ups)
    ]
    for number in range(episodes):
        at = number % len(tables)
        yield _finished(next(tables[at])), line_ups[at].own


def _finished(record: EpisodeRecord) -> EpisodeRecord:
    if record.error:
        raise PalestraError(record.error.strip().splitlines()[-1])
    return record


def _speeds(
    spec: EnvSpec, game: Game[Any, Any], scores: list[Score]
) -> Iterator[tuple[str, float]]:
    """Steps a second of one core: of the batch view, and of whole episodes of random play."""
    yield "episodes of random play a second", 1 / next(s.seconds for s in scores)
    if isinstance(game, ArrayGame):
        batch = make_batch(spec, num_envs=LANES, seed=0)
        batch.reset()
        yield f"steps a second, batch of {LANES:,}", LANES * _rate(lambda: _step(batch))


def _step(batch: Any) -> None:
    batch.step(batch.random_actions())


def _rate(work: Callable[[], object]) -> float:
    """Calls a second of processor time, after one call that is not counted."""
    work()
    calls, begun = 0, time.process_time()
    while (took := time.process_time() - begun) < SPEED_SECONDS:
        work()
        calls += 1
    return calls / took


def write_animation(record: EpisodeRecord, path: Path) -> None:
    """Draw an episode with the installed renderer of the mode "webp"."""
    spec = registry().environments.get(record.env)
    renderer(spec, "webp")([record], path, None, None)
