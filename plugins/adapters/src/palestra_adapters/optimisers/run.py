"""Runs a search: plays workflows, asks the proposer, keeps everything on file, resumes.

`log.jsonl` has one line per question and per batch of episodes, written as soon as it is answered.
`search.json` identifies the run, `archive.jsonl` lists the variants with scores and costs,
`best.json` is the workflow that was found, and `result.json` compares it with the starting one on
held-out seeds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
import palestra
from msgspec.structs import replace
from palestra import (
    Agent,
    BudgetSpent,
    Decision,
    EpisodeRecord,
    InvalidOption,
    PalestraError,
    Rng,
    Turn,
    Usage,
)
from palestra.agents.models import Message, Model, Reply, Request
from palestra.files import UNREADABLE, read_json, writable, write_bytes
from palestra.kernel.episode import Episode
from palestra.kernel.errors import show
from palestra.kernel.game import Game
from palestra.records.intervals import Interval
from palestra.records.record import EventRecord, as_json
from palestra.records.versions import check_versions, versions_for, versions_of_names
from palestra.runner.run_folder import sole_writer

from palestra_adapters.adapter import said_in
from palestra_adapters.optimisers.search import (
    Choice,
    Question,
    Search,
    Searching,
    Studio,
    Told,
    Trials,
    Variant,
    WorkflowEpisode,
    interval,
)
from palestra_adapters.search.spots import Scale
from palestra_adapters.thinking import price_reply
from palestra_adapters.workflows.player import WorkflowPlayer
from palestra_adapters.workflows.steps import Workflow, write_workflow

UNITS = ("calls", "tokens", "money", "episodes")
HELD_OUT = 1 << 30  # the first seed that no search plays on
STREAM = 0x5EA7
SHOWN = 2_000  # characters of a story or a step's text that are kept
DECISIONS = 12  # decisions of an episode whose texts are kept
LOG, PLAN, ARCHIVE, BEST, RESULT = (
    "log.jsonl",
    "search.json",
    "archive.jsonl",
    "best.json",
    "result.json",
)


class SearchPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What identifies a run of a search: a folder resumes no other."""

    env: str
    options: dict[str, Any]
    search: str
    settings: dict[str, Any]
    model: str
    proposer: str
    opponents: tuple[str, ...]
    seat: int
    seed: int
    train: int
    held_out: int
    start: Workflow
    agent: dict[str, Any] = {}  # options of the player
    versions: dict[str, str] = {}  # of what decides an episode


class LogLine(msgspec.Struct):
    """One line of the log: the key of what was asked, and the answer."""

    wish: str
    told: Told | None = None
    played: list[WorkflowEpisode] | None = None
    cut: Usage | None = None  # of episodes that the budget cut off, which answer nothing


class Comparison(msgspec.Struct, frozen=True):
    """The found workflow against the starting one, on the same held-out seeds.

    Intervals are at 95 %: value, low, high. `gain` is that of the paired differences. `spent` is
    what the search cost, `tested` what the held-out episodes cost.
    """

    start: Interval
    best: Interval
    gain: Interval
    variant: int
    variants: int
    episodes: int
    spent: Usage
    tested: Usage
    workflow: Workflow


class Steady(Agent):
    """An agent whose random numbers stay those of one seed, in whatever batches it plays."""

    def __init__(self, agent: Agent, seed: int) -> None:
        self._agent, self.name = agent, agent.name
        agent.reseed(seed)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return self._agent.act(turns)

    def forget(self, episode_key: int) -> None:
        self._agent.forget(episode_key)


class SharedModel(Model):
    """A model that stays open when the agent that uses it is closed, and that counts its use.

    calls: how many it may take; requests beyond them raise `BudgetSpent` and are not asked.
    """

    def __init__(self, model: Model, calls: float = math.inf) -> None:
        self.inner, self.name = model, model.name
        self.abilities = model.abilities  # type: ignore[misc]  # of this model, not of the class
        self.used, self.calls, self.is_spent = Usage(), calls, False

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        if self.used.calls + len(requests) > self.calls:
            self.is_spent = True
            raise BudgetSpent(f"{len(requests)} calls exceed the budget of the search")
        replies = self.inner.chat(requests)
        for reply in replies:
            self.used += price_reply(reply, self.inner).usage
        return replies


@dataclass(slots=True)
class Stage:
    """Where workflows are played: a game, one seat or all, opponents, a model."""

    game: Game[Any, Any]
    env: Any  # the environment's spec, or the game
    model: Model
    opponents: Sequence[str]
    seat: int
    seed: int
    agent_settings: Mapping[str, Any] = field(default_factory=dict)
    max_episode_steps: int | None = None

    def play(self, trials: Trials, model: Model | None = None) -> list[WorkflowEpisode]:
        """Results in order of seed; raises the first error of an episode."""
        records = palestra.stream(
            self.game,
            agents=self._seated(trials.workflow, model or SharedModel(self.model)),
            episodes=trials.count,
            seed=trials.first,
            max_episode_steps=self.max_episode_steps,
        )
        found = []
        for record in records:
            if record.error:
                raise PalestraError(f"an episode failed: {record.error.strip().splitlines()[-1]}")
            found.append(self._result(record, trials.first))
        return sorted(found, key=lambda one: one.seed)

    def _seated(self, workflow: Workflow, model: Model) -> list[Agent]:
        player = WorkflowPlayer(file=workflow, model=model, seed=self.seed, **self.agent_settings)
        player.name = "workflow"
        if not self.opponents:
            return [player] * self.game.num_players
        others = iter(self.opponents)
        return [
            player
            if seat == self.seat
            else Steady(palestra.make_agent(next(others)), self.seed + seat)
            for seat in range(self.game.num_players)
        ]

    def _result(self, record: EpisodeRecord, first: int) -> WorkflowEpisode:
        own = set(range(self.game.num_players)) if not self.opponents else {self.seat}
        turns = [turn for turn in record.turns if turn.seat in own]
        return WorkflowEpisode(
            seed=first + record.number,
            returns=sum(record.returns[seat] for seat in own) / len(own),
            usage=sum((turn.usage for turn in turns), Usage()),
            story=story_of(record, self.seat),
            choices=tuple(_choice(turn) for turn in turns[:DECISIONS]),
        )

    def task(self) -> str:
        """The rules, and one opening position if this seat moves first."""
        rules = self.game.rules_for(self.seat)
        episode = Episode(self.game, 0)
        if self.seat not in episode.to_act:
            return rules
        return f"{rules}\n\nAn opening position:\n{Turn(episode, self.seat).position}"


def story_of(record: EpisodeRecord, seat: int) -> str:
    """What a seat has seen and played in an episode, the end first if it is long."""
    lines = _visible(record.opening, seat)
    for step in record.steps:
        seen = _visible(step.events, seat)
        own = [turn.text for turn in step.turns if turn.seat == seat]
        lines += [f"You play {move}." for move in own if not any(move in line for line in seen)]
        lines += seen
    lines.append(f"Your return is {record.returns[seat]:g}.")
    text = "\n".join(lines)
    return text if len(text) <= SHOWN else f"…\n{text[-SHOWN:]}"


def _visible(events: Sequence[EventRecord], seat: int) -> list[str]:
    return [e.text for e in events if e.audience is None or seat in e.audience]


def _choice(turn: Any) -> Choice:
    talks = turn.facts.get("talks") or [None]
    talk = talks[0]
    if talk is None:
        return Choice((), turn.text)
    read = msgspec.convert(talk, EpisodeRecord, strict=False)
    said = [(read.players[t.seat], t.text[:SHOWN]) for t in read.turns]
    return Choice(tuple(said), turn.text)


def key_of(wish: Question | Trials) -> str:
    """What identifies a question or a batch of episodes in the log."""
    return blake2b(msgspec.json.encode(wish), digest_size=8).hexdigest()


class Log:
    """Answers on file: those of an earlier run are given again, in order."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = self._read()
        self.replayed = 0

    def _read(self) -> list[LogLine]:
        """The whole lines; one that a killed process left unfinished is cut off."""
        if not self._path.exists():
            return []
        data = self._path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            with writable(self._path), self._path.open("r+b") as file:
                file.truncate(whole)
        try:
            return [msgspec.json.decode(line, type=LogLine) for line in data[:whole].splitlines()]
        except UNREADABLE as error:
            raise InvalidOption(f"{self._path} cannot be read: {error}") from error

    def known(self, wish: str) -> LogLine | None:
        """The next answer on file; raises `InvalidOption` if it answers something else."""
        if self.replayed >= len(self._known):
            return None
        line = self._known[self.replayed]
        if line.wish != wish:
            raise InvalidOption(
                f"{self._path} does not belong to this search: line {self.replayed + 1} answers "
                "another question; start again in another folder"
            )
        self.replayed += 1
        return line

    def may_answer(self, wish: str) -> bool:
        """Whether the next line answers this, or nothing is on file yet."""
        return self.replayed >= len(self._known) or self._known[self.replayed].wish == wish

    def add(self, line: LogLine) -> None:
        with writable(self._path), self._path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")
            file.flush()
            os.fsync(file.fileno())


class Optimiser:
    """One run of a search in a folder; `run` starts it, or continues one that was interrupted.

    stage: where workflows are played. proposer: the model that writes workflows. budget: limits on
    what the search may spend, by unit (calls, tokens, money, episodes); the held-out episodes are
    not part of it. Calls and episodes are never exceeded: a batch of episodes that would is cut off
    and counts for nothing. Tokens and money are checked before every question and every batch.
    Raises `InvalidOption` for a folder with another run.
    """

    def __init__(
        self,
        search: Search,
        stage: Stage,
        *,
        proposer: Model,
        plan: SearchPlan,
        folder: Path,
        budget: Mapping[str, float],
        max_tokens: int = 2_048,
        resume: bool = False,
        other_versions: bool = False,
    ) -> None:
        for unit, limit in budget.items():
            if unit not in UNITS or not limit >= 0:
                raise InvalidOption(f"budget {unit}={limit}: units are {', '.join(UNITS)}, from 0")
        self.search, self.stage = search, stage
        self.folder, self.budget, self.resume = folder, dict(budget), resume
        self._other_versions = other_versions
        self.plan = replace(plan, versions=self._versions())
        self._proposer, self._max_tokens = proposer, max_tokens
        self.spent, self.episodes = Usage(), 0
        self.studio = Studio(
            stage.task(), Scale.of(stage.game), Rng.seeded(plan.seed, stream=STREAM), plan.train
        )

    def run(self, tell: Callable[[str], None] = lambda line: None) -> Comparison:
        """The comparison on held-out seeds; `tell` gets a line per variant that was played."""
        with sole_writer(self.folder):
            self._admit()
            self._log = Log(self.folder / LOG)
            self._drive(self.search.run(self.studio, self.plan.start), tell)
            if not any(variant.played for variant in self.studio.archive):
                raise InvalidOption("the budget ended before a workflow was played; raise it")
            return self._compare(self.search.choose(self.studio))

    def _versions(self) -> dict[str, str]:
        rules = versions_for(self.stage.game, self.search, self)
        return rules | versions_of_names(self.stage.opponents)

    def _admit(self) -> None:
        """Write the plan; raises `InvalidOption` for a folder with another search."""
        file = self.folder / PLAN
        if file.exists():
            if not self.resume:
                raise InvalidOption(
                    f"{self.folder} holds a search already; continue it with --resume, or choose "
                    "another folder"
                )
            self._check(file)
        write_bytes(file, msgspec.json.format(msgspec.json.encode(self.plan)))

    def _check(self, file: Path) -> None:
        try:
            kept = read_json(file, SearchPlan)
        except (OSError, *UNREADABLE) as error:
            raise InvalidOption(f"{file} cannot be read: {error}; restore a copy") from error
        was, now = as_json(kept), as_json(self.plan)
        for name in was:
            if name != "versions" and was[name] != now[name]:
                raise InvalidOption(
                    f"{self.folder} holds a search with other settings: {name} = "
                    f"{show(was[name])}, not {show(now[name])}; see {PLAN} there"
                )
        check_versions(self.folder, kept.versions, self.plan.versions, accept=self._other_versions)

    def _drive(self, running: Searching[None], tell: Callable[[str], None]) -> None:
        answer: Any = None
        told = 0
        while True:
            try:
                wish = running.send(answer)
            except StopIteration:
                break
            told = self._tell_of(told, tell)
            try:
                self._refuse_if_exhausted()
                answer = self._answer(wish)
            except BudgetSpent:
                running.close()
                break
        self._tell_of(told, tell)
        self._keep_archive()

    def _tell_of(self, told: int, tell: Callable[[str], None]) -> int:
        """Say how each new variant did, once it was played."""
        while told < len(self.studio.archive) and self.studio.archive[told].played:
            one = self.studio.archive[told]
            tell(f"variant {one.number} ({one.how}): mean return {one.mean:.3f}")
            told += 1
            self._keep_archive()
        return told

    def _refuse_if_exhausted(self) -> None:
        used = {
            "calls": self.spent.calls,
            "tokens": self.spent.tokens,
            "money": self.spent.cost,
            "episodes": self.episodes,
        }
        if any(used[unit] >= limit for unit, limit in self.budget.items()):
            raise BudgetSpent("the budget of the search is spent")

    def _answer(self, wish: Question | Trials) -> Any:
        """The answer on file, or a new one, which is put there; counted as spent either way."""
        line = self._line(wish)
        if line.played is not None:
            self.spent = sum((one.usage for one in line.played), self.spent)
            self.episodes += len(line.played)
            return line.played
        if line.told is not None:
            self.spent += line.told.usage
        return line.told

    def _line(self, wish: Question | Trials) -> LogLine:
        key = key_of(wish)
        line = self._log.known(key)
        while line is not None and line.cut is not None:
            self.spent += line.cut
            if not self._log.may_answer(key):
                raise BudgetSpent("the search has ended here")
            line = self._log.known(key)
        if line is None:
            line = LogLine(key)
            if isinstance(wish, Trials):
                line.played = self._play(wish)
            else:
                line.told = self._ask(wish)
            self._log.add(line)
        return line

    def _play(self, trials: Trials) -> list[WorkflowEpisode]:
        """Episodes of the search or of the comparison, whose seeds begin with `HELD_OUT`."""
        if trials.first == HELD_OUT:
            return self.stage.play(trials)
        if self.episodes + trials.count > self.budget.get("episodes", math.inf):
            raise BudgetSpent("the budget of episodes does not suffice for a batch")
        calls = self.budget.get("calls", math.inf) - self.spent.calls
        model = SharedModel(self.stage.model, calls)
        try:
            return self.stage.play(trials, model)
        except Exception as error:
            if not model.is_spent:
                raise
            if model.used.calls:
                self._log.add(LogLine(key_of(trials), cut=model.used))
                self.spent += model.used
            raise BudgetSpent("the budget of calls cut a batch of episodes off") from error

    def _ask(self, question: Question) -> Told:
        request = Request(
            (Message("system", question.system), Message("user", question.prompt)),
            max_tokens=self._max_tokens,
            temperature=question.temperature,
            seed=question.seed if question.temperature else None,
        )
        reply = price_reply(self._proposer.chat([request])[0], self._proposer)
        return Told(said_in(reply), reply.usage)

    def _compare(self, best: Variant) -> Comparison:
        count = self.plan.held_out
        start = self._line(Trials(self.plan.start, HELD_OUT, count)).played or []
        found = start
        if best.workflow.key != self.plan.start.key:
            found = self._line(Trials(best.workflow, HELD_OUT, count)).played or []
        before, after = [one.returns for one in start], [one.returns for one in found]
        episodes = start if found is start else [*start, *found]
        workflow = msgspec.structs.replace(best.workflow, model=self.plan.model)
        result = Comparison(
            start=interval(before, self.stage.game.payoff_bounds),
            best=interval(after, self.stage.game.payoff_bounds),
            gain=interval([b - a for a, b in zip(before, after, strict=True)]),
            variant=best.number,
            variants=len(self.studio.archive),
            episodes=self.episodes,
            spent=self.spent,
            tested=sum((one.usage for one in episodes), Usage()),
            workflow=workflow,
        )
        write_workflow(self.folder / BEST, workflow)
        write_bytes(self.folder / RESULT, msgspec.json.format(msgspec.json.encode(result)))
        return result

    def _keep_archive(self) -> None:
        rows = b"".join(msgspec.json.encode(row) + b"\n" for row in self._rows())
        write_bytes(self.folder / ARCHIVE, rows)

    def _rows(self) -> Iterator[dict[str, Any]]:
        for one in self.studio.archive:
            yield {
                "number": one.number,
                "parents": one.parents,
                "how": one.how,
                "note": one.note,
                "episodes": one.episodes,
                "returns": one.interval if one.played else None,
                "played": one.usage,
                "asked": one.asked,
                "workflow": one.workflow,
            }
