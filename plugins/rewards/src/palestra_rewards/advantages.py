"""The result of an estimator: one number per turn, and its conversion to tokens and tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from palestra import InvalidOption, MissingExtra

from palestra_rewards.arrays import Floats, Ints
from palestra_rewards.group import Group


@dataclass(frozen=True)
class Advantages:
    """Advantages of the turns of `group`: `values` is in its order and has shape (turns,)."""

    values: Floats
    group: Group
    name: str = ""

    def __len__(self) -> int:
        return self.values.size

    def per_episode(self) -> list[Floats]:
        """One array of turns per episode, in playing order."""
        return _split(self.values, self.group.episode, self.group.episodes)

    def per_line(self) -> list[Floats]:
        """One array of turns per seat of an episode, ordered by episode and seat."""
        return _split(self.values, self.group.line, self.group.lines)

    def tokens(self, mask: Any) -> Floats:
        """Every sampled token gets its turn's advantage; the others get 0.

        `mask` has shape (lines, length), one row for each seat of each episode, and marks the
        tokens that the policy sampled for the answers that were played. How many of them belong to
        each turn comes from the group's `tokens`, or from its `answer_tokens` if refused answers
        took tokens too. Without either, each unbroken run of the mask is one turn.
        """
        chosen = np.asarray(mask).astype(bool)
        if chosen.ndim != 2 or chosen.shape[0] != self.group.lines:
            raise InvalidOption(
                f"a token mask needs one row per line, shape ({self.group.lines}, length), not "
                f"{chosen.shape}"
            )
        spread = np.zeros(chosen.shape)
        spread[chosen] = self.values[self._owners(chosen)]
        return spread

    def _owners(self, chosen: Any) -> Ints:
        """The turn of every sampled token, row by row."""
        order = np.argsort(self.group.line, kind="stable")
        sampled = self.group.tokens
        if self.group.answer_tokens is not None:
            sampled = self.group.answer_tokens
        if sampled is not None:
            counts, unit = sampled[order], "sampled tokens"
            have = chosen.sum(axis=1)
        else:
            starts = chosen & ~np.pad(chosen, ((0, 0), (1, 0)))[:, :-1]
            counts, unit, have = None, "runs of sampled tokens", starts.sum(axis=1)
        each = np.ones(order.size) if counts is None else counts.astype(np.float64)
        want = np.bincount(self.group.line[order], each, minlength=self.group.lines)
        wrong = np.flatnonzero(have != want)
        if wrong.size:
            row = int(wrong[0])
            raise InvalidOption(
                f"row {row} of the token mask has {have[row]} {unit}; the turns of that line "
                f"need {int(want[row])}"
            )
        if counts is not None:
            return np.repeat(order, counts)
        return order[np.cumsum(starts[chosen]) - 1]

    def to_torch(self, mask: Any = None) -> Any:
        """A float32 tensor over turns, or over tokens if a mask is given, on the mask's device."""
        try:
            import torch
        except ImportError as error:
            raise MissingExtra("torch", "palestra-rewards[torch]") from error
        if mask is None:
            return torch.as_tensor(self.values, dtype=torch.float32)
        held = mask if isinstance(mask, torch.Tensor) else torch.as_tensor(np.asarray(mask))
        spread = self.tokens(held.detach().cpu().numpy())
        return torch.as_tensor(spread, dtype=torch.float32, device=held.device)


def _split(values: Floats, ids: Ints, parts: int) -> list[Floats]:
    order = np.argsort(ids, kind="stable")
    ends = np.cumsum(np.bincount(ids, minlength=parts))[:-1]
    return np.split(values[order], ends)
