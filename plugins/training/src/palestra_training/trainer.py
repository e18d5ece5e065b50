"""Rounds of play and learning, saved so that a killed run goes on where it was."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import torch
from palestra import EpisodeRecord, InvalidOption, PalestraError
from palestra.agents.agent import Agent
from palestra.agents.making import make_agent
from palestra.kernel.files import whole_file, write_bytes, write_text
from palestra.kernel.registry import registry
from palestra.kernel.rng import Rng
from palestra.records.trace import SeatTrace, trace_seats

from palestra_training.batch import TokenBatch, token_batch
from palestra_training.learner import Learner
from palestra_training.losses import policy_loss, token_logprobs
from palestra_training.plan import TrainPlan
from palestra_training.play import LEARNER, open_env, play_groups, random_play, seat_learner
from palestra_training.tiny import make_tiny
from palestra_training.warm_up import imitate, rows

PLAN, STATE, CURVE, MODEL = "plan.json", "state.pt", "curve.csv", "model"
HELD_OUT = 2_000_000_000  # seeds from here on are for evaluation alone
STREAM = 9


class TrainingStopped(PalestraError):
    """Training cannot go on; the last checkpoint is whole, and the message says what to change."""


class Round(NamedTuple):
    """A line of the curve; shares are of the evaluation, empty in rounds without one."""

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
    mean: float | None = None


class Trainer:
    """One run in one folder; `run` plays, learns and saves until the plan's rounds are done."""

    def __init__(self, plan: TrainPlan, out: str | Path, *, resume: bool = False) -> None:
        self.plan, self.out = plan, Path(out)
        self.spec, self.game = open_env(plan)
        self._admit(resume)
        self.credit = registry().plugins.first("palestra_credit", names=plan.credit)
        if self.credit is None:
            raise InvalidOption("training needs estimators; pip install palestra-rewards")
        self.round, self.curve, self._seconds = 0, list[Round](), 0.0
        saved = self.out / STATE if resume else None
        fresh = saved is None or not saved.exists()
        self.model = self._make_model() if fresh else Learner(self.out / MODEL)
        self.optimiser = torch.optim.AdamW(
            self.model.net.parameters(), lr=plan.learning_rate, betas=(0.9, 0.95), weight_decay=0.0
        )
        self.past: list[dict[str, torch.Tensor]] = []
        if fresh:
            self._warm_up()
            self._save()
        else:
            self._load(self.out / STATE)

    # Folder

    def _admit(self, resume: bool) -> None:
        """Refuse a folder that holds another run, or one that is not to be continued."""
        kept = self.out / PLAN
        encoded = msgspec.json.format(msgspec.json.encode(self.plan))
        if kept.exists() and not resume:
            raise InvalidOption(
                f"{self.out} holds a run already; continue it with --resume, or choose another "
                "folder"
            )
        if kept.exists():
            was = msgspec.json.decode(kept.read_bytes(), type=TrainPlan)
            for name in TrainPlan.__struct_fields__:
                if name not in ("rounds", "evaluation") and getattr(was, name) != getattr(
                    self.plan, name
                ):
                    raise InvalidOption(
                        f"{self.out} was started with {name} = {getattr(was, name)!r}, not "
                        f"{getattr(self.plan, name)!r}; resume it unchanged, or choose another "
                        "folder"
                    )
        self.out.mkdir(parents=True, exist_ok=True)
        write_bytes(kept, encoded)

    def _make_model(self) -> Learner:
        plan = self.plan
        if plan.model:
            return Learner(plan.model)
        records = random_play(plan, max(50, plan.warm_up.episodes), plan.warm_up.agent)
        said = [text for row in rows(records, plan) for text in row]
        size = msgspec.structs.asdict(plan.tiny)
        return Learner(make_tiny(self.out / MODEL, said, seed=plan.seed, **size))

    def _warm_up(self) -> None:
        plan = self.plan
        if plan.warm_up.episodes:
            records = random_play(plan, plan.warm_up.episodes, plan.warm_up.agent)
            imitate(self.model, list(rows(records, plan)), plan.warm_up, seed=plan.seed)

    def _save(self) -> None:
        """Everything that the next round depends on, in one file that is whole or not there."""
        self.model.save(self.out / MODEL)
        state = {
            "round": self.round,
            "seconds": self._seconds,
            "weights": self.model.net.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "credit": self.credit.state(),
            "past": self.past,
            "version": self.model.version,
            "curve": [tuple(line) for line in self.curve],
        }
        with whole_file(self.out / STATE) as draft:
            torch.save(state, draft)
        lines = [",".join(Round._fields)]
        lines += [",".join("" if v is None else str(v) for v in line) for line in self.curve]
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
        self.credit.load(state["credit"])
        self.round, self._seconds = state["round"], state["seconds"]
        self.model.version, self.past = state["version"], state["past"]
        self.curve = [Round(*line) for line in state["curve"]]

    # Rounds

    def run(self, told: Callable[[Round], None] = lambda _: None) -> list[Round]:
        """Play, learn and save until all rounds are done; `told` hears of each."""
        while self.round < self.plan.rounds:
            started = time.monotonic()
            line = self._learn()
            self.round += 1
            due = self.round % self.plan.evaluation.every == 0 or self.round == self.plan.rounds
            found = self.evaluate() if due else []
            self._seconds += time.monotonic() - started
            for score in found or [{}]:
                self.curve.append(line._replace(seconds=round(self._seconds, 2), **score))
                told(self.curve[-1])
            if self.plan.past and self.round % self.plan.past_every == 0:
                weights = {k: v.clone() for k, v in self.model.net.state_dict().items()}
                self.past = [*self.past, weights][-self.plan.past :]
            if due:
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
        rivals: list[Agent] = [make_agent(name) for name in plan.opponents]
        rivals += [self._past_self(place) for place in range(len(self.past))]
        line_ups, seeds = [], []
        for group in range(plan.groups):
            seeds.append(plan.seed + self.round * plan.groups + group)
            line_up = [learner] * self.game.num_players
            if rivals and rng.below(1_000_000) >= plan.self_play * 1_000_000:
                rival = rivals[rng.below(len(rivals))]
                own = group % self.game.num_players
                line_up = [learner if s == own else rival for s in range(self.game.num_players)]
            line_ups.append(line_up)
        for rival in rivals:
            rival.reseed(plan.seed + self.round)
        return play_groups(self.game, self.spec, plan, line_ups, seeds, plan.group_size)

    def _past_self(self, place: int) -> Agent:
        model = Learner(self.out / MODEL, name=f"past:{place}")
        model.net.load_state_dict(self.past[place])
        agent = seat_learner(model, self.plan, self.plan.temperature, keep=False)
        agent.name = f"past:{place}"
        return agent

    def credited(self, records: Sequence[EpisodeRecord]) -> list[SeatTrace]:
        """Traces of the learner's seats, with an advantage on every turn."""
        found = self.credit.credit(records, [LEARNER])
        traces = []
        for record, advantages in zip(records, found, strict=True):
            seats = [seat for seat, agent in enumerate(record.agents) if agent == LEARNER]
            for trace in trace_seats(record, seats):
                for turn in trace.turns:
                    lost = turn.refused and not turn.rewards
                    turn.advantage = (
                        self.plan.refused if lost else advantages[trace.seat, turn.step]
                    )
                traces.append(trace)
        return traces

    def _descend(self, batch: TokenBatch) -> tuple[float, float, float]:
        """Gradient steps on one round's tokens; mean loss, entropy, and largest ratio seen."""
        plan, net = self.plan, self.model.net
        order = torch.Generator().manual_seed(plan.seed + 104_729 * self.round)
        total, entropies, largest, steps = 0.0, 0.0, 1.0, 0
        for _ in range(plan.epochs):
            shuffled = torch.randperm(len(batch), generator=order)
            for start in range(0, len(batch), plan.minibatch):
                part = batch.rows(shuffled[start : start + plan.minibatch])
                logits = net(input_ids=part.ids, attention_mask=part.attended.long()).logits
                found, entropy = token_logprobs(logits, part.ids, plan.temperature)
                marks = part.sampled[:, 1:]
                old = part.logprobs[:, 1:]
                loss = policy_loss(
                    found,
                    old,
                    part.advantages[:, 1:],
                    marks,
                    average=plan.average,
                    clip=plan.clip,
                    clip_high=plan.clip_high,
                )
                spread = (entropy * marks).sum() / marks.sum().clamp(min=1)
                loss = loss - plan.entropy * spread
                if not math.isfinite(float(loss)):
                    raise TrainingStopped(
                        f"the loss of round {self.round + 1} is {float(loss)}; resume from the "
                        "last checkpoint with a smaller learning_rate"
                    )
                self.optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(net.parameters(), plan.grad_norm)
                self.optimiser.step()
                total, entropies, steps = total + float(loss), entropies + float(spread), steps + 1
                with torch.no_grad():
                    apart = torch.where(marks, found - old, torch.zeros_like(found))
                    largest = max(largest, float(apart.abs().exp().max()))
        return total / steps, entropies / steps, largest

    # Evaluation

    def evaluate(self) -> list[dict[str, Any]]:
        """The learner from every seat in turn against each opponent, on seeds of their own."""
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
            mean = sum(r.returns[s] for r, s in zip(records, own_seats, strict=True)) / len(records)
            low, high = wilson(unlost, len(records))
            found.append(
                {
                    "opponent": name,
                    "unlost": unlost / len(records),
                    "low": low,
                    "high": high,
                    "mean": mean,
                }
            )
        return found


def wilson(hits: int, tries: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (Wilson 1927)."""
    share = hits / tries
    middle = share + z * z / (2 * tries)
    spread = z * math.sqrt(share * (1 - share) / tries + z * z / (4 * tries * tries))
    scale = 1 + z * z / tries
    return (middle - spread) / scale, (middle + spread) / scale


def read_curve(file: str | Path) -> list[dict[str, str]]:
    """The lines of a curve as text, by column."""
    with Path(file).open(newline="") as opened:
        return list(csv.DictReader(opened))
