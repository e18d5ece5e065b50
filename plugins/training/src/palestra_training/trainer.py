"""Rounds of play and learning, with checkpoints from which a killed run resumes."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import torch
from msgspec.structs import astuple, replace
from palestra import EpisodeRecord, InvalidOption
from palestra.files import whole_file, write_bytes
from palestra.records.trace import SeatTrace
from palestra.records.versions import check_versions, versions_for, versions_of_names
from palestra.runner.listeners import Listeners

from palestra_training.batch import token_batch
from palestra_training.checkpoint import (
    CURVE,
    MODEL,
    PICTURE,
    PLAN,
    STATE,
    State,
    admit,
    blaming,
    read_state,
    require_moments,
    require_same_form,
    writing,
)
from palestra_training.crediting import credited_traces, open_credit
from palestra_training.curves import Round, draw_curve, write_curve
from palestra_training.engines import open_engines
from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan, checked_plan
from palestra_training.play import check_players, open_env
from palestra_training.policies import first_model, lessons_of, make_policies
from palestra_training.pool import Pool
from palestra_training.processes import ALONE, Processes, refuse_for_several
from palestra_training.rollouts import Rollouts
from palestra_training.solving import Decision, decisions, exploitability_of
from palestra_training.stopping import memory_explained
from palestra_training.update import Update
from palestra_training.warm_up import Example, imitate

if TYPE_CHECKING:
    from palestra_training.ray_rollouts import Crew


def open_crew(plan: TrainPlan, folder: Path, hooks: Collection[object]) -> Crew | None:
    """The workers on Ray, if the plan has any. folder: of the model that the policies began from.

    Raises `InvalidOption` for hooks, which would see nothing of what is played elsewhere.
    """
    if not plan.ray.workers:
        return None
    if hooks:
        raise InvalidOption(
            "hooks and --watch see what this process plays, and the workers of [ray] play "
            "elsewhere; leave one of them out (--log logs every round)"
        )
    from palestra_training.ray_rollouts import Crew

    return Crew(plan, folder)


class Trainer:
    """One run in one folder; `run` plays, learns and saves until the plan's rounds are done."""

    def __init__(
        self,
        plan: TrainPlan,
        out: str | Path,
        *,
        resume: bool = False,
        other_versions: bool = False,
        hooks: Collection[object] = (),
        processes: Processes = ALONE,
    ) -> None:
        self.plan = plan = checked_plan(plan)
        refuse_for_several(plan, processes)
        self.processes = processes
        self.out = Path(out)
        self.spec, self.game = open_env(plan)
        check_players(plan, self.spec, self.game)
        self._other_versions = other_versions
        processes.led(lambda: admit(plan, self.out, resume=resume))
        self.credit = open_credit(plan.credit)
        self.round, self.curve, self._seconds = 0, list[Round](), 0.0
        saved = self.out / STATE if resume else None
        fresh = processes.led(lambda: saved is None or not saved.exists())
        lessons = lessons_of(plan) if fresh else []
        folder = processes.led(lambda: first_model(plan, self.out, lessons, fresh=fresh))
        self.learners = make_policies(plan, self.game.num_players, folder)
        self.crew = open_crew(plan, folder, hooks)
        engines = (
            self.learners if self.crew else open_engines(plan, self.learners, folder, self.out)
        )
        table, listeners = (self.spec, self.game), Listeners(hooks)
        self.play = Rollouts(plan, table, self.learners, engines, listeners, processes, self.crew)
        self.updates = [Update(plan, learner, processes) for learner in self.learners]
        if processes.leads:
            write_bytes(self.out / PLAN, msgspec.json.format(msgspec.json.encode(plan)))
        if fresh:
            self._begin(lessons)
        else:
            self._load(self.out / STATE)

    def close(self) -> None:
        """End the workers on Ray, if there are any."""
        if self.crew is not None:
            self.crew.close()

    @property
    def model(self) -> Learner:
        """The policy of the first seat, which is that of all seats if they share one."""
        return self.learners[0]

    @property
    def pool(self) -> Pool:
        """The rivals."""
        return self.play.pool

    # Checkpoints

    def _begin(self, lessons: Sequence[Example]) -> None:
        for learner in self.learners if lessons else []:
            imitate(learner, lessons, self.plan.warm_up, seed=self.plan.seed)
        if self.plan.beta:
            for update in self.updates:
                update.reference = update.learner.weights()
        self.play.compare_rivals(0)
        self._save_models()
        self._save()

    def _save_models(self) -> None:
        """Write each policy in a form that agents read: `model`, or `model-0`, `model-1`, …"""
        if not self.processes.leads:
            return
        for seat, learner in enumerate(self.learners):
            learner.save(self.out / (MODEL if len(self.learners) == 1 else f"{MODEL}-{seat}"))

    def _save(self) -> None:
        """Save everything that the next round depends on in one file, written atomically."""
        if not self.processes.leads:
            return
        state = {
            "round": self.round,
            "seconds": self._seconds,
            "weights": self.play.weights(),
            "optimisers": [update.optimiser.state_dict() for update in self.updates],
            "credit": self.credit.state(),
            "pool": self.pool.state(),
            "starts": list(self.play.starts),
            "reference": [u.reference for u in self.updates if u.reference is not None],
            "behind": self.play.behind,
            "versions": [learner.version for learner in self.learners],
            "curve": [astuple(line) for line in self.curve],
            "software": self._software(),
        }
        with whole_file(self.out / STATE) as draft, writing(self.out / STATE):
            torch.save(state, draft)
        write_curve(self.curve, self.out / CURVE)

    def _software(self) -> dict[str, str]:
        """The versions of what decides a round: rules, opponents, this package and torch."""
        engine = [] if self.plan.engine == "transformers" else [self.plan.engine]
        names = versions_of_names((*self.plan.opponents, self.plan.warm_up.agent))
        return versions_for(self.game, self, "torch", "transformers", *engine) | names

    def _load(self, file: Path) -> None:
        state, now = read_state(file, self.model.device), self._software()
        check_versions(self.out, state.software, now, accept=self._other_versions)
        with blaming(file):
            self._restore(state)
        if self.processes.leads:  # a killed process may have left the curve a checkpoint behind
            write_curve(self.curve, self.out / CURVE)

    def _restore(self, state: State) -> None:
        for learner, weights, version in zip(
            self.learners, state.weights, state.versions, strict=True
        ):
            learner.load(weights)
            learner.version = version
        for update, kept in zip(self.updates, state.optimisers, strict=True):
            require_moments(kept, update.optimiser.state_dict())
            update.optimiser.load_state_dict(kept)
        for update, initial in zip(
            self.updates if self.plan.beta else [], state.reference, strict=True
        ):
            require_same_form(initial, update.learner.trained(), "reference")
            update.reference = initial
        self.credit.load(state.credit)
        self.pool.load(state.pool)
        self.round, self._seconds = state.round, state.seconds
        self.play.starts, self.play.behind = state.starts, state.behind
        names = Round.__struct_fields__
        lines = [dict(zip(names, line, strict=True)) for line in state.curve]
        self.curve = msgspec.convert(lines, list[Round])

    # Rounds

    def run(self, told: Callable[[Round], None] = lambda _: None) -> list[Round]:
        """Play, learn and save until all rounds are done; `told` is called with each."""
        while self.round < self.plan.rounds:
            started = time.monotonic()
            bound = self.plan.micro_batch_tokens or "none"
            with memory_explained(
                f"in round {self.round + 1}",
                f"resume with a smaller micro_batch_tokens, which is {bound}, or with "
                "gradient_checkpointing, or start again with fewer groups",
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
                self.play.remember(self.round)
            if due:
                self._save_models()
                if self.processes.leads:
                    draw_curve(self.curve, self.out / PICTURE)
            if due or self.round % self.plan.save_every == 0:
                self._save()
        return self.curve

    def _learn(self) -> Round:
        if self.plan.tasks.candidates and self.round % self.plan.tasks.every == 0:
            self.play.choose_starts(self.round)
        records = self.play.records(self.round)
        taught = self.play.taught(records)
        alike = (len(records) - len(taught)) // self.plan.group_size
        traces = self.credited(taught)
        found = []
        for update in self.updates:
            learner = update.learner
            own = [trace for trace in traces if trace.agent == learner.name]
            if own:
                batch = token_batch(own, longest=learner.context).to(learner.device)
                found.append(update.learn(batch, self.round))
                learner.version += 1
        tokens = sum(one.tokens for one in found)
        count = len(found) or 1  # where all games ended before a policy's turn, nothing is learnt
        cut = sum(one.truncated for one in found) / (tokens or 1)
        seats = [
            (record, seat)
            for record in records
            for seat, agent in enumerate(record.agents)
            if agent in self.play.names
        ]
        self.play.tell_pool(records)
        returns = [record.returns[seat] for record, seat in seats]
        mistakes = [record.mistakes[seat] for record, seat in seats]
        return Round(
            self.round + 1,
            0.0,
            len(records),
            tokens,
            sum(one.loss for one in found) / count,
            sum(one.entropy for one in found) / count,
            max((one.ratio for one in found), default=1.0),
            sum(returns) / len(returns),
            sum(mistakes) / len(mistakes),
            truncated=cut if self.plan.tis_cap else None,
            alike=alike if self.plan.dynamic_sampling > 1 else None,
            padding=sum(one.padded for one in found) / (sum(one.read for one in found) or 1),
        )

    def rollouts(self, number: int | None = None) -> list[EpisodeRecord]:
        """The episodes of one round; the same for the same weights, pool, seed and round."""
        return self.play.play_round(self.round if number is None else number)

    def credited(self, records: Sequence[EpisodeRecord]) -> list[SeatTrace]:
        """Traces of the learner's seats, with an advantage on every turn."""
        return credited_traces(records, self.credit, self.play.names, refused=self.plan.refused)

    def evaluate(self) -> list[dict[str, Any]]:
        """Play without learning on held-out seeds; see `evaluation.evaluate`."""

        def judged() -> list[dict[str, Any]]:
            found = self.play.evaluate(self.round)
            apart = exploitability_of(self.learners, self.plan, self.game, self._decisions)
            return [{**one, "exploitability": apart} for one in found]

        return self.processes.led(judged)

    @cached_property
    def _decisions(self) -> list[Decision]:
        return decisions(self.game, self.plan)
