"""Everything that decides a tournament, in one typed value that its results carry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec.structs import force_setattr
from palestra import InvalidOption
from palestra.files import UNREADABLE, read_file, read_toml
from palestra.kernel.errors import show
from palestra.kernel.policy import InvalidMovePolicy

from palestra_arena.axes import Axes, cross
from palestra_arena.trust.held_out import TrainedOn

Seating = Literal["rotate", "permute", "fixed"]
ENGINES = ("local", "ray")
UNFIT = ("refuse", "leave-out")
LEAST = {"rounds": 1, "eliminate": 0, "sweeps": 1, "lineups": 1}  # of what a schedule counts
SEED_LIMIT = 2**62  # what an SQLite integer holds, with room for later rounds


class Environment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A game to be played: its id, its number of seats where that varies, and its options."""

    id: str
    players: int | None = None
    options: dict[str, Any] = {}

    @property
    def label(self) -> str:
        """The id, followed by what differs from its defaults."""
        changed = dict(sorted(self.options.items()))
        if self.players is not None:
            changed = {"players": self.players, **changed}
        if not changed:
            return self.id
        return f"{self.id}({', '.join(f'{name}={value}' for name, value in changed.items())})"

    def __hash__(self) -> int:
        return hash(self.label)


class _Schedule(
    msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True, kw_only=True
):
    """Who meets whom."""


class RoundRobin(_Schedule, frozen=True, tag="round-robin"):
    """All agents meet: every set of as many agents as a game has seats."""


class Swiss(_Schedule, frozen=True, tag="swiss"):
    """Rounds of pairings between agents with similar scores, without repeats where possible.

    `rounds` None plays the fewest that can single out a winner, ceil(log2(agents)). `eliminate`
    drops that many of the lowest after every round (the elimination pressure of LLM Swiss Round).
    `draw` is "seeded" (by rank, folding the upper half of a score group on the lower, as in chess)
    or "random" (shuffled inside a score group, as in LLM Swiss Round). With an odd number the last
    sits out, for `bye` points. `sequence` plays one environment a round, in turn, instead of all.
    """

    rounds: int | None = None
    eliminate: int = 0
    draw: Literal["seeded", "random"] = "seeded"
    bye: float = 1.0
    sequence: bool = False


class KnockOut(_Schedule, frozen=True, tag="knock-out"):
    """The loser of a pairing is out; agents are seeded in the order they are named.

    A tied pairing goes to the better seed.
    """


class Ladder(_Schedule, frozen=True, tag="ladder"):
    """Each agent challenges the one above it, from the bottom up; a winner takes its place.

    Agents start in the order they are named. A sweep goes once from the bottom to the top.
    """

    sweeps: int = 1


class CrossPlay(_Schedule, frozen=True, tag="cross-play"):
    """Every agent with each of the held-out `partners`, who do not meet each other.

    Without partners, everybody with everybody and with a copy of itself.
    """

    partners: tuple[str, ...] = ()


class Population(_Schedule, frozen=True, tag="population"):
    """Line-ups of as many agents as there are seats, drawn so that all play equally often."""

    lineups: int = 20


class Adaptive(_Schedule, frozen=True, tag="adaptive"):
    """Rounds of only those pairings in which it is not yet clear who takes more than half.

    Stops when all are clear, correctly with probability `certainty` (ResponseGraphUCB), or after
    `rounds`. A pairing within `indifference` of half is settled as a tie.
    """

    rounds: int = 100
    certainty: float = 0.95
    indifference: float = 0.1


EXTENSIBLE = (RoundRobin, CrossPlay)  # more agents do not change who else meets whom
Schedule = RoundRobin | Swiss | KnockOut | Ladder | CrossPlay | Population | Adaptive


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tournament.

    `games` are played by every line-up in every environment: `games` divided by the number of
    seatings, rounded up, are the seeds. All line-ups play the same seeds, and every seed is played
    in every seating ("rotate": each agent once in each seat, "permute": all orders, "fixed": as
    listed). `together` games of a line-up are played side by side, so that a language model
    answers them in one call; agents that draw random numbers repeat exactly only with 1. With
    `asynchronous` each of those games goes on as soon as its own turn is answered, as in
    `palestra.play`.
    `game_seconds` is the wall time a game may take, after which the seat to move forfeits.
    `workers` are processes; 0 plays in this one. `engine` "ray" plays in as many Ray actors.

    `models` × `scaffolds` × `levels` are agents too, as in `react:local:,effort=low`: `levels` are
    the values of one option, from the least to the most. `unfit` "leave-out" plays no game in an
    environment with an agent that cannot play it.

    `faults` is the probability that an answer is lost or garbled on its way. `evidence` compares
    the decisions, rewards and states of a game, and writes contradictions into the record.
    `trained` lists the seeds that agents were trained on, on which they are not scored unless
    `allow_seen`. `suite` is the name and digest of the suite that `environments` come from.
    `isolate` plays each agent in a process of its own, with `agent_memory` MiB of address space and
    `agent_seconds` for each move, which reaches nothing but its turns (Linux); an agent that is
    named by a file always plays so.
    """

    environments: tuple[Environment, ...]
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    scaffolds: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    unfit: Literal["refuse", "leave-out"] = "refuse"
    schedule: Schedule = RoundRobin()
    games: int = 10
    seed: int = 0
    seating: Seating = "rotate"
    invalid: str = "retry:2"
    max_episode_steps: int | None = None
    game_seconds: float | None = None
    together: int = 1
    asynchronous: bool = False
    workers: int = 1
    engine: Literal["local", "ray"] = "local"
    keep_records: bool = True
    confidence: float = 0.95
    faults: float = 0.0
    evidence: bool = False
    trained: tuple[TrainedOn, ...] = ()
    allow_seen: bool = False
    suite: str = ""
    isolate: bool = False
    agent_memory: int = 4096
    agent_seconds: float = 60.0

    def __post_init__(self) -> None:
        named = tuple(
            Environment(env) if isinstance(env, str) else env for env in self.environments
        )
        force_setattr(self, "environments", named)
        crossed = [agent for agent in self.cells if agent not in self.agents]
        force_setattr(self, "agents", (*self.agents, *crossed))
        self._check_names()
        self._check_numbers()
        self._check_schedule()
        InvalidMovePolicy.read(self.invalid)

    @property
    def cells(self) -> dict[str, Axes]:
        """The agents that are crossed from models, scaffolds and levels, and where they stand."""
        return cross(self.models, self.scaffolds, self.levels)

    def _check_names(self) -> None:
        if not self.environments:
            raise InvalidOption("a tournament needs at least one environment")
        if not self.agents:
            raise InvalidOption("a tournament needs at least one agent")
        labels = [env.label for env in self.environments]
        for kind, names in (("agent", list(self.agents)), ("environment", labels)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InvalidOption(
                    f"{kind} {twice[0]!r} is named twice; each may enter a tournament once"
                )

    def _check_numbers(self) -> None:
        _require("games", self.games, self.games >= 1, "1 or more")
        _require("together", self.together, self.together >= 1, "1 or more")
        _require("workers", self.workers, self.workers >= 0, "0 or more")
        _require("engine", self.engine, self.engine in ENGINES, " or ".join(ENGINES))
        _require("unfit", self.unfit, self.unfit in UNFIT, " or ".join(UNFIT))
        if self.engine == "ray":
            _require("workers", self.workers, self.workers >= 1, "1 or more with the engine ray")
        inside = 0 <= self.seed < SEED_LIMIT - self.games
        _require("seed", self.seed, inside, "at least 0, and with games less than 2**62")
        _require("confidence", self.confidence, 0 < self.confidence < 1, "between 0 and 1")
        _require("faults", self.faults, 0 <= self.faults <= 1, "from 0 to 1")
        for name in ("max_episode_steps", "game_seconds", "agent_memory", "agent_seconds"):
            value = getattr(self, name)
            _require(name, value, value is None or value > 0, "more than 0, or absent")

    def _check_schedule(self) -> None:
        if self.unfit == "leave-out" and not isinstance(self.schedule, EXTENSIBLE):
            raise InvalidOption(
                "agents can be left out of environments only where pairings do not depend on "
                "results: choose the schedule round-robin or cross-play"
            )
        for name, least in LEAST.items():
            value = getattr(self.schedule, name, None)
            _require(name, value, value is None or value >= least, f"{least} or more")
        bye = getattr(self.schedule, "bye", 0.0)
        _require("bye", bye, math.isfinite(bye), "a finite number")


def _require(name: str, value: object, good: bool, accepted: str) -> None:
    if not good:
        raise InvalidOption(f"{name} must be {accepted}, not {value!r}")


RULES = (
    "schedule",
    "seed",
    "seating",
    "invalid",
    "max_episode_steps",
    "game_seconds",
    "together",
    "asynchronous",
    "faults",
)


def check_continues(old: Settings, new: Settings, where: object) -> None:
    """Raise `InvalidOption` unless `new` is the tournament `old`, or adds to it.

    Agents, environments and games may be added, but not left out: a leaderboard counts all games of
    the store. Where pairings depend on earlier games, nothing can be added. `where` is the store.
    """
    for name in RULES:
        _check_same(where, name, getattr(old, name), getattr(new, name))
    if not isinstance(old.schedule, EXTENSIBLE):
        for name, was in _field(old).items():
            _check_same(where, name, was, _field(new)[name])
        _check_same(where, "games", old.games, new.games)
    for name, was in _field(old).items():
        missing = [one for one in was if one not in _field(new)[name]]
        if missing:
            raise InvalidOption(
                f"{where} holds a tournament with {name} {', '.join(was)}, and {missing[0]} is "
                "left out; name all of them to resume or extend it, or choose another --store"
            )
    if new.games < old.games:
        raise InvalidOption(
            f"{where} holds a tournament of {old.games} games of every line-up, not of "
            f"{new.games}; say --games {old.games} or more, or choose another --store"
        )


def _field(settings: Settings) -> dict[str, list[str]]:
    environments = [environment.label for environment in settings.environments]
    return {
        "environments": environments,
        "agents": list(settings.agents),
        "models": list(settings.models),
        "scaffolds": list(settings.scaffolds),
        "levels": list(settings.levels),
    }


def _check_same(where: object, name: str, was: object, now: object) -> None:
    if was != now:
        raise InvalidOption(
            f"{where} holds a tournament with {name}={was!r}, not {now!r}; keep that to resume it, "
            "or choose another --store"
        )


def additions(old: Settings, new: Settings) -> list[str]:
    """What `new` adds to the tournament `old`, for a message."""
    found = [
        f"{name} {', '.join(added)}"
        for name, now in _field(new).items()
        if (added := [one for one in now if one not in _field(old)[name]])
    ]
    more = [f"{new.games - old.games} games of every line-up"] if new.games > old.games else []
    return found + more


def settings_from(data: Mapping[str, Any], source: str = "settings") -> Settings:
    """Settings from plain data, with environments and the schedule given in short or in full."""
    if not isinstance(data, Mapping):
        raise InvalidOption(f"{source}: settings are a table of fields, not {show(data)}")
    plain = dict(data)
    named = plain.get("environments", ())
    if not isinstance(named, list | tuple):
        raise InvalidOption(f"{source}: environments must be a list of ids, not {show(named)}")
    plain["environments"] = [{"id": env} if isinstance(env, str) else env for env in named]
    if isinstance(plain.get("schedule"), str):
        plain["schedule"] = {"kind": plain["schedule"]}
    try:
        return msgspec.convert(plain, Settings)
    except msgspec.ValidationError as error:
        accepted = ", ".join(Settings.__struct_fields__)
        raise InvalidOption(f"{source}: {error}; fields are: {accepted}") from error


def read_settings(path: str | Path) -> Settings:
    """Settings from a TOML or JSON file."""
    return settings_from(read_data(path), str(path))


def read_data(path: str | Path) -> dict[str, Any]:
    """A settings file as plain data, for a caller who overrides some of it."""
    file = Path(path)
    if not file.is_file():
        raise InvalidOption(f"there is no settings file {file}")
    try:
        if file.suffix == ".toml":
            return read_toml(file)
        return msgspec.json.decode(read_file(file), type=dict[str, Any])
    except (OSError, *UNREADABLE) as error:
        raise InvalidOption(f"{file} is neither TOML (*.toml) nor a JSON object: {error}") from None
