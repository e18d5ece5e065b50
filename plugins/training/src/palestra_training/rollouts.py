"""The episodes of a round: who plays whom, from which seeds, and with which weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from palestra import EpisodeRecord, Game
from palestra.kernel.rng import Rng
from palestra.runner.listeners import Listeners

from palestra_training.checkpoint import Weights
from palestra_training.curriculum import chosen_starts
from palestra_training.dynamic_sampling import teaching
from palestra_training.evaluation import evaluate
from palestra_training.learner import Engine, Learner
from palestra_training.matches import Matches, Played, Seating
from palestra_training.plan import LEARNING_SEEDS, TrainPlan
from palestra_training.pool import Pool, points_of
from palestra_training.processes import ALONE, Processes

if TYPE_CHECKING:
    from palestra_training.ray_rollouts import Crew

STREAM, CHOICE = 9, 10
MEETINGS = LEARNING_SEEDS  # seeds from here on are for rivals' games against one another
Behind = tuple[list[Weights], list[int], dict[str, Any]]  # weights, their versions, the pool


class Rollouts:
    """Plays the policies of a run against each other and against the pool's rivals.

    engines: who generates for each policy as it is now. starts: the seeds to learn from; empty for
    all. behind: what plays the next round, if `ahead`. crew: workers on Ray that play everything.
    """

    def __init__(
        self,
        plan: TrainPlan,
        table: tuple[Any, Game[Any, Any]],
        learners: Sequence[Learner],
        engines: Sequence[Engine],
        listeners: Listeners | None = None,
        processes: Processes = ALONE,
        crew: Crew | None = None,
    ) -> None:
        self.processes, self.crew = processes, crew
        self.plan, self.learners, self.table = plan, learners, table
        self.game = table[1]
        self.pool = Pool(plan.opponents, plan.matching)
        self.seating = Seating(plan, table, learners, engines, self.pool, listeners)
        self.names = self.seating.names
        self.starts: list[int] = []
        self.behind: Behind | None = None
        self._coming: Future[Played] | None = None
        self._threads = ThreadPoolExecutor(1)

    def choose_starts(self, number: int) -> None:
        """Choose the seeds to learn from, from this round on."""
        plan = self.plan
        rng = Rng.seeded(plan.seed + 7919 * number, stream=CHOICE)
        seeds = sorted({rng.below(MEETINGS) for _ in range(plan.tasks.candidates)})
        self.starts = chosen_starts(
            plan.tasks,
            seeds,
            self.seating.policies(),
            ["random"] * self.game.num_players,
            lambda line_ups, seeds, _: self._play(Matches("choosing", number, line_ups, seeds)),
        )

    def records(self, number: int) -> list[EpisodeRecord]:
        """The episodes to learn from; with `ahead`, the next ones are begun at the same time.

        They are played with the weights before this round's step, so that a resumed run, which
        plays them again, plays the same.
        """
        if not self.plan.ahead:
            for learner in self.learners:
                learner.held.clear()
            return self.play_round(number)
        if self._coming is None:
            self._coming = self._play_ahead(number, *(self.behind or self._now()))
        records, held = self._coming.result()
        for learner, known in zip(self.learners, held, strict=True):
            learner.held = known
        self.behind = self._now()
        self._coming = self._play_ahead(number + 1, *self.behind)
        return records

    def _now(self) -> Behind:
        """What plays a round that is begun now."""
        return self.weights(), [learner.version for learner in self.learners], self.pool.state()

    def _play_ahead(
        self,
        number: int,
        weights: Sequence[Weights],
        versions: Sequence[int],
        rivals: Mapping[str, Any],
    ) -> Future[Played]:
        """Play a round in a thread with copies of the policies, and the pool as it is now."""
        players = [
            learner.copy(values, learner.name)
            for learner, values in zip(self.learners, weights, strict=True)
        ]
        for player, version in zip(players, versions, strict=True):
            player.version = version
        pool = Pool((), self.plan.matching)
        pool.load(rivals)

        seating = Seating(self.plan, self.table, players, players, pool, self.seating.listeners)

        def play() -> Played:
            return self.play_round(number, seating), [player.held for player in players]

        return self._threads.submit(play)

    def weights(self) -> list[Weights]:
        """A copy of what each policy has learned."""
        return [learner.weights() for learner in self.learners]

    def play_round(
        self,
        number: int,
        seating: Seating | None = None,
    ) -> list[EpisodeRecord]:
        """The episodes of one round; the same for the same weights, pool, seed and round.

        With dynamic sampling, further starts follow while there are too few groups that teach.
        """
        plan, seating = self.plan, seating or self.seating
        most = int(plan.groups * plan.dynamic_sampling)
        rng = Rng.seeded(plan.seed + 7919 * number, stream=STREAM)
        records = list[EpisodeRecord]()
        played, missing = 0, plan.groups
        while missing:
            groups = range(played, played + missing)
            line_ups = [self._line_up(seating, rng, number, group) for group in groups]
            seeds, earlier = self._seeds([number * most + group for group in groups])
            records += self._play(Matches("learning", number, line_ups, seeds, earlier), seating)
            played += missing
            missing = min(most - played, plan.groups - self._teaching_groups(records))
        for place, record in enumerate(records):
            record.number = place
        return records

    def _teaching_groups(self, records: Sequence[EpisodeRecord]) -> int:
        size = self.plan.group_size
        return len(teaching(records, size, self.names)) // size

    def _seeds(self, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """The seeds of starts by place in the run, and how often each was played before."""
        if not self.starts:
            return [self.plan.seed + place for place in places], []
        found = [divmod(place, len(self.starts)) for place in places]
        return [self.starts[place] for _, place in found], [times for times, _ in found]

    def _line_up(self, seating: Seating, rng: Rng, number: int, group: int) -> list[str]:
        """Who plays a group: the learners, or one of them among rivals that the pool draws.

        Learners are seated among rivals in turn, over the rounds of a run.
        """
        learners, pool = seating.policies(), seating.pool
        if not pool.names or rng.below(1_000_000) < self.plan.self_play * 1_000_000:
            return learners
        chosen = pool.draw(rng)
        own = (number * self.plan.groups + group) % len(learners)
        return [name if seat == own else chosen for seat, name in enumerate(learners)]

    def taught(self, records: list[EpisodeRecord]) -> list[EpisodeRecord]:
        """The episodes to learn from: under dynamic sampling, groups that teach, if any do."""
        if self.plan.dynamic_sampling == 1:
            return records
        return teaching(records, self.plan.group_size, self.names) or records

    def _play(self, matches: Matches, seating: Seating | None = None) -> list[EpisodeRecord]:
        """The episodes of matches, in order.

        The crew plays all of them; several processes each play a share of those to learn from.
        """
        seating = seating or self.seating
        learners = seating.learners
        if self.crew is not None:
            found = self.crew.play(matches, learners, seating.pool.past)
        elif matches.kind == "learning" and self.processes.count > 1:
            own = seating.play(matches.part(*self.processes.bounds(len(matches.seeds))))
            seating.release()
            found = self.processes.gather((own, [learner.held for learner in learners]))
        else:
            records = seating.play(matches)
            seating.release()
            return records
        for _, held in found:
            for learner, known in zip(learners, held, strict=True):
                learner.held.update(known)
        return [record for records, _ in found for record in records]

    def evaluate(self, number: int) -> list[dict[str, Any]]:
        """Play without learning on held-out seeds; see `evaluation.evaluate`."""
        return evaluate(
            self.plan,
            self.seating.policies(),
            lambda line_ups, seeds: self._play(Matches("evaluation", number, line_ups, seeds)),
        )

    def remember(self, number: int) -> None:
        """Put the learner as it is now into the pool, in place of its oldest version."""
        name = f"past:{number}"
        self.pool.remember(name, self.weights(), self.plan.past)
        self.compare_rivals(number)

    def compare_rivals(self, number: int) -> None:
        """Under "nash", play the games of all rivals that have not met, the newest ones first."""
        if self.plan.matching != "nash":
            return
        for name in reversed(self.pool.names):
            for other in self.pool.unmet(name):
                self.pool.met(name, other, self.score(name, other, number))

    def score(self, row: str, column: str, number: int) -> float:
        """The mean points of one rival against another over a round's worth of games.

        A table of more than two seats has one of them in one seat and the other in the rest, each
        in turn; then the other's points count against the one.
        """
        line_ups, seeds, own = [], [], []
        seats = self.seating.seats
        turns = 2 if len(seats) > 2 else 1
        for game in range(self.plan.groups):
            own.append(game // turns % len(seats))
            one, rest = (column, row) if game % turns else (row, column)
            line_ups.append([one if seat == own[-1] else rest for seat in seats])
            seeds.append(MEETINGS + number * self.plan.groups + game)
        records = self._play(Matches("comparing", number, line_ups, seeds))
        gained = [
            abs(played % turns - points_of(self.game, record, seat))
            for played, (record, seat) in enumerate(zip(records, own, strict=True))
        ]
        return sum(gained) / len(gained)

    def tell_pool(self, records: Sequence[EpisodeRecord]) -> None:
        """Count the learner's points against each rival."""
        gained: dict[str, list[float]] = {}
        for record in records:
            for name in {name for name in record.agents if name not in self.names}:
                gained.setdefault(name, []).extend(
                    points_of(self.game, record, seat)
                    for seat, agent in enumerate(record.agents)
                    if agent in self.names and record.outcome
                )
        for name, found in gained.items():
            self.pool.tell(name, found)
