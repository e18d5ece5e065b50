"""The episodes of a round: who plays whom, from which seeds, and with which weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from msgspec.structs import replace
from palestra import EpisodeRecord, Game
from palestra.agents.agent import Agent
from palestra.agents.making import make_agent
from palestra.kernel.rng import Rng
from palestra.runner.listeners import Listeners

from palestra_training.checkpoint import Weights
from palestra_training.curriculum import chosen_starts, horizon_at
from palestra_training.dynamic_sampling import teaching
from palestra_training.hints import play_hinted
from palestra_training.learner import Engine, Learner
from palestra_training.plan import TrainPlan
from palestra_training.play import play_groups, seat_learner
from palestra_training.pool import Pool, points_of
from palestra_training.processes import ALONE, Processes

STREAM, CHOICE = 9, 10
MEETINGS = 1_500_000_000  # seeds from here on are for rivals' games against one another
Held = dict[tuple[int, ...], list[int]]
Behind = tuple[list[Weights], list[int], dict[str, Any]]  # weights, their versions, the pool
Ahead = tuple[list[EpisodeRecord], list[Held]]  # episodes, and what could be said in them


class Rollouts:
    """Plays the policies of a run against each other and against the pool's rivals.

    engines: who generates for each policy as it is now. starts: the seeds to learn from; empty for
    all. behind: what plays the next round, if `ahead`.
    """

    def __init__(
        self,
        plan: TrainPlan,
        table: tuple[Any, Game[Any, Any]],
        learners: Sequence[Learner],
        engines: Sequence[Engine],
        listeners: Listeners | None = None,
        processes: Processes = ALONE,
    ) -> None:
        self.processes = processes
        self.plan, self.learners, self.listeners = plan, learners, listeners
        self.engines = engines
        self.spec, self.game = table
        self.names = frozenset(learner.name for learner in learners)
        self.pool = Pool(plan.opponents, plan.matching)
        self.starts: list[int] = []
        self.behind: Behind | None = None
        self._coming: Future[Ahead] | None = None
        self._threads = ThreadPoolExecutor(1)

    def choose_starts(self, number: int) -> None:
        """Choose the seeds to learn from, from this round on."""
        plan = self.plan
        rng = Rng.seeded(plan.seed + 7919 * number, stream=CHOICE)
        seeds = sorted({rng.below(MEETINGS) for _ in range(plan.tasks.candidates)})
        control = make_agent("random")
        control.reseed(plan.seed + number)
        self.starts = chosen_starts(
            plan.tasks,
            seeds,
            self.agents(self.engines, plan.temperature, keep=False),
            [control] * self.game.num_players,
            lambda line_ups, seeds, size: play_groups(
                self.game, self.spec, plan, line_ups, seeds, size
            ),
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
    ) -> Future[Ahead]:
        """Play a round in a thread with copies of the policies, and the pool as it is now."""
        players = [
            learner.copy(values, learner.name)
            for learner, values in zip(self.learners, weights, strict=True)
        ]
        for player, version in zip(players, versions, strict=True):
            player.version = version
        pool = Pool((), self.plan.matching)
        pool.load(rivals)

        def play() -> Ahead:
            return self.play_round(number, players, pool), [player.held for player in players]

        return self._threads.submit(play)

    def weights(self) -> list[Weights]:
        """A copy of what each policy has learned."""
        return [learner.weights() for learner in self.learners]

    def play_round(
        self,
        number: int,
        players: Sequence[Learner] = (),
        pool: Pool | None = None,
    ) -> list[EpisodeRecord]:
        """The episodes of one round; the same for the same weights, pool, seed and round.

        With dynamic sampling, further starts follow while there are too few groups that teach.
        """
        plan, pool = self.plan, pool or self.pool
        most = int(plan.groups * plan.dynamic_sampling)
        rng = Rng.seeded(plan.seed + 7919 * number, stream=STREAM)
        learners = self.agents(players or self.engines, plan.temperature, keep=True)
        seated: dict[str, list[Agent]] = {}
        records = list[EpisodeRecord]()
        played, missing = 0, plan.groups
        while missing:
            groups = range(played, played + missing)
            line_ups = [self._line_up(learners, pool, rng, seated, number, g) for g in groups]
            seeds, earlier = self._seeds([number * most + group for group in groups])
            records += self._play(number, line_ups, seeds, earlier)
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

    def _line_up(
        self,
        learners: list[Agent],
        pool: Pool,
        rng: Rng,
        seated: dict[str, list[Agent]],
        number: int,
        group: int,
    ) -> list[Agent]:
        """Who plays a group: the learners, or one of them among rivals that the pool draws."""
        if not pool.names or rng.below(1_000_000) < self.plan.self_play * 1_000_000:
            return learners
        chosen = pool.draw(rng)
        if chosen not in seated:
            seated[chosen] = self._rivals(pool, chosen, number)
        seats = range(self.game.num_players)
        own = group % len(seats)
        return [learners[s] if s == own else seated[chosen][s] for s in seats]

    def taught(self, records: list[EpisodeRecord]) -> list[EpisodeRecord]:
        """The episodes to learn from: under dynamic sampling, groups that teach, if any do."""
        if self.plan.dynamic_sampling == 1:
            return records
        return teaching(records, self.plan.group_size, self.names) or records

    def _play(
        self,
        number: int,
        line_ups: Sequence[Sequence[Agent]],
        seeds: Sequence[int],
        earlier: Sequence[int],
    ) -> list[EpisodeRecord]:
        """The rollouts of a round, of which every process plays a share of the groups."""
        share = self.processes.share
        own = self._play_share(number, share(line_ups), share(seeds), share(earlier))
        held = [learner.held for learner in self.learners]
        found = self.processes.gather((own, held))
        for _, theirs in found if self.processes.count > 1 else []:
            for mine, known in zip(held, theirs, strict=True):
                mine.update(known)
        return [record for records, _ in found for record in records]

    def _play_share(
        self,
        number: int,
        line_ups: Sequence[Sequence[Agent]],
        seeds: Sequence[int],
        earlier: Sequence[int],
    ) -> list[EpisodeRecord]:
        """Rollouts as long as the round's horizon, and after hints if there are any."""
        plan = replace(self.plan, max_episode_steps=horizon_at(self.plan, number))
        games = self.game, self.spec, plan, line_ups, seeds
        if not plan.hints.agent:
            return play_groups(*games, plan.group_size, earlier, self.listeners)
        expert = make_agent(plan.hints.agent)
        expert.reseed(plan.seed + number)
        return play_hinted(*games, earlier, expert, self.names, self.listeners)

    def agents(self, engines: Sequence[Engine], heat: float, *, keep: bool) -> list[Agent]:
        """The agent of every seat; seats that share a policy share an agent."""
        for engine in engines:
            engine.refresh()
        agents = [seat_learner(engine, self.plan, heat, keep=keep) for engine in engines]
        return [agents[seat % len(agents)] for seat in range(self.game.num_players)]

    def _rivals(self, pool: Pool, chosen: str, number: int) -> list[Agent]:
        """A named agent in every seat, or the policies of a saved version of the learner."""
        if chosen not in pool.past:
            agent = make_agent(chosen)
            agent.reseed(self.plan.seed + number)
            return [agent] * self.game.num_players
        was = [
            learner.copy(weights, chosen)
            for learner, weights in zip(self.learners, pool.past[chosen], strict=True)
        ]
        return self.agents(was, self.plan.temperature, keep=False)

    def remember(self, number: int) -> None:
        """Put the learner as it is now into the pool, in place of its oldest version."""
        name = f"past:{number}"
        self.pool.remember(name, self.weights(), self.plan.past)
        if self.plan.matching == "nash":
            for other in self.pool.unmet(name):
                self.pool.met(name, other, self.score(name, other, number))

    def score(self, row: str, column: str, number: int) -> float:
        """The mean points of one rival against another over a round's worth of games.

        A table of more than two seats has one of them in one seat and the other in the rest, each
        in turn; then the other's points count against the one.
        """
        line_ups, seeds, own = [], [], []
        seats = range(self.game.num_players)
        own_side = self._rivals(self.pool, row, number)
        other_side = self._rivals(self.pool, column, number)
        turns = 2 if len(seats) > 2 else 1
        for game in range(self.plan.groups):
            own.append(game // turns % len(seats))
            one, rest = (other_side, own_side) if game % turns else (own_side, other_side)
            line_ups.append([(one if s == own[-1] else rest)[s] for s in seats])
            seeds.append(MEETINGS + number * self.plan.groups + game)
        records = play_groups(self.game, self.spec, self.plan, line_ups, seeds, 1)
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
