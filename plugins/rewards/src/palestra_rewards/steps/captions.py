"""ONI: captions of what happened, labelled by a model in its own time, paid by look-up."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from palestra import InvalidOption, Meta, Transition, reward
from palestra.files import write_text

from palestra_rewards.judges.scale import Scale, grade
from palestra_rewards.judges.service import Judge
from palestra_rewards.options import Weight


@reward(
    "captions",
    shape="step",
    needs=("labels",),
    paper="Zheng et al. (2024), Online Intrinsic Rewards from LLM Feedback",
    check="test_captions_pay_by_labels_that_existed_at_the_start",
    cost="a step's own",
)
class CaptionReward:
    """Pays what a model thinks of the caption of a step, once it has said so.

    Pays `weight * label / sqrt(times the caption came up in this play-through)`.

    A caption is what `game.describe` tells the player after the step. `labels` is a JSON file of
    captions and labels from 0 to 1, or such a mapping, that a labeller fills while agents play:
    each play-through reads it once at its start and never waits; captions without a label pay 0
    and are kept in `unlabelled` for the labeller. Zheng et al., "Online Intrinsic Rewards for
    Decision Making Agents from Large Language Model Feedback" (2024).
    """

    def __init__(
        self,
        *,
        labels: Annotated[
            str | Mapping[str, float],
            Meta(description="captions and their labels from 0 to 1, or a JSON file of them"),
        ],
        weight: Weight = 0.4,
    ) -> None:
        self.labels, self.weight = labels, weight
        self.known = _read(labels)
        self.unlabelled: set[str] = set()
        self.times: dict[tuple[int, str], int] = {}

    def begin(self) -> CaptionReward:
        twin = CaptionReward(labels=self.labels, weight=self.weight)
        twin.unlabelled = self.unlabelled
        return twin

    def copy(self) -> CaptionReward:
        twin = self.begin()
        twin.known, twin.times = self.known, dict(self.times)
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        return {"caption": self.bonus(step.seat, step.game.describe(step.after, step.seat))}

    def bonus(self, seat: int, caption: str) -> float:
        if caption not in self.known:
            self.unlabelled.add(caption)
            return 0.0
        seen = self.times[seat, caption] = self.times.get((seat, caption), 0) + 1
        return self.weight * self.known[caption] / float(seen**0.5)


def label_captions(
    judge: Judge, task: str, captions: Iterable[str], labels: str | Path
) -> dict[str, float]:
    """Add a judge's labels of new captions to the file that `captions` shapers read; returns all.

    A caption is 1 where what it tells helps the task and 0 where it does not, as ONI's "classify"
    has it. The file is replaced whole, so that a shaper that begins meanwhile reads the old one.
    """
    path = Path(labels)
    known = _read(str(path))
    fresh = sorted(set(captions) - set(known))
    found = grade(judge, Scale(f"Does this help to {task}?", ("no", "yes")), fresh)
    known |= {caption: one.score for caption, one in zip(fresh, found, strict=True)}
    write_text(path, json.dumps(known, indent=1))
    return known


def _read(labels: str | Mapping[str, float]) -> dict[str, float]:
    found: Any = labels
    if isinstance(labels, str):
        path = Path(labels)
        found = json.loads(path.read_text("utf-8")) if path.exists() else {}
    if not isinstance(found, Mapping) or not all(0 <= float(v) <= 1 for v in found.values()):
        raise InvalidOption("labels are a mapping from caption to a number from 0 to 1")
    return {str(caption): float(label) for caption, label in found.items()}
