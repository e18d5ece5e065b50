"""One-line defects of real games, each with the check that finds it and what that says.

No check can find these, which are not in the lists; a known answer or a golden transcript may:

* another rule: the winner and the loser exchanged with their pay, everybody's move replaced by
  player_0's, a cost charged to one of two, a share paid to the other side;
* another code: an observation that counts moves from 0 to 2 instead of -1 to 1;
* too many `counters`: how little a decision depends on a field is the author's to say;
* a value of many that is never imagined: 0 of 200 draws is no accident only from a tenth on;
* values that go together in the deal and not in what is imagined, each of them as often as dealt;
* a slice past the end of a mask, which numpy cuts off without a word;
* what was told of the past and is imagined otherwise later, where nobody sees it any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Defect(NamedTuple):
    """A part of a game's file, what is written in its place, and how the kit finds that.

    The part occurs once. `options` are those of the game.
    """

    game: str
    line: str
    made: str
    check: str
    says: str
    options: Mapping[str, Any] = {}
