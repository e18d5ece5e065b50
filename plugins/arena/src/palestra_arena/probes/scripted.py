"""Respondents whose behaviour is known, to check evaluations and as baselines."""

from __future__ import annotations

from collections.abc import Callable

from palestra import Decision, InvalidOption, ScriptedAgent, Turn
from palestra.kernel.rng import Rng

from palestra_arena.probes.asking import ProbeGame
from palestra_arena.probes.items import Question

Replying = Callable[[Question, Rng, str], int | str | None]


class Respondent(ScriptedAgent):
    """Answers questions by a function of the question, a generator and the system prompt.

    The function returns the option it chooses (its number in the item, whatever the order), a text
    that is read as a model's reply would be, or None, which refuses to answer.
    """

    def __init__(self, answer: Replying, name: str = "respondent", seed: int | None = None) -> None:
        super().__init__(seed=seed)
        self._answer, self.name = answer, name

    def choose(self, turn: Turn) -> Decision:
        if not isinstance(turn.game, ProbeGame):
            raise InvalidOption(f"agent {self.name!r} answers probes and plays no {turn.env}")
        question = turn.game.questions[int(turn.observation[0])]
        said = self._answer(question, self.rng, turn.game.system)
        if isinstance(said, int):
            return Decision(question.order.index(said))
        return Decision(text="I would rather not say." if said is None else said)
