"""Rounds of play and learning, with checkpoints from which a killed run resumes."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import torch
from msgspec.structs import astuple, replace
from palestra import EpisodeRecord, InvalidOption, wilson
from palestra.agents.agent import Agent
from palestra.agents.making import make_agent
from palestra.files import UNREADABLE, remove_drafts, whole_file, write_bytes, write_text
from palestra.kernel.rng import Rng
from palestra.records.trace import SeatTrace

from palestra_training.batch import TokenBatch, token_batch
from palestra_training.crediting import credited_traces, open_credit
from palestra_training.learner import Learner
from palestra_training.losses import policy_loss, token_logprobs
from palestra_training.plan import TrainPlan
from palestra_training.play import (
    LEARNER,
    TrainingStopped,
    open_env,
    play_groups,
    random_play,
    seat_learner,
)
from palestra_training.tiny import make_tiny
from palestra_training.warm_up import Example, imitate, rows

PLAN, STATE, CURVE, MODEL = "plan.json", "state.pt", "curve.csv", "model"
HELD_OUT = 2_000_000_000  # seeds from here on are for evaluation only
STREAM = 9
VOCABULARY = 50  # episodes of random play that give a tiny model its vocabulary
CHANGEABLE = (
    "rounds",
    "evaluation",
    "save_every",
    "learning_rate",
    "minibatch",
)  # of a run that is resumed
Weights = dict[str, torch.Tensor]


class Round(msgspec.Struct, frozen=True):
    """A line of the curve; shares come from the evaluation and are empty in rounds without one.

    loss, entropy: means over the gradient steps. ratio: the largest ratio, in either direction,
    between a token's probability and the one it was sampled with. unlost: the share of evaluated
    episodes that were won or drawn, with its 95 % interval; worst: the same share from the seat
    where it is lowest.
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
    mean: float | None = None


class Trainer:
    """One run in one folder; `run` plays, learns and saves until the plan's rounds are done."""

    def __init__(self, plan: TrainPlan, out: str | Path, *, resume: bool = False) -> None:
        self.plan, self.out = plan, Path(out)
        self.spec, self.game = open_env(plan)
        self._admit(resume)
        self.credit = open_credit(plan.credit)
        self.round, self.curve, self._seconds = 0, list[Round](), 0.0
        saved = self.out / STATE if resume else None
        fresh = saved is None or not saved.exists()
        lessons = self._lessons() if fresh else []
        self.model = self._make_model(lessons) if fresh else Learner(self.out / MODEL)
        self.optimiser = torch.optim.AdamW(
            self.model.net.parameters(), lr=plan.learning_rate, betas=(0.9, 0.95), weight_decay=0.0
        )
        self.past: list[Weights] = []
        self.reference: Weights = {}
        if fresh:
            self._begin(lessons)
        else:
            self._load(self.out / STATE)

    # Folder

    def _admit(self, resume: bool) -> None:
        """Refuse a folder that holds another run, or this run if it is not to be resumed."""
        kept = self.out / PLAN
        encoded = msgspec.json.format(msgspec.json.encode(self.plan))
        if kept.exists() and not resume:
            raise InvalidOption(
                f"{self.out} holds a run already; continue it with --resume, or choose another "
                "folder"
            )
        if kept.exists():
            try:
                was = msgspec.json.decode(kept.read_bytes(), type=TrainPlan)
            except UNREADABLE as error:
                raise InvalidOption(f"{kept} cannot be read: {error}; restore a copy") from error
            for name in TrainPlan.__struct_fields__:
                if name not in CHANGEABLE and getattr(was, name) != getattr(self.plan, name):
                    raise InvalidOption(
                        f"{self.out} was started with {name} = {getattr(was, name)!r}, not "
                        f"{getattr(self.plan, name)!r}; resume it unchanged, or choose another "
                        "folder"
                    )
        self.out.mkdir(parents=True, exist_ok=True)
        for name in (PLAN, STATE, CURVE, MODEL):
            remove_drafts(self.out / name)
        write_bytes(kept, encoded)

    def _make_model(self, lessons: Sequence[Example]) -> Learner:
        plan = self.plan
        if plan.model:
            return Learner(plan.model)
        shown = [*rows(random_play(plan, VOCABULARY, "random"), plan), *lessons]
        said = [text for row in shown for text in row.texts]
        size = msgspec.structs.asdict(plan.tiny)
        return Learner(make_tiny(self.out / MODEL, said, seed=plan.seed, **size))

    def _lessons(self) -> list[Example]:
        """The rows that the model imitates before it plays."""
        taught = self.plan.warm_up
        if not taught.episodes:
            return []
        return list(rows(random_play(self.plan, taught.episodes, taught.agent), self.plan))

    def _begin(self, lessons: Sequence[Example]) -> None:
        if lessons:
            imitate(self.model, lessons, self.plan.warm_up, seed=self.plan.seed)
        if self.plan.beta:
            self.reference = self._weights()
        self.model.save(self.out / MODEL)
        self._save()

    def _weights(self) -> Weights:
        return {name: value.clone() for name, value in self.model.net.state_dict().items()}

    def _save(self) -> None:
        """Save everything that the next round depends on in one file, written atomically."""
        state = {
            "round": self.round,
            "seconds": self._seconds,
            "weights": self.model.net.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "credit": self.credit.state(),
            "past": self.past,
            "reference": self.reference,
            "version": self.model.version,
            "curve": [astuple(line) for line in self.curve],
        }
        with whole_file(self.out / STATE) as draft:
            torch.save(state, draft)
        self._write_curve()

    def _write_curve(self) -> None:
        lines = [",".join(Round.__struct_fields__)]
        lines += [
            ",".join("" if v is None else str(v) for v in astuple(line)) for line in self.curve
        ]
        write_text(self.out / CURVE, "\n".join(lines) + "\n")

    def _load(self, file: Path) -> None:
        try:
            state = torch.load(file, map_location=self.model.device, weights_only=True)
        except Exception as error:
            raise InvalidOption(
                f"{file} cannot be read: {error}; start in another folder"
            ) from error
        self.model.net.load_state_dict(state["weights"])
        self.optimiser.load_state_dict(state["optimiser"])
        for group in self.optimiser.param_groups:
            group["lr"] = self.plan.learning_rate
        self.credit.load(state["credit"])
        self.round, self._seconds = state["round"], state["seconds"]
        self.model.version, self.past = state["version"], state["past"]
        self.reference = state["reference"]
        self.curve = [Round(*line) for line in state["curve"]]
        self._write_curve()  # which a killed process may have left a checkpoint behind

    # Rounds

    def run(self, told: Callable[[Round], None] = lambda _: None) -> list[Round]:
        """Play, learn and save until all rounds are done; `told` is called with each."""
        while self.round < self.plan.rounds:
            started = time.monotonic()
            try:
                line = self._learn()
            except torch.OutOfMemoryError as error:
                raise TrainingStopped(
                    f"out of memory in round {self.round + 1}; resume with a smaller minibatch, "
                    f"or start again with fewer groups: {error}"
                ) from error
            self.round += 1
            due = self.round % self.plan.evaluation.every == 0 or self.round == self.plan.rounds
            found = self.evaluate() if due else []
            self._seconds += time.monotonic() - started
            for score in found or [{}]:
                self.curve.append(replace(line, seconds=round(self._seconds, 2), **score))
                told(self.curve[-1])
            if self.plan.past and self.round % self.plan.past_every == 0:
                self.past = [*self.past, self._weights()][-self.plan.past :]
            if due:
                self.model.save(self.out / MODEL)
            if due or self.round % self.plan.save_every == 0:
                self._save()
        return self.curve

    def _learn(self) -> Round:
        records = self.rollouts()
        traces = self.credited(records)
        batch = token_batch(traces, longest=self.model.context).to(self.model.device)
        loss, entropy, ratio = self._descend(batch)
        self.model.version += 1
        seats = [
            (record, seat)
            for record in records
            for seat, agent in enumerate(record.agents)
            if agent == LEARNER
        ]
        returns = [record.returns[seat] for record, seat in seats]
        mistakes = [record.mistakes[seat] for record, seat in seats]
        return Round(
            self.round + 1,
            0.0,
            len(records),
            int(batch.sampled.sum()),
            loss,
            entropy,
            ratio,
            sum(returns) / len(returns),
            sum(mistakes) / len(mistakes),
        )

    def rollouts(self) -> list[EpisodeRecord]:
        """The episodes of one round; the same for the same weights, seed and round."""
        plan, rng = self.plan, Rng.seeded(self.plan.seed + 7919 * self.round, stream=STREAM)
        learner = seat_learner(self.model, plan, plan.temperature, keep=True)
        rivals: list[str | int] = [*plan.opponents, *range(len(self.past))]
        seated: dict[str | int, Agent] = {}
        line_ups, seeds = [], []
        for group in range(plan.groups):
            seeds.append(plan.seed + self.round * plan.groups + group)
            line_up = [learner] * self.game.num_players
            if rivals and rng.below(1_000_000) >= plan.self_play * 1_000_000:
                chosen = rivals[rng.below(len(rivals))]
                if chosen not in seated:
                    seated[chosen] = self._rival(chosen)
                rival = seated[chosen]
                own = group % self.game.num_players
                line_up = [learner if s == own else rival for s in range(self.game.num_players)]
            line_ups.append(line_up)
        return play_groups(self.game, self.spec, plan, line_ups, seeds, plan.group_size)

    def _rival(self, chosen: str | int) -> Agent:
        """A named agent, or a saved version of the learner."""
        if isinstance(chosen, str):
            agent = make_agent(chosen)
            agent.reseed(self.plan.seed + self.round)
            return agent
        name = f"past:{chosen}"
        was = self.model.copy(self.past[chosen], name)
        agent = seat_learner(was, self.plan, self.plan.temperature, keep=False)
        agent.name = name
        return agent

    def credited(self, records: Sequence[EpisodeRecord]) -> list[SeatTrace]:
        """Traces of the learner's seats, with an advantage on every turn."""
        return credited_traces(records, self.credit, [LEARNER], refused=self.plan.refused)

    def _descend(self, batch: TokenBatch) -> tuple[float, float, float]:
        """Gradient steps on one round's tokens; mean loss, entropy, and largest ratio seen."""
        plan = self.plan
        order = torch.Generator().manual_seed(plan.seed + 104_729 * self.round)
        anchor = self._reference_logprobs(batch)
        total, entropies, largest, steps = 0.0, 0.0, 1.0, 0
        for _ in range(plan.epochs):
            shuffled = torch.randperm(len(batch), generator=order)
            for chosen in torch.split(shuffled, plan.minibatch):
                value, entropy, ratio = self._step(batch, chosen, anchor)
                total, entropies, steps = total + value, entropies + entropy, steps + 1
                largest = max(largest, ratio)
        return total / steps, entropies / steps, largest

    def _step(
        self, batch: TokenBatch, chosen: torch.Tensor, anchor: torch.Tensor | None
    ) -> tuple[float, float, float]:
        """One gradient step on some streams; its loss, entropy and largest ratio."""
        plan, part = self.plan, batch.rows(chosen)
        found, entropy = self._logprobs(self.model.net, part)
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
            most_tokens=plan.max_tokens if one_turn else self.model.context,
        )
        spread = (entropy * marks).sum() / marks.sum().clamp(min=1)
        loss = loss - plan.entropy * spread
        value = float(loss.detach())
        if not math.isfinite(value):
            raise TrainingStopped(
                f"the loss of round {self.round + 1} is {value}; resume from the last "
                "checkpoint with a smaller learning_rate"
            )
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.net.parameters(), plan.grad_norm)
        self.optimiser.step()
        apart = torch.where(marks, found.detach() - old, 0.0).abs()
        return value, float(spread.detach()), float(apart.max().exp())

    def _logprobs(self, net: Any, part: TokenBatch) -> tuple[torch.Tensor, torch.Tensor]:
        logits = net(input_ids=part.ids, attention_mask=part.attended.long()).logits
        return token_logprobs(logits, part.ids, self.plan.temperature)

    def _reference_logprobs(self, batch: TokenBatch) -> torch.Tensor | None:
        """Log-probabilities under the initial policy, if beta needs them."""
        if not self.plan.beta:
            return None
        net = self.model.copy(self.reference, "reference").net
        found = torch.zeros(batch.ids[:, 1:].shape, device=batch.ids.device)
        with torch.no_grad():
            for chosen in torch.split(torch.arange(len(batch)), self.plan.minibatch):
                here = self._logprobs(net, batch.rows(chosen))[0]
                found[chosen, : here.shape[1]] = here
        return found

    # Evaluation

    def evaluate(self) -> list[dict[str, Any]]:
        """Play the learner from every seat in turn against each opponent, on held-out seeds."""
        plan = self.plan
        settings = plan.evaluation
        spec, game = open_env(plan, settings.split, **settings.options)
        learner = seat_learner(self.model, plan, settings.temperature, keep=False)
        found = []
        for name in settings.opponents:
            rival = make_agent(name)
            rival.reseed(HELD_OUT)
            line_ups, seeds = [], []
            for number in range(settings.episodes):
                own = number % game.num_players
                line_ups.append(
                    [learner if seat == own else rival for seat in range(game.num_players)]
                )
                seeds.append(HELD_OUT + number // game.num_players)
            records = play_groups(game, spec, plan, line_ups, seeds, 1)
            own_seats = [number % game.num_players for number in range(len(records))]
            results = [
                record.outcome.results[seat] if record.outcome else "loss"
                for record, seat in zip(records, own_seats, strict=True)
            ]
            unlost = sum(result != "loss" for result in results)
            by_seat = [results[seat :: game.num_players] for seat in range(game.num_players)]
            mean = sum(r.returns[s] for r, s in zip(records, own_seats, strict=True)) / len(records)
            share = wilson(unlost, len(records))
            found.append(
                {
                    "opponent": name,
                    "unlost": share.value,
                    "low": share.low,
                    "high": share.high,
                    "worst": min(
                        sum(result != "loss" for result in seat) / len(seat)
                        for seat in by_seat
                        if seat
                    ),
                    "mean": mean,
                }
            )
        return found


def read_curve(file: str | Path) -> list[dict[str, str]]:
    """The lines of a curve as text, by column."""
    with Path(file).open(newline="") as opened:
        return list(csv.DictReader(opened))
