"""Free agents: an agent that keeps doing badly is released, and a substitute is tried and promoted.

"Free Agent in Agent-Based Mixture-of-Experts Generative AI Framework", 2025 (Reinforcement
Learning Free Agent). Each incumbent has a moving average of its rewards. One whose average stays
below a threshold is put up for replacement. A candidate first shadows it: both play copies of live
starts, and the candidate takes its place when it is better with confidence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import exp
from typing import Annotated, NamedTuple

from palestra import (
    Agent,
    Decision,
    Episode,
    InvalidAction,
    InvalidOption,
    Meta,
    Rng,
    Turn,
    agent,
    make_agent,
)
from palestra.records.intervals import Sample

from palestra_adapters.members import Composed, act_in_turn, split_members
from palestra_adapters.search.spots import PATIENCE, Worths
from palestra_adapters.seats import BySeat

STREAM = 0xF4EE


class RosterEvent(NamedTuple):
    """An event of the roster: after which episode, what happened to whom, and the number behind it.

    what: "warned" (its average), "promoted" or "dismissed" (the mean gain over the incumbent).
    """

    episode: int
    what: str
    who: str
    number: float


@dataclass(slots=True)
class Incumbent:
    """An incumbent: its moving average, and how many checks in a row were below the threshold."""

    name: str
    average: float | None = None
    low: int = 0

    def note(self, worth: float, rate: float, threshold: float) -> None:
        """average += rate * (worth - average); the first worth is the first average."""
        self.average = (
            worth if self.average is None else self.average + rate * (worth - self.average)
        )
        self.low = self.low + 1 if self.average < threshold else 0


@dataclass(slots=True)
class Probation:
    """A candidate's trial: the gains over the incumbent, one per copied start."""

    place: Incumbent
    name: str
    gains: Sample = field(default_factory=Sample)


@agent(
    "free-agent",
    kind="llm",
    needs=("fork",),
    summary="Releases agents that keep doing badly; substitutes shadow them and are promoted.",
    paper="Free Agent in Agent-Based Mixture-of-Experts Generative AI Framework (2025)",
)
class FreeAgent(Composed):
    """The first `places` agents of `target`, joined by `+`, play; the others are free agents.

    A gate draws the incumbent of each episode with probability proportional to exp(gate * its mean
    worth in this environment and seat). After every episode its average, from 0 to 1, is checked
    against `threshold`; below it `checks` times in a row, the first free agent shadows it. For
    `probation` episodes, candidate and incumbent each play a copy of the live start with `rival` in
    the other seats. If the 95 % interval of the candidate's mean gain is above zero then, it is
    promoted; else it goes to the end of the queue. `timeline` has every change, and decisions have
    the fact `worker`, the incumbent's number.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="agents joined by +")] = "",
        places: Annotated[int, Meta(ge=1, description="agents that play")] = 1,
        rate: Annotated[float, Meta(gt=0, le=1, description="weight of the last episode")] = 0.2,
        threshold: Annotated[float, Meta(ge=0, le=1, description="least average worth")] = 0.4,
        checks: Annotated[int, Meta(ge=1, description="checks below it before a trial")] = 3,
        probation: Annotated[int, Meta(ge=2, description="copied starts of a trial")] = 8,
        gate: Annotated[float, Meta(ge=0, description="sharpness of the gate")] = 4.0,
        rival: Annotated[str, Meta(description="the other seats of a trial")] = "random",
        agents: Annotated[
            Sequence[Agent | str], Meta(description="the members, instead of those in the name")
        ] = (),
    ) -> None:
        members = list(agents) or list(split_members(target))
        if len(members) <= places:
            raise InvalidOption(
                f"free-agent needs more agents than places={places}: free-agent:minimax+mcts"
            )
        self.members = [make_agent(member) for member in members]
        names = [f"{i + 1}: {member.name}" for i, member in enumerate(self.members)]
        self._by_name = dict(zip(names, self.members, strict=True))
        self.places = [Incumbent(name) for name in names[:places]]
        self.queue = names[places:]
        self._rate, self._threshold, self._checks = rate, threshold, checks
        self._length, self._gate, self._rival = probation, gate, make_agent(rival)
        self._trials: dict[int, Probation] = {}
        self._live: BySeat[tuple[Incumbent, Turn]] = BySeat()
        self._worths: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._worth = Worths()
        self._seed, self._episodes = 0, 0
        self.timeline: list[RosterEvent] = []

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        places = [self._place(turn) for turn in turns]
        playing = {i: self._by_name[place.name] for i, place in enumerate(self.places)}
        numbers = [next(i for i, one in enumerate(self.places) if one is p) for p in places]
        decisions = act_in_turn(turns, numbers, playing)
        for number, decision in zip(numbers, decisions, strict=True):
            decision.facts = {**decision.facts, "worker": number}
        return decisions

    def parts(self) -> Sequence[Agent]:
        return [*self.members, self._rival]

    def _place(self, turn: Turn) -> Incumbent:
        """The incumbent of this episode, drawn at its first turn, when trials are played too."""
        key = turn.episode_key, turn.seat
        if key not in self._live:
            rng = turn.rng(self._seed, STREAM)
            place = self.places[rng.weighted(self._shares(_feature(turn)))]
            self._try(place, turn, rng)
            self._live[key] = place, turn
        self._live[key] = self._live[key][0], turn
        return self._live[key][0]

    def _shares(self, feature: str) -> list[float]:
        """The gate's weights; an incumbent without episodes there counts as worth 1/2."""
        own = [self._worths[place.name, feature] for place in self.places]
        return [exp(self._gate * (sum(w) / len(w) if w else 0.5)) for w in own]

    # Trials

    def _try(self, place: Incumbent, turn: Turn, rng: Rng) -> None:
        """One more copied start of a trial, and its end after the last."""
        trial = self._trials.get(id(place))
        if trial is None:
            return
        word = rng.word()
        new, old = (self._shadow(name, turn, word) for name in (trial.name, place.name))
        trial.gains.add(new - old)
        if trial.gains.count >= self._length:
            gain = trial.gains.interval()  # not a number around gains that are all alike
            self._end(trial, promoted=gain.value > 0 and not gain.low <= 0)

    def _shadow(self, name: str, turn: Turn, word: int) -> float:
        """What an agent is paid in a copy of the turn's start."""
        seats = [self._rival] * turn.game.num_players
        seats[turn.seat] = self._by_name[name]
        return play_on(turn.fork(Rng.seeded(word)), seats, turn.seat)

    def _end(self, trial: Probation, *, promoted: bool) -> None:
        del self._trials[id(trial.place)]
        what = "promoted" if promoted else "dismissed"
        self.timeline.append(RosterEvent(self._episodes, what, trial.name, trial.gains.mean))
        if promoted:
            self.queue.append(trial.place.name)
            trial.place.name, trial.place.average = trial.name, None
        else:
            self.queue.append(trial.name)
        trial.place.low = 0

    # Rewards

    def forget(self, episode_key: int) -> None:
        for place, turn in self._live.end(episode_key):
            self._note(place, turn)
        super().forget(episode_key)

    def _note(self, place: Incumbent, turn: Turn) -> None:
        worth = self._worth.of(turn)
        self._episodes += 1
        self._worths[place.name, _feature(turn)].append(worth)
        place.note(worth, self._rate, self._threshold)
        if place.low >= self._checks and id(place) not in self._trials and self.queue:
            average = place.average or 0.0
            self.timeline.append(RosterEvent(self._episodes, "warned", place.name, average))
            self._trials[id(place)] = Probation(place, self.queue.pop(0))

    def reseed(self, seed: int) -> None:
        self._seed = seed
        super().reseed(seed)


def play_on(episode: Episode, seats: Sequence[Agent], seat: int) -> float:
    """What a seat is paid in the rest of an episode; an answer that is refused forfeits."""
    keys = set()
    for _ in range(PATIENCE):
        if episode.over:
            break
        actions = {}
        for other in episode.to_act:
            turn = Turn(episode, other)
            keys.add(turn.episode_key)
            (decision,) = seats[other].act([turn])
            try:
                given = decision.action
                actions[other] = turn.parse(decision.text or "") if given is None else given
            except InvalidAction:
                episode.forfeit(other)
                break
        else:
            episode.act(actions)
    for key in keys:
        for member in set(seats):
            member.forget(key)
    return float(episode.returns[seat])


def _feature(turn: Turn) -> str:
    return f"{turn.env} {turn.seat}"
