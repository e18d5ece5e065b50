"""Traces as tensors for gradient steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from palestra import InvalidOption
from palestra.records.trace import SeatTrace

OVER_TOKENS = ("ids", "attended", "sampled", "logprobs", "advantages", "turn")


@dataclass(frozen=True)
class TokenBatch:
    """Padded streams: tensors of shape (streams, length), except the last two, of (streams,).

    ids; attended (False for padding); sampled (True for tokens the policy drew); logprobs (of the
    sampled ones when they were drawn); advantages (a token has its turn's); turn (of the stream,
    -1 for padding); seat; version (of the policy, -1 where it is not a number).
    """

    ids: torch.Tensor
    attended: torch.Tensor
    sampled: torch.Tensor
    logprobs: torch.Tensor
    advantages: torch.Tensor
    turn: torch.Tensor
    seat: torch.Tensor
    version: torch.Tensor

    def __len__(self) -> int:
        return int(self.ids.shape[0])

    def to(self, device: torch.device) -> TokenBatch:
        """The same on another device."""
        return TokenBatch(*(getattr(self, part.name).to(device) for part in fields(self)))

    def rows(self, chosen: torch.Tensor) -> TokenBatch:
        """Some of the streams, cut to the longest of them."""
        length = int(self.sizes()[chosen].max())
        over_tokens = {name: getattr(self, name)[chosen, :length] for name in OVER_TOKENS}
        return TokenBatch(**over_tokens, seat=self.seat[chosen], version=self.version[chosen])

    def sizes(self) -> torch.Tensor:
        """The number of tokens of each stream."""
        return self.attended.sum(1)

    def reading(self) -> tuple[int, int]:
        """The tokens that a model reads to score the streams, and how many of them are padding."""
        first, _ = self.distinct()
        attended = self.attended[first, 1:]
        return attended.numel(), attended.numel() - int(attended.sum())

    def distinct(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The first of each set of streams that differ in their last token at most, and the set
        of each stream: what leads to their samples is the same.
        """
        read = torch.where(self.attended[:, 1:], self.ids[:, :-1], -1).cpu().numpy()
        known: dict[bytes, int] = {}
        same = [known.setdefault(ids.tobytes(), len(known)) for ids in read]
        first = {place: row for row, place in reversed(list(enumerate(same)))}
        device = self.ids.device
        return (
            torch.tensor([first[place] for place in range(len(first))], device=device),
            torch.tensor(same, device=device),
        )


def share_of_streams(
    batch: TokenBatch, chosen: torch.Tensor, rank: int, count: int
) -> torch.Tensor:
    """The streams that one of some processes reads; the processes read about as many tokens."""
    if count == 1:
        return chosen
    part = batch.rows(chosen)
    first, same = part.distinct()
    order = part.sizes()[first].argsort(stable=True)
    return chosen[torch.isin(same, order[rank::count])]


def micro_batches(
    batch: TokenBatch, chosen: torch.Tensor, most: int | None
) -> Iterator[torch.Tensor]:
    """The streams of each forward pass: of at most `most` tokens that are read, padding included.

    Streams of like length go together, so that little is padded, and streams that are read once
    stay together. One that is longer than `most` is alone.
    """
    if most is None or not len(chosen):
        yield from [chosen] if len(chosen) else []
        return
    part = batch.rows(chosen)
    first, same = part.distinct()
    sizes, order = part.sizes()[first].sort(stable=True)
    begin = 0
    for end, size in enumerate(sizes.tolist()):
        if end > begin and size * (end + 1 - begin) > most:
            yield chosen[torch.isin(same, order[begin:end])]
            begin = end
    yield chosen[torch.isin(same, order[begin:])]


def token_batch(traces: Sequence[SeatTrace], *, longest: int | None = None) -> TokenBatch:
    """Pad traces into one batch; turns without an advantage raise `InvalidOption`.

    longest: streams of more tokens are refused, by name, rather than cut.
    """
    if not traces:
        raise InvalidOption("there are no traces; play with keep_tokens=true")
    lengths = np.array([len(trace) for trace in traces])
    if longest is not None and lengths.max() > longest:
        trace = traces[int(lengths.argmax())]
        raise InvalidOption(
            f"seat {trace.seat} of episode {trace.number} has {len(trace)} tokens, more than "
            f"{longest}; give the model a longer context or play shorter episodes"
        )
    shape = len(traces), int(lengths.max())
    place = np.arange(shape[1])[None] < lengths[:, None]
    values = np.concatenate([advantages_of(trace) for trace in traces])
    return TokenBatch(
        ids=_pad_parts([t.ids for t in traces], place, np.int64, 0),
        attended=torch.from_numpy(place),
        sampled=_pad_parts([t.sampled for t in traces], place, np.bool_, False),
        logprobs=_pad_parts([t.logprobs for t in traces], place, np.float32, 0.0),
        advantages=_spread(values, place, np.float32),
        turn=_pad_parts([t.turn for t in traces], place, np.int64, -1),
        seat=torch.tensor([t.seat for t in traces]),
        version=torch.tensor([version_of(t) for t in traces]),
    )


def _pad_parts(
    parts: Sequence[Sequence[float]], place: np.ndarray, kind: type, empty: float
) -> torch.Tensor:
    filled: Any = np.full(place.shape, empty, kind)
    filled[place] = np.concatenate([np.asarray(part, kind) for part in parts])
    return torch.from_numpy(filled)


def _spread(values: np.ndarray, place: np.ndarray, kind: type) -> torch.Tensor:
    filled: Any = np.zeros(place.shape, kind)
    filled[place] = values
    return torch.from_numpy(filled)


def advantages_of(trace: SeatTrace) -> np.ndarray:
    """One number per token: its turn's advantage if it was sampled, otherwise 0."""
    spread = np.zeros(len(trace))
    for turn in trace.turns:
        if turn.advantage is None:
            raise InvalidOption(
                f"step {turn.step} of seat {trace.seat} of episode {trace.number} has no "
                "advantage; give one to every turn"
            )
        spread[turn.start : turn.end] = turn.advantage
    return spread


def version_of(trace: SeatTrace) -> int:
    """The oldest policy version in a trace."""
    found = [int(turn.policy) for turn in trace.turns if turn.policy.isdigit()]
    return min(found) if found else -1
