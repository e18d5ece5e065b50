"""What an audit finds."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["tampering", "reward", "illegal", "divergence", "repetition"]


class Finding(msgspec.Struct, frozen=True):
    """One reason not to trust a game.

    `kind` is "tampering" (the state changed where nobody moved), "reward" (pay that no move earned,
    or a result that the rules do not give), "illegal" (a move that was not among the legal ones),
    "divergence" (the record does not replay) or "repetition" (an answer said word for word in
    another game, to another position). `agent` is the one that gains or moves; "" where the
    evidence names nobody.
    """

    kind: Kind
    agent: str
    env: str
    seed: int
    turn: int
    why: str
