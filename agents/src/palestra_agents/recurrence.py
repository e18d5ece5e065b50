"""Memory of the learners: a gated recurrent unit over steps, and where an agent keeps it in play.

Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
Translation", EMNLP 2014.
"""

from __future__ import annotations

from typing import Any

import torch
from palestra import Turn
from torch import Tensor, nn


class Recurrence(nn.Module):
    """A GRU over the steps of M streams, which begins anew where an episode does."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.hidden, self.cell = hidden, nn.GRUCell(inputs, hidden)

    def forward(
        self,
        inputs: Tensor,
        memory: Tensor,
        fresh: Tensor | None = None,
        acting: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Outputs (T, M, H) of inputs (T, M, I), and the memory (M, H) after the last step.

        memory: (M, H), before the first step.
        fresh: (T, M), where an episode begins, so that nothing before is remembered; None: nowhere.
        acting: (T, M), which steps are remembered; None: all.
        """
        outputs = []
        for t, given in enumerate(inputs):
            if fresh is not None:
                memory = torch.where(fresh[t].unsqueeze(-1), torch.zeros_like(memory), memory)
            after = self.cell(given, memory)
            outputs.append(after)
            memory = (
                after if acting is None else torch.where(acting[t].unsqueeze(-1), after, memory)
            )
        return torch.stack(outputs), memory


class Memories:
    """What an agent remembers, by `Turn.episode_key` and seat.

    A turn that is asked again begins with the memory it had the first time. A fork of an episode
    is another episode, of which nothing is remembered.
    """

    def __init__(self) -> None:
        self._kept: dict[int, dict[int, tuple[int, Any, Any]]] = {}

    def before(self, turn: Turn) -> Any:
        """What was kept after the seat's last turn; None if there was none."""
        step, before, after = self._kept.get(turn.episode_key, {}).get(turn.seat, (-1, None, None))
        return before if step == turn.steps_played else after

    def keep(self, turn: Turn, after: Any) -> None:
        """Keep what is remembered after a turn."""
        seats = self._kept.setdefault(turn.episode_key, {})
        seats[turn.seat] = turn.steps_played, self.before(turn), after

    def forget(self, episode_key: int) -> None:
        """Drop an episode."""
        self._kept.pop(episode_key, None)
