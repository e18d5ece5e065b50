"""Reward modelling with a user in the loop: the agent acts, the user compares, the model learns.

Leike et al., "Scalable agent alignment via reward modeling: a research direction" (2018): a reward
model is learnt from a user's feedback while an agent is trained by it, and in recursive reward
modelling the user is helped by agents that were aligned in the same way. Which pairs the user is
asked about follows Christiano et al. (2017): those on which an ensemble disagrees most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any, Protocol

import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, reward

from palestra_rewards.arrays import Floats
from palestra_rewards.episodes.intents import Triplet, trajectory
from palestra_rewards.episodes.turns import at_last
from palestra_rewards.learnt.texts import StoryNetwork

Notes = Mapping[str, str]
MOST_PAIRS = 2000  # pairs of one batch that are weighed


class User(Protocol):
    """Who compares two episodes: 1 if the first is better, 0 if the second is, 1/2 for neither.

    The notes are what helpers wrote about each, by the helper's name; empty without helpers.
    """

    def __call__(
        self, first: EpisodeRecord, second: EpisodeRecord, notes: tuple[Notes, Notes], /
    ) -> float: ...


class TaughtRewardModel:
    """A reward model that a user teaches while an agent is trained by it; pass it as `scores=`.

    user: who compares; `at_terminal()` asks the person there. task: what the user wants, in words,
    which the model reads with every trajectory. helpers: functions of a record that return a text
    for the user, such as another `TaughtRewardModel`'s score of part of the task (recursive reward
    modelling). members: networks of the ensemble, which differ by their seeds. steps, rate: of the
    gradient steps on all comparisons after each batch. `state` is plain JSON.
    """

    def __init__(
        self,
        user: User,
        *,
        task: str = "",
        seat: int = 0,
        helpers: Mapping[str, Callable[[EpisodeRecord], object]] | None = None,
        members: int = 3,
        steps: int = 40,
        rate: float = 0.01,
        network: Callable[[int], StoryNetwork] = lambda seed: StoryNetwork(seed=seed),
    ) -> None:
        if members < 2 or steps < 1 or rate <= 0:
            raise InvalidOption("members must be at least 2, steps at least 1 and rate above 0")
        self.user, self.task, self.seat, self.helpers = user, task, seat, dict(helpers or {})
        self.networks = [network(seed) for seed in range(members)]
        self._steps, self._rate = steps, rate
        self.comparisons: list[Triplet] = []
        self.asked = 0

    def members(self, records: Sequence[EpisodeRecord]) -> Floats:
        """Every member's score of every record, shape (members, records)."""
        texts = [(self.task, trajectory(record, self.seat)) for record in records]
        return np.array([network.scores(texts) for network in self.networks])

    def scores(self, records: Sequence[EpisodeRecord]) -> Floats:
        """The ensemble's mean score of every record, shape (records,).

        Differences of two are log-odds of being preferred.
        """
        return np.asarray(self.members(records).mean(axis=0))

    def choose(self, records: Sequence[EpisodeRecord], questions: int) -> list[tuple[int, int]]:
        """The pairs of records whose order the members disagree on most, each record once.

        Disagreement is the standard deviation, over members, of the difference of two scores.
        Records that read the same are no question.
        """
        table = self.members(records)
        read = [trajectory(record, self.seat) for record in records]
        pairs = [(a, b) for a, b in combinations(range(len(records)), 2) if read[a] != read[b]]
        if len(pairs) > MOST_PAIRS:
            pairs = pairs[:: len(pairs) // MOST_PAIRS + 1]
        spread = [float((table[:, a] - table[:, b]).std()) for a, b in pairs]
        chosen: list[tuple[int, int]] = []
        used: set[int] = set()
        for place in np.argsort([-one for one in spread], kind="stable"):
            pair = pairs[int(place)]
            if len(chosen) < questions and not used & set(pair):
                chosen.append(pair)
                used |= set(pair)
        return chosen

    def notes(self, record: EpisodeRecord) -> Notes:
        """What the helpers write about a record."""
        return {name: str(helper(record)) for name, helper in self.helpers.items()}

    def update(self, records: Sequence[EpisodeRecord], questions: int) -> float:
        """Ask the user about pairs of these records, and learn; returns the mean loss before.

        A tie teaches nothing. Without any comparison so far, nothing is learnt and 0 returned.
        """
        for a, b in self.choose(records, questions):
            one, other = records[a], records[b]
            said = self.user(one, other, (self.notes(one), self.notes(other)))
            if not 0 <= said <= 1:
                raise InvalidOption(f"a user says a number from 0 to 1, not {said!r}")
            self.asked += 1
            good, bad = (one, other) if said > 0.5 else (other, one)
            if said != 0.5:
                told = (trajectory(good, self.seat), trajectory(bad, self.seat))
                self.comparisons.append(Triplet(self.task, *told))
        if not self.comparisons:
            return 0.0
        losses = [
            network.learn(self.comparisons, steps=self._steps, rate=self._rate)
            for network in self.networks
        ]
        return float(np.mean(losses))

    def state(self) -> dict[str, Any]:
        """Networks, comparisons and the number of questions so far, as plain data."""
        return {
            "networks": [network.state() for network in self.networks],
            "comparisons": [list(one) for one in self.comparisons],
            "asked": self.asked,
        }

    def load(self, state: Mapping[str, Any]) -> None:
        """Go on from what `state` gave."""
        for network, kept in zip(self.networks, state["networks"], strict=True):
            network.load(kept)
        self.comparisons = [Triplet(*one) for one in state["comparisons"]]
        self.asked = int(state["asked"])


def teach(
    model: TaughtRewardModel,
    play: Callable[[int], Sequence[EpisodeRecord]],
    train: Callable[[Sequence[EpisodeRecord], Floats], object],
    *,
    rounds: int,
    questions: int,
) -> Iterator[tuple[float, Floats]]:
    """The loop: play, ask the user, learn the reward, train the agent by it.

    play: episodes of the current agent in a round. train: improves the agent on these episodes and
    their rewards. Yields the model's loss and the rewards of every round.
    """
    for number in range(rounds):
        records = list(play(number))
        loss = model.update(records, questions)
        paid = model.scores(records)
        train(records, paid)
        yield loss, paid


def by_worth(worth: Callable[[EpisodeRecord], float]) -> User:
    """A user simulated by a hidden worth of episodes."""

    def compare(first: EpisodeRecord, second: EpisodeRecord, _: tuple[Notes, Notes]) -> float:
        one, other = worth(first), worth(second)
        return 0.5 if one == other else float(one > other)

    return compare


def at_terminal(
    *, seat: int = 0, read: Callable[[str], str] = input, show: Callable[[str], object] = print
) -> User:
    """The person at the terminal: sees both trajectories and the notes, and types 1, 2 or =."""
    meaning = {"1": 1.0, "2": 0.0, "=": 0.5}

    def compare(first: EpisodeRecord, second: EpisodeRecord, notes: tuple[Notes, Notes]) -> float:
        for number, record, told in ((1, first, notes[0]), (2, second, notes[1])):
            show(f"--- Episode {number}\n{trajectory(record, seat)}")
            for name, text in told.items():
                show(f"{name}: {text}")
        while (
            said := read("Which is better? Type 1, 2, or = for neither: ").strip()
        ) not in meaning:
            show(f"{said!r} is none of 1, 2 and =")
        return meaning[said]

    return compare


@reward(
    "user-model",
    shape="episode",
    needs=("taught model",),
    paper="Scalable agent alignment via reward modeling: a research direction (2018)",
    check="test_an_agent_comes_to_do_what_its_user_wants",
)
def user_model(
    record: EpisodeRecord,
    *,
    scores: Annotated[
        TaughtRewardModel,
        Meta(description="the reward model that was taught by a person's answers"),
    ],
) -> Floats:
    """The score of a reward model that a user teaches, on the last turn of its seat.

    Pay a batch, then call `scores.update(records, questions)`; `teach` does both and trains the
    agent. Leike et al., "Scalable agent alignment via reward modeling" (2018).
    """
    found = float(scores.scores([record])[0])
    return at_last(record, lambda person: found if person.seat == scores.seat else 0.0)
