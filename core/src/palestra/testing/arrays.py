"""Checks that rules of array games stay inside their arrays and the numbers these hold."""

from __future__ import annotations

import numpy as np

from palestra.engine.checked import NoRoom, checked_game
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.rng import Rng
from palestra.testing.subject import Skipped, Subject, play_on

LENGTHS = (300, 60, 60)  # steps that are played of each seed


def rules_stay_in_arrays(subject: Subject) -> None:
    """Rules compute no index below 0 or beyond the end, and store no number that does not fit."""
    game = subject.game
    if not isinstance(game, ArrayGame):
        raise Skipped("not an ArrayGame")
    checked = Subject(subject.spec, subject.options)
    checked.__dict__["game"] = game = checked_game(game)
    for seed, steps in enumerate(LENGTHS):
        try:
            with np.errstate(over="raise"):
                episode = checked.episode(seed)
                for _ in play_on(episode, Rng(seed), steps):
                    for seat in episode.to_act if game.has_script else ():
                        game.scripted(episode.state, seat)
        except FloatingPointError as error:
            raise NoRoom(
                f"{error}: an element has the type of its array; write int(…) round it"
            ).with_traceback(error.__traceback__) from None
