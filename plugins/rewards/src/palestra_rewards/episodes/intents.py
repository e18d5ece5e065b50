"""ARMAP: a reward model of trajectories, learnt without labels.

An agent explores; a model writes down the task that each trajectory did; one step is changed and
the episode played on, which gives a near miss; and a scorer learns to rank the two. Chen et
al., "Scaling Autonomous Agents via Automatic Reward Modeling and Planning" (2025). Where the paper
tunes a vision-language model, `learnt.texts.StoryNetwork` reads the words in their order;
`TrajectoryScorer` is its linear counterpart, which needs no torch.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import product
from typing import Annotated, Any, NamedTuple
from zlib import crc32

import msgspec
import numpy as np
from palestra import EpisodeRecord, InvalidOption, Meta, Rng, retrace, reward, rollouts
from palestra.kernel.game import Game
from palestra.quoting import disarm

from palestra_rewards.arrays import Floats, floats
from palestra_rewards.episodes.turns import at_last
from palestra_rewards.judges.service import Judge, ask, open_judge
from palestra_rewards.learnt.texts import Scorer

STREAM = 0xA12A
WRITE = (
    "This is what {player} did in an environment:\n{story}\n\n"
    "Write the task that {player} has done here, as an instruction to somebody who is to do it "
    "again: what is to be reached, in one sentence, naming what it is about and leaving out the "
    "single steps."
)


class Triplet(NamedTuple):
    """A task, a trajectory that does it, and one that misses it; trajectories as texts."""

    intent: str
    good: str
    bad: str


def trajectory(record: EpisodeRecord, seat: int = 0, turns: int | None = None) -> str:
    """What a seat saw and did, one line per event or decision, up to `turns` of its turns."""
    lines, count = [e.text for e in record.opening if _heard(e, seat)], 0
    for step in record.steps:
        if turns is not None and count >= turns:
            break
        own = [f"> {disarm(turn.text)}" for turn in step.turns if turn.seat == seat]
        count += len(own)
        lines += [*own, *(e.text for e in step.events if _heard(e, seat))]
    return "\n".join(lines)


def _heard(event: Any, seat: int) -> bool:
    return event.audience is None or seat in event.audience


def write_intents(
    judge: Judge | str, records: Sequence[EpisodeRecord], *, seat: int = 0
) -> list[str]:
    """The task that each trajectory did, written by a model; all are asked in one batch."""
    asked = [
        ask(
            WRITE.format(player=record.players[seat], story=trajectory(record, seat)),
            max_tokens=96,
        )
        for record in records
    ]
    return [" ".join(text.split()) for text in open_judge(judge).ask(asked)]


def near_miss(
    record: EpisodeRecord,
    *,
    seat: int = 0,
    seed: int = 0,
    agents: Any = None,
    game: Game[Any, Any] | None = None,
    tries: int = 8,
) -> EpisodeRecord | None:
    """The trajectory with another decision at one of the seat's turns, played on by `agents`.

    The turn and the other legal decision are drawn from `seed`; what came before is kept
    (`branched_at`). agents: as in `palestra.play`, by default random ones. Returns None if the
    seat's trajectory still reads the same after `tries` draws.
    """
    own = [n for n, step in enumerate(record.steps) if any(t.seat == seat for t in step.turns)]
    if not own:
        raise InvalidOption(f"seat {seat} has no turn in record {record.number}")
    rng, story = Rng.seeded(seed, stream=STREAM), trajectory(record, seat)
    for _ in range(tries):
        place = own[rng.word() % len(own)]
        episode = next(e for n, e in enumerate(retrace(record, game)) if n == place)
        start = episode.fork()
        actions = {t.seat: start.parse(t.seat, t.text) for t in record.steps[place].turns}
        actions[seat] = start.sample(seat, rng)
        played = next(t.text for t in record.steps[place].turns if t.seat == seat)
        if start.action_text(seat, actions[seat]) == played:
            continue
        start.act(actions)
        seats = agents if agents is not None else ["random"] * len(record.players)
        (other,) = rollouts(start.game, agents=seats, n=1, start=start, seed=rng.word())
        found = msgspec.structs.replace(
            other, env=record.env, branched_at=place, parent="", group=record.group
        )
        if trajectory(found, seat) != story:
            return found
    return None


def triplets(
    records: Sequence[EpisodeRecord],
    intents: Judge | str | Callable[[EpisodeRecord], str],
    *,
    seat: int = 0,
    seed: int = 0,
    agents: Any = None,
    game: Game[Any, Any] | None = None,
) -> list[Triplet]:
    """A triplet for every record for which a near miss was found.

    intents: what writes the task of a trajectory: a judge, or a function of the record, such as a
    template over its last state.
    """
    if callable(intents) and not isinstance(intents, Judge):
        written = [intents(record) for record in records]
    else:
        written = write_intents(intents, records, seat=seat)
    found = []
    for number, (record, intent) in enumerate(zip(records, written, strict=True)):
        miss = near_miss(record, seat=seat, seed=seed + number, agents=agents, game=game)
        if miss is not None:
            found.append(Triplet(intent, trajectory(record, seat), trajectory(miss, seat)))
    return found


class TrajectoryScorer:
    """Scores how well a trajectory does a task; linear in hashed pairs of their words.

    Fitted by the Bradley-Terry likelihood of triplets, `log sigmoid(s(intent, good) - s(intent,
    bad))`, with a ridge penalty. A pair of words counts once, however often each occurs; the last
    `recent` lines of a trajectory have features of their own. `state` is plain JSON.
    """

    def __init__(self, *, buckets: int = 1 << 14, ridge: float = 1e-2, recent: int = 3) -> None:
        if buckets < 1 or ridge <= 0 or recent < 1:
            raise InvalidOption(
                f"buckets, ridge and recent must be above 0, not {buckets}, {ridge} and {recent}"
            )
        self.buckets, self.ridge, self.recent = buckets, ridge, recent
        self.weights: Floats = np.zeros(buckets)

    def fit(self, examples: Sequence[Triplet]) -> TrajectoryScorer:
        if not examples:
            raise InvalidOption("fit needs one triplet or more")
        from scipy.optimize import minimize
        from scipy.sparse import lil_matrix

        apart = lil_matrix((len(examples), self.buckets))
        for row, one in enumerate(examples):
            for sign, story in ((1.0, one.good), (-1.0, one.bad)):
                for bucket, count in self.features(one.intent, story).items():
                    apart[row, bucket] += sign * count
        used = np.unique(apart.nonzero()[1])
        table = apart.tocsr()[:, used]

        def loss(weights: Floats) -> tuple[float, Floats]:
            odds = table @ weights
            pull = -1 / (1 + np.exp(np.clip(odds, -500, 500)))
            total = np.logaddexp(0, -odds).sum() + self.ridge * weights @ weights / 2
            return float(total), table.T @ pull + self.ridge * weights

        self.weights = np.zeros(self.buckets)
        if used.size:
            self.weights[used] = minimize(loss, np.zeros(used.size), jac=True, method="L-BFGS-B").x
        return self

    def learn(self, examples: Sequence[Triplet], *, steps: int, rate: float) -> float:
        """Gradient steps on the mean of `-log sigmoid(score of good - score of bad)`.

        Goes on from the weights there are, with a ridge penalty. Returns the loss before.
        """
        table = np.zeros((len(examples), self.buckets))
        for row, one in enumerate(examples):
            for sign, story in ((1.0, one.good), (-1.0, one.bad)):
                for bucket, count in self.features(one.intent, story).items():
                    table[row, bucket] += sign * count
        weights = self.weights.copy()
        first = float(np.logaddexp(0, -(table @ weights)).mean())
        for _ in range(steps):
            pull = 1 / (1 + np.exp(np.clip(table @ weights, -500, 500)))
            weights += rate * (table.T @ pull / len(examples) - self.ridge * weights)
        self.weights = weights
        return first

    def features(self, intent: str, story: str) -> dict[int, int]:
        """Signed count of word pairs in each bucket; the sign is a bit of the pair's hash."""
        lines, asked = story.splitlines(), _words(intent)
        found: dict[int, int] = {}
        for part, own in (("early", lines[: -self.recent]), ("late", lines[-self.recent :])):
            for wanted, word in product(asked, _words("\n".join(own))):
                code = crc32(f"{part} {wanted} {word}".encode())
                bucket = code % self.buckets
                found[bucket] = found.get(bucket, 0) + (1 if code & (1 << 31) else -1)
        return found

    def score(self, intent: str, story: str) -> float:
        """The score; the difference of two is the log-odds that the first does the task better."""
        features = self.features(intent, story).items()
        return float(sum(self.weights[bucket] * count for bucket, count in features))

    def accuracy(self, examples: Sequence[Triplet]) -> float:
        """Share of triplets that are ranked correctly; a tie counts half."""
        gaps = [self.score(e.intent, e.good) - self.score(e.intent, e.bad) for e in examples]
        return float(np.mean([(gap > 0) + (gap == 0) / 2 for gap in gaps]))

    def state(self) -> dict[str, Any]:
        used = np.flatnonzero(self.weights)
        return {
            "buckets": self.buckets,
            "recent": self.recent,
            "weights": {str(place): float(self.weights[place]) for place in used},
        }

    def load(self, state: Any) -> None:
        self.buckets, self.recent = int(state["buckets"]), int(state["recent"])
        self.weights = np.zeros(self.buckets)
        for place, weight in state["weights"].items():
            self.weights[int(place)] = weight


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


@reward(
    "armap",
    shape="episode",
    needs=("trajectory scorer",),
    paper="Scaling Autonomous Agents via Automatic Reward Modeling And Planning (2025)",
    check="test_a_scorer_of_trajectories_learns_from_exploring_alone",
)
def armap(
    record: EpisodeRecord,
    *,
    scores: Annotated[Scorer, Meta(description="a scorer that was fitted to triplets")],
    intent: Annotated[
        str | Callable[[EpisodeRecord], str],
        Meta(description="the task, or a function that returns a record's task"),
    ],
) -> Floats:
    """How well each seat's trajectory does the task, by a scorer learnt from exploration.

    `scores` is a `StoryNetwork` or a linear `TrajectoryScorer`, fitted to `triplets`.
    The whole trajectory's score is paid on the last turn of each seat. `intent` is the task, or a
    function that returns a record's task. `best_of` takes `lambda record: armap(record, …)` as its
    scores. Chen et al., "Scaling Autonomous Agents via Automatic Reward Modeling and Planning"
    (2025).
    """
    task = intent if isinstance(intent, str) else intent(record)
    return floats(
        at_last(record, lambda person: scores.score(task, trajectory(record, person.seat)))
    )
