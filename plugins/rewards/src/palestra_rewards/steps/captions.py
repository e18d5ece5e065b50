"""ONI: captions of what happened, labelled by a model in the background, as a step reward."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from palestra import InvalidOption, Meta, Rng, Transition, reward
from palestra.files import UNREADABLE, is_file, write_text

from palestra_rewards.judges.scale import Scale, grade, prefer
from palestra_rewards.judges.service import Judge
from palestra_rewards.learnt.networks import (
    Seed,
    descend,
    hashed_words,
    network,
    predict_rows,
    tensor,
    torch_module,
)
from palestra_rewards.options import Weight

Labels = dict[str, float]
Pairs = list[tuple[str, str, float]]  # a caption, another, P(the first is better)
FEATURES = 512  # columns that words of captions are hashed to
WHERE = """
    north south east west northeast northwest southeast southwest left right up down above below
    row rows column columns cell cells and zero one two three four five six seven eight nine ten
"""
PLACES = frozenset(WHERE.split())  # words for positions, which captions leave out
_PHRASE = re.compile(r"(?<=[.;!?])\s+|\n")
_TOKEN = re.compile(r"[^\W_][\w'-]*")
_LABELLED = re.compile(r"([^\W\d][^:\d]{0,40}): (-?\d{1,9}(?:\.\d+)?)\b")


def difference(before: str, after: str) -> str:
    """What has changed between two descriptions, in words; empty if nothing has.

    Numbers and words for places are left out, so that the same event has the same caption
    wherever it happens: a thing that was eaten is "no longer", however far away it was. A changed
    number after a label, as in "Gold: 4", becomes "more" or "less". Lines of drawing, such as rows
    of a board, count only if a description has nothing else.
    """
    old, new = (Counter(_phrases(text)) for text in (before, after))
    found = [f"now {phrase}" for phrase in (new - old)]
    found += [f"no longer {phrase}" for phrase in (old - new)]
    had, has = (dict(_LABELLED.findall(text)) for text in (before, after))
    for label in had.keys() & has.keys():
        was, now = float(had[label]), float(has[label])
        if was != now:
            found.append(f"{label.strip()}: {'more' if now > was else 'less'}")
    return "; ".join(sorted(found))


def _phrases(text: str) -> list[str]:
    """The phrases of a description without numbers and places; its lines if it has no phrases."""
    lines = [phrase.strip() for phrase in _PHRASE.split(text) if phrase.strip()]
    said = [phrase for phrase in map(_said, lines) if phrase]
    return said or lines


def _said(phrase: str) -> str:
    words = [word for word in _TOKEN.findall(phrase) if word.lower() not in PLACES]
    words = [word for word in words if not word[0].isdigit()]
    telling = " " in phrase and any(len(word) > 2 and word.isalpha() for word in words)
    return " ".join(words) if telling else ""


class CaptionModel:
    """Scores captions with a network over hashed words, learnt from labels of some of them.

    `fit` takes labels from 0 to 1 (a classifier) or pairs (a Bradley-Terry ranking). The same
    labels give the same model. Raises `MissingExtra` without torch.
    """

    def __init__(self, *, hidden: int = 0, steps: int = 300, rate: float = 0.1, seed: int = 0):
        self.steps, self.rate = steps, rate
        self.net = network(FEATURES, 1, hidden=hidden, seed=seed)
        self.ranks = False
        self.centre, self.spread = 0.0, 1.0
        self._worth: dict[str, float] = {}

    def fit(self, labels: Mapping[str, float] | Sequence[tuple[str, str, float]]) -> CaptionModel:
        if isinstance(labels, Mapping):
            rows = tensor(hashed_words(labels, FEATURES))
            self._descend(lambda: self.net(rows)[:, 0], list(labels.values()))
            return self
        first, second, chances = (list(column) for column in zip(*labels, strict=True))
        one, other = (tensor(hashed_words(texts, FEATURES)) for texts in (first, second))
        self._descend(lambda: (self.net(one) - self.net(other))[:, 0], chances)
        known = self.scores(dict.fromkeys([*first, *second]))
        self.ranks = True
        self.centre, self.spread = float(known.mean()), float(known.std()) or 1.0
        return self

    def _descend(self, odds: Any, chances: Sequence[float]) -> None:
        self._worth.clear()
        wanted, torch = tensor(chances), torch_module()
        lossy = torch.nn.functional.binary_cross_entropy_with_logits
        descend([self.net], lambda _: lossy(odds(), wanted), steps=self.steps, rate=self.rate)

    def scores(self, captions: Iterable[str]) -> np.ndarray:
        """The network's outputs, shape (captions,): log-odds of a label, or ranking strength."""
        return predict_rows(self.net, hashed_words(captions, FEATURES))[:, 0]

    def worth(self, caption: str) -> float:
        """For a classifier, 1 if the caption is probably useful, else 0; for a ranking, strength.

        A ranking's strengths are standardised over the captions it was fitted to; those below the
        mean become 0.
        """
        if caption not in self._worth:
            score = float(self.scores([caption])[0])
            above = max(0.0, (score - self.centre) / self.spread)
            self._worth[caption] = above if self.ranks else float(score > 0)
        return self._worth[caption]


@reward(
    "captions",
    shape="step",
    needs=("labels",),
    paper=(
        "Zheng et al. (2024), Online Intrinsic Rewards for Decision Making Agents from "
        "Large Language Model Feedback"
    ),
    check="test_captions_pay_by_labels_that_existed_at_the_start",
    cost="linear in steps",
)
class CaptionReward:
    """Pays a model's label of the step's caption, once there is one.

    Pays `weight * worth / sqrt(times the caption came up in this play-through)`.

    A caption says in words what a step changed in the text of `game.describe` for the player; with
    `caption="state"` it is the whole text. `labels` is a mapping from captions to labels from 0 to
    1, or a JSON file of one, that a labeller fills while agents play (`label_captions`); for a
    ranking it is a list of [caption, other, chance that the first is better] (`rank_captions`).
    Each play-through reads it once at its start and never waits. `variant` is ONI's: "lookup" pays
    the label of a caption, and 0 if it has none; "classifier" and "ranking" are networks over the
    words of captions that also pay unlabelled captions, and are refitted whenever there are new
    labels. Captions without a label are collected in `unlabelled` for the labeller. Zheng et al.,
    "Online Intrinsic Rewards for Decision Making Agents from Large Language Model Feedback" (2024);
    their models read captions with a recurrent network.
    """

    def __init__(
        self,
        *,
        labels: Annotated[
            str | Mapping[str, float] | Sequence[Any],
            Meta(description="captions and their labels from 0 to 1, or a JSON file of them"),
        ],
        weight: Weight = 0.4,
        variant: Annotated[
            Literal["lookup", "classifier", "ranking"],
            Meta(description="how labels of some captions become rewards for all"),
        ] = "lookup",
        caption: Annotated[
            Literal["difference", "state"],
            Meta(description="whether a caption says what has changed, or the whole state"),
        ] = "difference",
        seed: Seed = 0,
    ) -> None:
        self.labels, self.weight, self.variant, self.seed = labels, weight, variant, seed
        self.caption = caption
        self.known = _read(labels, variant)
        self.labelled = _captions(self.known)
        self.model: CaptionModel | None = None
        self.fitted_to: Labels | Pairs | None = None
        self.unlabelled: set[str] = set()
        self.times: dict[tuple[int, str], int] = {}

    def begin(self) -> CaptionReward:
        twin = self._twin()
        twin.known = _read(self.labels, self.variant)
        twin.labelled = _captions(twin.known)
        if self.variant != "lookup" and twin.known and twin.known != self.fitted_to:
            self.model = CaptionModel(seed=self.seed).fit(twin.known)
            self.fitted_to = twin.known
        twin.model, twin.fitted_to = self.model, self.fitted_to
        return twin

    def copy(self) -> CaptionReward:
        twin = self._twin()
        twin.times = dict(self.times)
        return twin

    def _twin(self) -> CaptionReward:
        twin: CaptionReward = CaptionReward.__new__(CaptionReward)
        twin.__dict__.update(self.__dict__)
        twin.times = {}
        return twin

    def __call__(self, step: Transition) -> dict[str, float]:
        after = step.game.describe(step.after, step.seat)
        if self.caption == "state":
            return {"caption": self.bonus(step.seat, after)}
        before = step.game.describe(step.before, step.seat)
        return {"caption": self.bonus(step.seat, difference(before, after))}

    def bonus(self, seat: int, caption: str) -> float:
        if not caption:
            return 0.0
        if caption not in self.labelled:
            self.unlabelled.add(caption)
        worth = self._worth(caption)
        if worth is None:
            return 0.0
        seen = self.times[seat, caption] = self.times.get((seat, caption), 0) + 1
        return self.weight * worth / float(seen**0.5)

    def _worth(self, caption: str) -> float | None:
        """What a caption is worth; None if that is not known."""
        if self.variant == "lookup":
            assert isinstance(self.known, dict)
            return self.known.get(caption)
        return None if self.model is None else self.model.worth(caption)


def label_captions(
    judge: Judge, task: str, captions: Iterable[str], labels: str | Path
) -> dict[str, float]:
    """Add a judge's labels of new captions to the file that `captions` shapers read; returns all.

    A caption's label is 1 if what it describes helps the task, else 0, as in ONI's "classify". The
    file is replaced atomically, so that a shaper that starts meanwhile reads the old one.
    """
    path = Path(labels)
    known = _read(str(path), "lookup")
    assert isinstance(known, dict)
    fresh = sorted(set(captions) - set(known))
    found = grade(judge, Scale(f"Does this help to {task}?", ("no", "yes")), fresh)
    known |= {caption: one.score for caption, one in zip(fresh, found, strict=True)}
    write_text(path, json.dumps(known, indent=1))
    return known


def rank_captions(
    judge: Judge, task: str, captions: Iterable[str], pairs: str | Path, *, n: int, rng: Rng
) -> Pairs:
    """Add a judge's verdicts on n random pairs of captions to a ranking's file; returns all pairs.

    Each pair is shown in both orders.
    """
    path, drawn = Path(pairs), sorted(set(captions))
    known = _read(str(path), "ranking")
    assert isinstance(known, list)
    if len(drawn) < 2:
        return known
    chosen = []
    for _ in range(n):
        first = rng.below(len(drawn))
        second = (first + 1 + rng.below(len(drawn) - 1)) % len(drawn)
        chosen.append((drawn[first], drawn[second]))
    chances = prefer(judge, f"Which helps more to {task}?", chosen)
    known += [(a, b, chance) for (a, b), chance in zip(chosen, chances, strict=True)]
    write_text(path, json.dumps(known, indent=1))
    return known


def _captions(known: Labels | Pairs) -> set[str]:
    if isinstance(known, dict):
        return set(known)
    return {caption for first, second, _ in known for caption in (first, second)}


def _read(labels: str | Mapping[str, float] | Sequence[Any], variant: str) -> Labels | Pairs:
    found: Any = labels
    ranking = variant == "ranking"
    if isinstance(labels, str):
        path = Path(labels)
        text = path.read_text("utf-8") if is_file(path) else "[]" if ranking else "{}"
        try:
            found = json.loads(text)
        except UNREADABLE as error:
            raise InvalidOption(f"{path} is not a file of labels: {error}") from error
    if ranking:
        return _pairs(found)
    try:
        read = {str(caption): float(label) for caption, label in found.items()}
    except UNREADABLE:
        read = {"": -1.0}
    if not all(0 <= label <= 1 for label in read.values()):
        raise InvalidOption("labels must be a mapping from caption to a number from 0 to 1")
    return read


def _pairs(found: Any) -> Pairs:
    try:
        pairs = [(str(first), str(second), float(chance)) for first, second, chance in found]
    except UNREADABLE:
        pairs = [("", "", -1.0)]
    if not all(0 <= chance <= 1 for _, _, chance in pairs):
        raise InvalidOption(
            "labels of a ranking must be a list of [caption, other, chance from 0 to 1 that the "
            "first is better]"
        )
    return pairs
