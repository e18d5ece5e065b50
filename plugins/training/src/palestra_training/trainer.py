"""Rounds of play and learning, with checkpoints from which a killed run resumes."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec.structs import astuple, replace
from palestra import EpisodeRecord, InvalidOption
from palestra.agents.agent import Agent
from palestra.agents.making import make_agent
from palestra.files import UNREADABLE, read_json, remove_drafts, whole_file, write_bytes, write_text
from palestra.kernel.rng import Rng
from palestra.llm.tokens import check_template
from palestra.records.trace import SeatTrace
from palestra.records.versions import check_versions, versions_for, versions_of_names
from palestra.runner.listeners import Listeners

from palestra_training.batch import TokenBatch, token_batch
from palestra_training.checkpoint import (
    State,
    blaming,
    read_state,
    require_moments,
    require_same_form,
)
from palestra_training.crediting import credited_traces, open_credit
from palestra_training.curriculum import chosen_starts, horizon_at
from palestra_training.curves import draw_curve
from palestra_training.evaluation import evaluate
from palestra_training.hints import play_hinted
from palestra_training.learner import Learner
from palestra_training.lora import add_adapters
from palestra_training.losses import chosen_logprobs, policy_loss
from palestra_training.plan import TrainPlan, checked_plan
from palestra_training.play import (
    LEARNER,
    open_env,
    play_groups,
    random_play,
    seat_learner,
)
from palestra_training.pool import Pool, points_of
from palestra_training.solving import Decision, decisions, exploitability_of
from palestra_training.stopping import LARGEST_WEIGHT, check_quantity, memory_explained
from palestra_training.tiny import make_tiny
from palestra_training.warm_up import Example, imitate, rows

PLAN, STATE, CURVE, MODEL = "plan.json", "state.pt", "curve.csv", "model"
PICTURE, TINY = "curve.png", "tiny"  # what a tiny model began as
STREAM, CHOICE = 9, 10
VOCABULARY = 50  # episodes of random play that give a tiny model its vocabulary
CHANGEABLE = (
    "rounds",
    "evaluation",
    "save_every",
    "learning_rate",
    "minibatch",
)  # of a run that is resumed
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
MEETINGS = 1_500_000_000  # seeds from here on are for rivals' games against one another
Weights = dict[str, torch.Tensor]
Held = dict[tuple[int, ...], list[int]]
Behind = tuple[list[Weights], dict[str, Any]]
Ahead = tuple[list[EpisodeRecord], list[Held]]  # episodes, and what could be said in them


class Round(msgspec.Struct, frozen=True):
    """A line of the curve; shares come from the evaluation and are empty in rounds without one.

    loss, entropy: means over the gradient steps. ratio: the largest ratio, in either direction,
    between a token's probability and the one it was sampled with. unlost: the share of evaluated
    episodes that were won or drawn, with its 95 % interval; worst: the same share from the seat
    where it is lowest; won: the share that was won; mean: the mean return, with its interval. rank:
    in games of many seats or of general sum, which have no shares, the mean share of the other
    seats that were paid less. exploitability: where the game is small enough; see `solving`.
    """

    round: int
    seconds: float
    episodes: int
    tokens: int
    loss: float
    entropy: float
    ratio: float
    returns: float
    mistakes: float
    opponent: str = ""
    unlost: float | None = None
    low: float | None = None
    high: float | None = None
    worst: float | None = None
    won: float | None = None
    mean: float | None = None
    mean_low: float | None = None
    mean_high: float | None = None
    rank: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    exploitability: float | None = None


class Trainer:
    """One run in one folder; `run` plays, learns and saves until the plan's rounds are done."""

    def __init__(
        self,
        plan: TrainPlan,
        out: str | Path,
        *,
        resume: bool = False,
        other_versions: bool = False,
        hooks: Iterable[object] = (),
    ) -> None:
        self.plan = plan = checked_plan(plan)
        self.out = Path(out)
        self.listeners = Listeners(hooks)  # of the episodes it learns from
        self.spec, self.game = open_env(plan)
        self._other_versions = other_versions
        self._admit(resume)
        self.credit = open_credit(plan.credit)
        self.round, self.curve, self._seconds = 0, list[Round](), 0.0
        self.pool = Pool(plan.opponents, plan.matching)
        self.starts: list[int] = []  # chosen seeds; empty for all
        self.reference: list[Weights] = []
        self._behind: Behind | None = None  # what plays the next round, if ahead
        self._coming: Future[Ahead] | None = None
        self._threads = ThreadPoolExecutor(1)
        saved = self.out / STATE if resume else None
        fresh = saved is None or not saved.exists()
        lessons = self._lessons() if fresh else []
        self.learners = self._make_learners(lessons, fresh)
        self.optimisers = [
            torch.optim.AdamW(
                learner.trained().values(), lr=plan.learning_rate, betas=(0.9, 0.95), weight_decay=0
            )
            for learner in self.learners
        ]
        write_bytes(self.out / PLAN, msgspec.json.format(msgspec.json.encode(plan)))
        if fresh:
            self._begin(lessons)
        else:
            self._load(self.out / STATE)

    @property
    def model(self) -> Learner:
        """The policy of the first seat, which is that of all seats if they share one."""
        return self.learners[0]

    # Folder

    def _admit(self, resume: bool) -> None:
        """Refuse a folder that holds another run, or this run if it is not to be resumed."""
        kept = self.out / PLAN
        if kept.exists() and not resume:
            raise InvalidOption(
                f"{self.out} holds a run already; continue it with --resume, or choose another "
                "folder"
            )
        if kept.exists():
            try:
                was = read_json(kept, TrainPlan)
            except (OSError, *UNREADABLE) as error:
                raise InvalidOption(f"{kept} cannot be read: {error}; restore a copy") from error
            for name in TrainPlan.__struct_fields__:
                if name not in CHANGEABLE and getattr(was, name) != getattr(self.plan, name):
                    raise InvalidOption(
                        f"{self.out} was started with {name} = {getattr(was, name)!r}, not "
                        f"{getattr(self.plan, name)!r}; resume it unchanged, or choose another "
                        "folder"
                    )
        self.out.mkdir(parents=True, exist_ok=True)
        for name in (PLAN, STATE, CURVE, MODEL, PICTURE):
            remove_drafts(self.out / name)

    def _make_learners(self, lessons: Sequence[Example], fresh: bool) -> list[Learner]:
        """The policies: one, or one for each seat, which begin alike; adapters share a model."""
        plan = self.plan
        count = self.game.num_players if plan.policies == "seat" else 1
        names = [LEARNER] if count == 1 else [f"{LEARNER}-{seat}" for seat in range(count)]
        precision = PRECISIONS[plan.precision]
        first = Learner(
            plan.model or self._tiny(lessons, fresh),
            name=names[0],
            dtype=precision if plan.lora.rank else torch.float32,  # adapters are always float32
        )
        first.precision = precision
        if plan.prompt == "chat":
            check_template(
                first.tokenizer,
                f"{first.name} ({plan.model or TINY})",
                rules=plan.history != "bare",
                turns=plan.history == "conversation",
                thoughts=plan.mode == "free",
            )
        if plan.lora.rank:
            first.net = add_adapters(first.net, plan.lora, names, seed=plan.seed)
        made = [first]
        for name in names[1:]:
            made.append(first.twin(name, shared=plan.lora.rank > 0))
        if plan.lora.rank:
            for learner in made:
                learner.adapter = learner.name
        return made

    def _tiny(self, lessons: Sequence[Example], fresh: bool) -> Path:
        plan, folder = self.plan, self.out / TINY
        if fresh or not (folder / "config.json").exists():
            shown = [*rows(random_play(plan, VOCABULARY, "random"), plan), *lessons]
            said = [text for row in shown for text in row.texts]
            make_tiny(folder, said, seed=plan.seed, **msgspec.structs.asdict(plan.tiny))
        return folder

    def _lessons(self) -> list[Example]:
        """The rows that the model imitates before it plays."""
        taught = self.plan.warm_up
        if not taught.episodes:
            return []
        return list(rows(random_play(self.plan, taught.episodes, taught.agent), self.plan))

    def _begin(self, lessons: Sequence[Example]) -> None:
        for learner in self.learners if lessons else []:
            imitate(learner, lessons, self.plan.warm_up, seed=self.plan.seed)
        if self.plan.beta:
            self.reference = self._weights()
        self._save_models()
        self._save()

    def _weights(self) -> list[Weights]:
        return [learner.weights() for learner in self.learners]

    def _save_models(self) -> None:
        """Write each policy in a form that agents read: `model`, or `model-0`, `model-1`, …"""
        for seat, learner in enumerate(self.learners):
            learner.save(self.out / (MODEL if len(self.learners) == 1 else f"{MODEL}-{seat}"))

    def _save(self) -> None:
        """Save everything that the next round depends on in one file, written atomically."""
        state = {
            "round": self.round,
            "seconds": self._seconds,
            "weights": self._weights(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "credit": self.credit.state(),
            "pool": self.pool.state(),
            "starts": list(self.starts),
            "reference": self.reference,
            "behind": self._behind,
            "versions": [learner.version for learner in self.learners],
            "curve": [astuple(line) for line in self.curve],
            "software": self._software(),
        }
        with whole_file(self.out / STATE) as draft:
            torch.save(state, draft)
        self._write_curve()

    def _software(self) -> dict[str, str]:
        """The versions of what decides a round: rules, opponents, this package and torch."""
        names = versions_of_names((*self.plan.opponents, self.plan.warm_up.agent))
        return versions_for(self.game, self, "torch", "transformers") | names

    def _write_curve(self) -> None:
        lines = [",".join(Round.__struct_fields__)]
        lines += [
            ",".join("" if v is None else str(v) for v in astuple(line)) for line in self.curve
        ]
        write_text(self.out / CURVE, "\n".join(lines) + "\n")

    def _load(self, file: Path) -> None:
        state, now = read_state(file, self.model.device), self._software()
        check_versions(self.out, state.software, now, accept=self._other_versions)
        with blaming(file):
            self._restore(state)
        self._write_curve()  # which a killed process may have left a checkpoint behind

    def _restore(self, state: State) -> None:
        for learner, weights, version in zip(
            self.learners, state.weights, state.versions, strict=True
        ):
            learner.load(weights)
            learner.version = version
        for optimiser, kept in zip(self.optimisers, state.optimisers, strict=True):
            require_moments(kept, optimiser.state_dict())
            optimiser.load_state_dict(kept)
        for learner, weights in zip(
            self.learners if self.plan.beta else [], state.reference, strict=True
        ):
            require_same_form(weights, learner.trained(), "reference")
        self.credit.load(state.credit)
        self.pool.load(state.pool)
        self.starts, self.round, self._seconds = state.starts, state.round, state.seconds
        self.reference, self._behind = state.reference, state.behind
        names = Round.__struct_fields__
        lines = [dict(zip(names, line, strict=True)) for line in state.curve]
        self.curve = msgspec.convert(lines, list[Round])

    # Rounds

    def run(self, told: Callable[[Round], None] = lambda _: None) -> list[Round]:
        """Play, learn and save until all rounds are done; `told` is called with each."""
        while self.round < self.plan.rounds:
            started = time.monotonic()
            with memory_explained(
                f"in round {self.round + 1}",
                "resume with a smaller minibatch, or start again with fewer groups",
            ):
                line = self._learn()
            self.round += 1
            due = self.round % self.plan.evaluation.every == 0 or self.round == self.plan.rounds
            with memory_explained(
                f"in the evaluation of round {self.round}",
                "resume with fewer evaluation.episodes",
            ):
                found = self.evaluate() if due else []
            self._seconds += time.monotonic() - started
            for score in found or [{}]:
                self.curve.append(replace(line, seconds=round(self._seconds, 2), **score))
                told(self.curve[-1])
            if self.plan.past and self.round % self.plan.past_every == 0:
                self._remember()
            if due:
                self._save_models()
                draw_curve(self.curve, self.out / PICTURE)
            if due or self.round % self.plan.save_every == 0:
                self._save()
        return self.curve

    def _learn(self) -> Round:
        if self.plan.tasks.candidates and self.round % self.plan.tasks.every == 0:
            self.starts = self._choose_starts()
        records = self._records()
        traces = self.credited(records)
        found, tokens = [], 0
        anchors: Sequence[Weights | None] = self.reference or [None] * len(self.learners)
        for learner, optimiser, anchor in zip(self.learners, self.optimisers, anchors, strict=True):
            own = [trace for trace in traces if trace.agent == learner.name]
            if own:
                batch = token_batch(own, longest=learner.context).to(learner.device)
                found.append(self._descend(learner, optimiser, batch, anchor))
                tokens += int(batch.sampled.sum())
                learner.version += 1
        seats = [
            (record, seat)
            for record in records
            for seat, agent in enumerate(record.agents)
            if agent in self._names
        ]
        self._tell_pool(records)
        returns = [record.returns[seat] for record, seat in seats]
        mistakes = [record.mistakes[seat] for record, seat in seats]
        return Round(
            self.round + 1,
            0.0,
            len(records),
            tokens,
            sum(loss for loss, _, _ in found) / len(found),
            sum(entropy for _, entropy, _ in found) / len(found),
            max(ratio for _, _, ratio in found),
            sum(returns) / len(returns),
            sum(mistakes) / len(mistakes),
        )

    def _choose_starts(self) -> list[int]:
        """The seeds to learn from until the next choice."""
        plan = self.plan
        rng = Rng.seeded(plan.seed + 7919 * self.round, stream=CHOICE)
        seeds = sorted({rng.below(MEETINGS) for _ in range(plan.tasks.candidates)})
        control = make_agent("random")
        control.reseed(plan.seed + self.round)
        return chosen_starts(
            plan.tasks,
            seeds,
            self._agents(self.learners, plan.temperature, keep=False),
            [control] * self.game.num_players,
            lambda line_ups, seeds, size: play_groups(
                self.game, self.spec, plan, line_ups, seeds, size
            ),
        )

    def _records(self) -> list[EpisodeRecord]:
        """The episodes to learn from; with `ahead`, the next ones are begun at the same time.

        They are played with the weights before this round's step, so that a resumed run, which
        plays them again, plays the same.
        """
        if not self.plan.ahead:
            for learner in self.learners:
                learner.held.clear()
            return self.rollouts()
        if self._coming is None:
            behind = self._behind or (self._weights(), self.pool.state())
            self._coming = self._play_ahead(self.round, *behind)
        records, held = self._coming.result()
        for learner, known in zip(self.learners, held, strict=True):
            learner.held = known
        self._behind = self._weights(), self.pool.state()
        self._coming = self._play_ahead(self.round + 1, *self._behind)
        return records

    def _play_ahead(
        self, number: int, weights: Sequence[Weights], rivals: Mapping[str, Any]
    ) -> Future[Ahead]:
        """Play a round in a thread with copies of the policies, and the pool as it is now."""
        players = [
            learner.copy(values, learner.name)
            for learner, values in zip(self.learners, weights, strict=True)
        ]
        pool = Pool((), self.plan.matching)
        pool.load(rivals)

        def play() -> Ahead:
            return self.rollouts(number, players, pool), [player.held for player in players]

        return self._threads.submit(play)

    @property
    def _names(self) -> frozenset[str]:
        return frozenset(learner.name for learner in self.learners)

    def rollouts(
        self,
        number: int | None = None,
        players: Sequence[Learner] = (),
        pool: Pool | None = None,
    ) -> list[EpisodeRecord]:
        """The episodes of one round; the same for the same weights, pool, seed and round."""
        plan, pool = self.plan, pool or self.pool
        number = self.round if number is None else number
        rng = Rng.seeded(plan.seed + 7919 * number, stream=STREAM)
        learners = self._agents(players or self.learners, plan.temperature, keep=True)
        seated: dict[str, list[Agent]] = {}
        line_ups, seeds, earlier = [], list[int](), list[int]()
        seats = range(self.game.num_players)
        for group in range(plan.groups):
            place = number * plan.groups + group
            if self.starts:
                times, place = divmod(place, len(self.starts))
                seeds.append(self.starts[place])
                earlier.append(times)
            else:
                seeds.append(plan.seed + place)
            line_up = learners
            if pool.names and rng.below(1_000_000) >= plan.self_play * 1_000_000:
                chosen = pool.draw(rng)
                if chosen not in seated:
                    seated[chosen] = self._rivals(pool, chosen, number)
                own = group % len(seats)
                line_up = [learners[s] if s == own else seated[chosen][s] for s in seats]
            line_ups.append(line_up)
        return self._play(number, line_ups, seeds, earlier)

    def _play(
        self,
        number: int,
        line_ups: Sequence[Sequence[Agent]],
        seeds: Sequence[int],
        earlier: Sequence[int],
    ) -> list[EpisodeRecord]:
        """The rollouts of a round, as long as its horizon, and after hints if there are any."""
        plan = replace(self.plan, max_episode_steps=horizon_at(self.plan, number))
        games = self.game, self.spec, plan, line_ups, seeds
        if not plan.hints.agent:
            return play_groups(*games, plan.group_size, earlier, self.listeners)
        expert = make_agent(plan.hints.agent)
        expert.reseed(plan.seed + number)
        return play_hinted(*games, earlier, expert, self._names, self.listeners)

    def _agents(self, learners: Sequence[Learner], heat: float, *, keep: bool) -> list[Agent]:
        """The agent of every seat; seats that share a policy share an agent."""
        agents = [seat_learner(learner, self.plan, heat, keep=keep) for learner in learners]
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
        return self._agents(was, self.plan.temperature, keep=False)

    def _remember(self) -> None:
        """Put the learner as it is now into the pool, in place of its oldest version."""
        name = f"past:{self.round}"
        self.pool.remember(name, self._weights(), self.plan.past)
        if self.plan.matching == "nash":
            for other in self.pool.unmet(name):
                self.pool.met(name, other, self._score(name, other))

    def _score(self, row: str, column: str) -> float:
        """The mean points of one rival against another over a round's worth of games.

        A table of more than two seats has one of them in one seat and the other in the rest, each
        in turn; then the other's points count against the one.
        """
        line_ups, seeds, own = [], [], []
        seats = range(self.game.num_players)
        own_side = self._rivals(self.pool, row, self.round)
        other_side = self._rivals(self.pool, column, self.round)
        turns = 2 if len(seats) > 2 else 1
        for game in range(self.plan.groups):
            own.append(game // turns % len(seats))
            one, rest = (other_side, own_side) if game % turns else (own_side, other_side)
            line_ups.append([(one if s == own[-1] else rest)[s] for s in seats])
            seeds.append(MEETINGS + self.round * self.plan.groups + game)
        records = play_groups(self.game, self.spec, self.plan, line_ups, seeds, 1)
        gained = [
            abs(number % turns - points_of(self.game, record, seat))
            for number, (record, seat) in enumerate(zip(records, own, strict=True))
        ]
        return sum(gained) / len(gained)

    def _tell_pool(self, records: Sequence[EpisodeRecord]) -> None:
        """Count the learner's points against each rival."""
        gained: dict[str, list[float]] = {}
        for record in records:
            for name in {name for name in record.agents if name not in self._names}:
                gained.setdefault(name, []).extend(
                    points_of(self.game, record, seat)
                    for seat, agent in enumerate(record.agents)
                    if agent in self._names and record.outcome
                )
        for name, found in gained.items():
            self.pool.tell(name, found)

    def credited(self, records: Sequence[EpisodeRecord]) -> list[SeatTrace]:
        """Traces of the learner's seats, with an advantage on every turn."""
        return credited_traces(records, self.credit, self._names, refused=self.plan.refused)

    def _descend(
        self,
        learner: Learner,
        optimiser: torch.optim.Optimizer,
        batch: TokenBatch,
        reference: Weights | None = None,
    ) -> tuple[float, float, float]:
        """Gradient steps on one round's tokens; mean loss, entropy, and largest ratio seen."""
        plan = self.plan
        order = torch.Generator().manual_seed(plan.seed + 104_729 * self.round)
        left = 1 - self.round / plan.rounds if plan.decay else 1.0
        for group in optimiser.param_groups:
            group["lr"] = plan.learning_rate * left
        anchor = self._reference_logprobs(learner, batch, reference)
        total, entropies, largest, steps = 0.0, 0.0, 1.0, 0
        for _ in range(plan.epochs):
            for chosen in _minibatches(batch, plan.minibatch, order):
                steps += 1
                where = f"update {steps} of {learner.name} in round {self.round + 1}"
                found = self._step(learner, optimiser, batch, chosen, anchor, where)
                value, entropy, ratio = found
                total, entropies = total + value, entropies + entropy
                largest = max(largest, ratio)
        return total / steps, entropies / steps, largest

    def _step(
        self,
        learner: Learner,
        optimiser: torch.optim.Optimizer,
        batch: TokenBatch,
        chosen: torch.Tensor,
        anchor: torch.Tensor | None,
        where: str,
    ) -> tuple[float, float, float]:
        """One gradient step on some streams; its loss, entropy and largest ratio.

        Raises `TrainingStopped` where one of them, the gradient or a weight leaves all bounds.
        """
        plan, part = self.plan, batch.rows(chosen)
        found, entropy = self._logprobs(learner, part)
        marks, old = part.sampled[:, 1:], part.logprobs[:, 1:]
        share = len(part) / len(batch)
        one_turn = plan.history != "conversation"
        loss = policy_loss(
            found,
            old,
            part.advantages[:, 1:],
            marks,
            average=plan.average,
            clip=plan.clip,
            clip_high=plan.clip_high,
            reference=None if anchor is None else anchor[chosen, : found.shape[1]],
            beta=plan.beta,
            tokens_in_step=share * float(batch.sampled.sum()),
            most_tokens=plan.max_tokens if one_turn else learner.context,
        )
        spread = (entropy * marks).sum() / marks.sum().clamp(min=1)
        loss = loss - plan.entropy * spread
        value = float(loss.detach())
        apart = torch.where(marks, found.detach() - old, 0.0).abs()
        ratio = float(apart.max().exp())
        check_quantity("largest probability ratio", ratio, where)
        check_quantity("loss", value, where)
        learned = list(learner.trained().values())
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        norm = torch.nn.utils.clip_grad_norm_(learned, plan.grad_norm)
        check_quantity("norm of the gradient", float(norm), where)
        optimiser.step()
        with torch.no_grad():
            largest = float(torch.nn.utils.get_total_norm(learned, math.inf))
        check_quantity("largest weight", largest, where, most=LARGEST_WEIGHT)
        return value, float(spread.detach()), ratio

    def _logprobs(self, learner: Learner, part: TokenBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """Log-probabilities and entropies, (streams, length - 1); 0 where no stream has a sample.

        What leads to equal places is read once; words are scored only at places with a sample.
        """
        first, same = part.distinct()
        places = part.sampled[:, 1:].any(0).nonzero()[:, 0]
        with learner.computing():
            logits = learner.net(
                input_ids=part.ids[first, :-1],
                attention_mask=part.attended[first, 1:].long(),
                logits_to_keep=places,
            ).logits
        drawn = part.ids[:, places + 1]
        allowed = _allowed_words(learner.held, part, places, logits.shape[-1])
        found = chosen_logprobs(logits[same], drawn, self.plan.temperature, allowed)
        shape = len(part), part.ids.shape[1] - 1
        logprobs, entropy = (
            torch.zeros(shape, device=part.ids.device).index_copy(1, places, values)
            for values in found
        )
        return logprobs, entropy

    def _reference_logprobs(
        self, learner: Learner, batch: TokenBatch, reference: Weights | None
    ) -> torch.Tensor | None:
        """Log-probabilities under the initial policy, if beta needs them."""
        if reference is None:
            return None
        initial = learner.copy(reference, "reference")
        initial.held = learner.held
        found = torch.zeros(batch.ids[:, 1:].shape, device=batch.ids.device)
        with torch.no_grad():
            for chosen in torch.split(torch.arange(len(batch)), self.plan.minibatch):
                here = self._logprobs(initial, batch.rows(chosen))[0]
                found[chosen, : here.shape[1]] = here
        return found

    def evaluate(self) -> list[dict[str, Any]]:
        """Play without learning on held-out seeds; see `evaluation.evaluate`."""
        heat = self.plan.evaluation.temperature
        found = evaluate(self.plan, self._agents(self.learners, heat, keep=False))
        apart = exploitability_of(self.learners, self.plan, self.game, self._decisions)
        return [{**one, "exploitability": apart} for one in found]

    @cached_property
    def _decisions(self) -> list[Decision]:
        return decisions(self.game, self.plan)


def _allowed_words(
    held: Mapping[tuple[int, ...], list[int]], part: TokenBatch, places: torch.Tensor, words: int
) -> torch.Tensor | None:
    """The words that the samples at some places were drawn from, if choices held them."""
    if not held:
        return None
    allowed = torch.ones((len(part), len(places), words), dtype=torch.bool)
    sampled = part.sampled[:, places + 1].nonzero().tolist()
    ids = part.ids.tolist()
    for row, column in sampled:
        could = held.get(tuple(ids[row][: int(places[column]) + 1]))
        if could is not None:
            allowed[row, column] = False
            allowed[row, column, could] = True
    return allowed.to(part.ids.device)


def _minibatches(batch: TokenBatch, size: int, order: torch.Generator) -> Iterator[torch.Tensor]:
    """The streams of each gradient step: those of `size` distinct ones, which are read once."""
    first, same = batch.distinct()
    for chosen in torch.split(torch.randperm(len(first), generator=order), size):
        yield torch.isin(same, chosen.to(same.device)).nonzero()[:, 0]


def read_curve(file: str | Path) -> list[dict[str, str]]:
    """The lines of a curve as text, by column."""
    with Path(file).open(newline="") as opened:
        return list(csv.DictReader(opened))
