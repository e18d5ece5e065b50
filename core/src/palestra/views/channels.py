"""The parts of an observation by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palestra.kernel.array_game import ArrayGame, Channel
from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import Game


def read_channels(
    game: ArrayGame[Any], observation: NDArray[Any], seat: int = 0
) -> dict[str, NDArray[Any]]:
    """Split a seat's observation into the channels that `game.observation_channels` lists.

    game: the rules. seat: whose observation it is, from 0.
    observation: of one seat, of the shape `game.observation_shape`, or a batch of them with any
        number of axes before it.

    Returns the parts by name: views of the observation, with the axis of channels where it was.
    Raises `InvalidOption` if the game lists no channels, or if the shape differs.
    """
    channels, shape = game.observation_channels(seat), tuple(game.observation_shape)
    if not channels:
        raise InvalidOption(f"{type(game).__name__} lists no channels of its observations")
    if observation.shape[observation.ndim - len(shape) :] != shape:
        raise InvalidOption(
            f"an observation of {type(game).__name__} ends with the axes {shape}, "
            f"not {observation.shape}"
        )
    ends = list(accumulate(channel.size for channel in channels))
    axis = game.channel_axis % len(shape) - len(shape)
    parts = np.split(observation, ends[:-1], axis=axis)
    return {channel.name: part for channel, part in zip(channels, parts, strict=True)}


def layouts(game: Game[Any, Any]) -> dict[str, tuple[Channel, ...]]:
    """The channels that a game lists, by the names of the players who share them."""
    found: dict[tuple[Channel, ...], list[str]] = {}
    for seat in range(game.num_players):
        listed = game.observation_channels(seat) if isinstance(game, ArrayGame) else ()
        if channels := tuple(listed):
            found.setdefault(channels, []).append(game.players[seat])
    owners = ["every player"] if len(found) == 1 else [", ".join(names) for names in found.values()]
    return dict(zip(owners, found, strict=True))


def entries(channels: Sequence[Channel]) -> Iterator[tuple[str, Channel]]:
    """The channels that have any entries, each with the numbers of its first and last."""
    at = 0
    for channel in channels:
        if channel.size:
            yield (str(at) if channel.size == 1 else f"{at}-{at + channel.size - 1}"), channel
        at += channel.size
