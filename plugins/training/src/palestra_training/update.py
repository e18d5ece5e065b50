"""The gradient steps of one policy on the tokens of a round."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch

from palestra_training.batch import TokenBatch, micro_batches, share_of_streams
from palestra_training.checkpoint import Weights
from palestra_training.learner import Learner
from palestra_training.losses import StepSize, chosen_logprobs, policy_loss, truncated_weights
from palestra_training.plan import TrainPlan
from palestra_training.processes import ALONE, Processes
from palestra_training.stopping import LARGEST_WEIGHT, check_quantity


class Learned(NamedTuple):
    """Sampled tokens, those whose weight was cut, mean loss and entropy, and the largest ratio.

    read, padded: tokens of all forward passes of the gradient steps, and those that were padding.
    """

    tokens: int
    truncated: int
    loss: float
    entropy: float
    ratio: float
    read: int
    padded: int


class Step(NamedTuple):
    """A gradient step, or its part in one forward pass; see `Learned`."""

    loss: float
    entropy: float
    ratio: float
    read: int
    padded: int

    @classmethod
    def of(cls, parts: Sequence[Step]) -> Step:
        """The step whose parts add up to it."""
        loss, entropy, ratio, read, padded = zip(*parts, strict=True)
        return cls(sum(loss), sum(entropy), max(ratio), sum(read), sum(padded))


NOTHING = Step(0.0, 0.0, 1.0, 0, 0)


class Sampled(NamedTuple):
    """Log-probabilities of a round's tokens before its first step, (streams, length - 1).

    old: those that ratios are to. weights: of each token, to correct for the engine; none for no
    correction. anchor: under the initial policy, if `beta` needs them.
    """

    old: torch.Tensor
    weights: torch.Tensor | None = None
    anchor: torch.Tensor | None = None

    def rows(self, chosen: torch.Tensor, length: int) -> Sampled:
        """Those of some streams, cut to a length."""
        old, *others = self
        cut = [None if one is None else one[chosen, :length] for one in others]
        return Sampled(old[chosen, :length], *cut)


class Update:
    """Learns with one policy by AdamW; reference: its initial weights, if `beta` needs them."""

    def __init__(self, plan: TrainPlan, learner: Learner, processes: Processes = ALONE) -> None:
        self.plan, self.learner, self.processes = plan, learner, processes
        self.reference: Weights | None = None
        self.optimiser = torch.optim.AdamW(
            learner.trained().values(), lr=plan.learning_rate, betas=(0.9, 0.95), weight_decay=0
        )

    def learn(self, batch: TokenBatch, number: int) -> Learned:
        """Gradient steps on the tokens of a round, which is counted from 0."""
        plan = self.plan
        order = torch.Generator().manual_seed(plan.seed + 104_729 * number)
        left = 1 - number / plan.rounds if plan.decay else 1.0
        for group in self.optimiser.param_groups:
            group["lr"] = plan.learning_rate * left
        sampled, truncated = self._sampled(batch)
        steps = list[Step]()
        for _ in range(plan.epochs):
            for chosen in _minibatches(batch, plan.minibatch, order):
                where = f"update {len(steps) + 1} of {self.learner.name} in round {number + 1}"
                steps.append(self._step(batch, chosen, sampled, where=where))
        total = Step.of(steps)
        return Learned(
            int(batch.sampled.sum()),
            truncated,
            total.loss / len(steps),
            total.entropy / len(steps),
            max(1.0, total.ratio),
            total.read,
            total.padded,
        )

    def _sampled(self, batch: TokenBatch) -> tuple[Sampled, int]:
        """What the steps of a round compare with, and the number of tokens whose weight was cut."""
        engine, anchor = batch.logprobs[:, 1:], self.reference_logprobs(batch)
        if self.plan.tis_cap is None:
            return Sampled(engine, anchor=anchor), 0
        trained = self._all_logprobs(self.learner, batch)
        weights, cut = truncated_weights(trained, engine, self.plan.tis_cap)
        return Sampled(trained, weights, anchor), int((cut & batch.sampled[:, 1:]).sum())

    def _step(
        self, batch: TokenBatch, chosen: torch.Tensor, sampled: Sampled, *, where: str
    ) -> Step:
        """One gradient step on some streams.

        The gradients of its micro-batches are added up, over all processes. Raises
        `TrainingStopped` where loss, ratio, gradient or a weight leaves all bounds.
        """
        size = StepSize(len(chosen), int(batch.sampled[chosen].sum()))
        usual = len(chosen) / len(batch) * float(batch.sampled.sum())
        self.optimiser.zero_grad()
        parts = [NOTHING]
        for rows in self._passes(batch, chosen):
            part = batch.rows(rows)
            old = sampled.rows(rows, part.ids.shape[1] - 1)
            parts.append(self._accumulate(part, old, size, usual=usual))
        step = Step.of([part for each in self.processes.gather(parts) for part in each])
        check_quantity("largest probability ratio", step.ratio, where)
        check_quantity("loss", step.loss, where)
        self._descend(where)
        return step

    def _passes(self, batch: TokenBatch, chosen: torch.Tensor) -> Iterator[torch.Tensor]:
        """The streams of each forward pass of this process over some streams."""
        own = share_of_streams(batch, chosen, self.processes.rank, self.processes.count)
        return micro_batches(batch, own, self.plan.micro_batch_tokens)

    def _accumulate(
        self, part: TokenBatch, sampled: Sampled, size: StepSize, *, usual: float
    ) -> Step:
        """Add the gradient of one forward pass to the step's."""
        found, entropy = logprobs_of(self.learner, part, self.plan.temperature)
        marks = part.sampled[:, 1:]
        loss = self._loss(found, part, sampled, tokens_in_step=usual)
        loss = loss * size.share(marks, self.plan.average)
        spread = (entropy * marks).sum() / max(1, size.tokens)
        loss = loss - self.plan.entropy * spread
        apart = torch.where(marks, found.detach() - part.logprobs[:, 1:], 0.0).abs()
        ratio = float(apart.max().exp())
        loss.backward()  # type: ignore[no-untyped-call]
        return Step(float(loss.detach()), float(spread.detach()), ratio, *part.reading())

    def _loss(
        self, found: torch.Tensor, part: TokenBatch, sampled: Sampled, *, tokens_in_step: float
    ) -> torch.Tensor:
        plan = self.plan
        one_turn = plan.history != "conversation"
        return policy_loss(
            found,
            sampled.old,
            part.advantages[:, 1:],
            part.sampled[:, 1:],
            average=plan.average,
            clip=plan.clip,
            clip_high=plan.clip_high,
            reference=sampled.anchor,
            beta=plan.beta,
            tokens_in_step=tokens_in_step,
            most_tokens=plan.max_tokens if one_turn else self.learner.context,
            weights=sampled.weights,
        )

    def _descend(self, where: str) -> None:
        """One step of the optimiser along the gradient that was added up."""
        learned = list(self.learner.trained().values())
        self.processes.add_up(_gradients(learned))
        norm = torch.nn.utils.clip_grad_norm_(learned, self.plan.grad_norm)
        check_quantity("norm of the gradient", float(norm), where)
        self.optimiser.step()
        with torch.no_grad():
            largest = float(torch.nn.utils.get_total_norm(learned, math.inf))
        check_quantity("largest weight", largest, where, most=LARGEST_WEIGHT)

    def reference_logprobs(self, batch: TokenBatch) -> torch.Tensor | None:
        """Log-probabilities under the initial policy, if beta needs them."""
        if self.reference is None:
            return None
        initial = self.learner.copy(self.reference, "reference")
        initial.held = self.learner.held
        return self._all_logprobs(initial, batch)

    def _all_logprobs(self, learner: Learner, batch: TokenBatch) -> torch.Tensor:
        """Log-probabilities of a whole round without gradients, a micro-batch at a time."""
        found = torch.zeros(batch.ids[:, 1:].shape, device=batch.ids.device)
        every = torch.arange(len(batch), device=batch.ids.device)
        with torch.no_grad():
            for chosen in torch.split(every, self.plan.minibatch):
                for rows in self._passes(batch, chosen):
                    here = logprobs_of(learner, batch.rows(rows), self.plan.temperature)[0]
                    found[rows, : here.shape[1]] = here
        self.processes.add_up([found])
        return found


def _gradients(learned: Sequence[torch.nn.Parameter]) -> Iterator[torch.Tensor]:
    """The gradient of each weight; 0 where this process had no stream to read."""
    for weight in learned:
        if weight.grad is None:
            weight.grad = torch.zeros_like(weight)
        yield weight.grad


def logprobs_of(
    learner: Learner, part: TokenBatch, temperature: float
) -> tuple[torch.Tensor, torch.Tensor]:
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
            use_cache=False,
        ).logits
    drawn = part.ids[:, places + 1]
    allowed = _allowed_words(learner.held, part, places, logits.shape, same)
    found = chosen_logprobs(logits, drawn, temperature, allowed, same)
    shape = len(part), part.ids.shape[1] - 1
    logprobs, entropy = (
        torch.zeros(shape, device=part.ids.device).index_copy(1, places, values) for values in found
    )
    return logprobs, entropy


def _allowed_words(
    held: Mapping[tuple[int, ...], list[int]],
    part: TokenBatch,
    places: torch.Tensor,
    shape: torch.Size,
    same: torch.Tensor,
) -> torch.Tensor | None:
    """The words that the samples at some places were drawn from, if choices held them.

    shape: of the logits. same: the row of logits of each stream; what leads to the samples of
    streams of one row is alike, and so are the words.
    """
    if not held:
        return None
    allowed = torch.ones(shape, dtype=torch.bool)
    rows = same.tolist()
    sampled = part.sampled[:, places + 1].nonzero().tolist()
    ids = part.ids.tolist()
    for row, column in sampled:
        could = held.get(tuple(ids[row][: int(places[column]) + 1]))
        if could is not None:
            allowed[rows[row], column] = False
            allowed[rows[row], column, could] = True
    return allowed.to(part.ids.device)


def _minibatches(batch: TokenBatch, size: int, order: torch.Generator) -> Iterator[torch.Tensor]:
    """The streams of each gradient step: those of `size` distinct ones, which are read once."""
    first, same = batch.distinct()
    for chosen in torch.split(torch.randperm(len(first), generator=order), size):
        yield torch.isin(same, chosen.to(same.device)).nonzero()[:, 0]
