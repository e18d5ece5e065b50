"""instructRL: Q-learning that prefers what a language model would do under an instruction.

Hu and Sadigh, "Language Instructed Reinforcement Learning for Human-AI Coordination", ICML 2023.
The model is asked for the probability of every legal move, given an instruction and the position;
the move played is the one with the highest Q + weight * log p, also in the learning target. Where
several conventions pay alike, learners of the same instruction reach the one that it names.

Left out: the term of PPO; Hanabi is far too large for the table.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from palestra import Decision, InvalidOption, Meta, Turn, agent

from palestra_adapters.adapter import Adapter, legal_move, rules_of
from palestra_adapters.thinking import Thinking

FLOOR = -7.0  # log-probability of a move that the model all but excludes
Row = NDArray[np.float64]


@agent(
    "instructed",
    kind="llm",
    summary="Q-learning whose choices a language model's reading of an instruction steers.",
    paper="Language Instructed Reinforcement Learning for Human-AI Coordination (2023)",
)
class InstructedAgent(Adapter):
    """Learns a table of values while it plays, one for each of its seats.

    A position is a key of the table with all its words, so that it suits small games whose moves
    can be listed. A model that can weigh listed moves gives log-probabilities; any other is asked
    for one move, which gets all but `doubt` of the probability. Each position is asked about once.
    Use one agent for each seat to learn apart, and `learn=false`, or `explore=0`, to play on.
    """

    def __init__(
        self,
        *,
        instruction: Annotated[str, Meta(description="what the seat should do, in words")] = "",
        weight: Annotated[
            float, Meta(ge=0, description="weight of the model's log-probabilities; 0: Q-learning")
        ] = 0.25,
        fade: Annotated[
            float, Meta(ge=0, le=1, description="factor of the weight after every episode")
        ] = 1.0,
        rate: Annotated[float, Meta(gt=0, le=1, description="learning rate")] = 0.1,
        gamma: Annotated[float, Meta(ge=0, le=1, description="discount of later rewards")] = 1.0,
        explore: Annotated[float, Meta(ge=0, le=1, description="share of random moves")] = 0.1,
        doubt: Annotated[
            float, Meta(gt=0, lt=1, description="probability of moves that were not answered")
        ] = 0.05,
        learn: Annotated[bool, Meta(description="whether the table still changes")] = True,
        **settings: Any,
    ) -> None:
        if weight and not instruction:
            raise InvalidOption(
                "instructed needs an instruction=…; with weight=0 it learns without a model"
            )
        super().__init__(**settings)
        self._instruction, self.weight, self._fade = instruction, weight, fade
        self._rate, self._gamma, self.explore = rate, gamma, explore
        self._doubt, self.learn = doubt, learn
        self.values: dict[tuple[int, str], dict[str, float]] = {}
        self.priors: dict[tuple[int, str], Row] = {}
        self._last = self.by_seat(tuple[Turn, tuple[int, str], str, float])

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        moves = list(turn.legal_texts)
        if not moves:
            raise InvalidOption(
                f"agent 'instructed' chooses among listed moves, and {turn.env} takes free text"
            )
        key = turn.seat, turn.position
        if self._instruction and key not in self.priors:
            self.priors[key] = yield from self._prior(turn, moves, advice)
        prior = self.priors.get(key, np.zeros(len(moves)))
        values = self.values.setdefault(key, dict.fromkeys(moves, 0.0))
        best = self.choose(values, moves, prior)
        self._learn_from(turn, values[best])
        move = self.rng.choice(moves) if self.rng.random() < self.explore else best
        self._last[turn.episode_key, turn.seat] = turn, key, move, float(turn.returns)
        found = np.exp(prior)
        strategy = dict(zip(moves, (found / found.sum()).tolist(), strict=True))
        return Decision(text=move, facts={"value": values[move], "strategy": strategy})

    def choose(self, values: dict[str, float], moves: list[str], prior: Row) -> str:
        """The move with the highest value plus weighted log-probability; ties by lot."""
        scores = np.array([values[move] for move in moves]) + self.weight * prior
        best = np.flatnonzero(scores >= scores.max() - 1e-12)
        return moves[int(self.rng.choice(best.tolist()))]

    def _prior(self, turn: Turn, moves: list[str], advice: str) -> Thinking[Row]:
        """Log-probabilities of the moves under the instruction, at least `FLOOR`."""
        rules = rules_of(turn, advice, self._instruction)
        messages = self.single(rules, turn.position, answer="Answer with your move only.")
        if "score" in self.models[0].abilities:
            replies = self.style.reply
            (reply,) = yield [self.ask(messages, score=tuple(map(replies, moves)))]
            logs = np.array([score.logprob for score in reply.scores])
        else:
            (reply,) = yield [self.move(turn, messages)]
            said = legal_move(turn, reply.text)
            rest = self._doubt / max(1, len(moves) - 1)
            chances = [1 - self._doubt if move == said else rest for move in moves]
            logs = np.log(chances) if said in moves else np.zeros(len(moves))
        logs = logs - np.logaddexp.reduce(logs)
        return np.maximum(logs, FLOOR)

    def _learn_from(self, turn: Turn, later: float) -> None:
        """Learn from the seat's last move in this episode, now that the next position is known."""
        kept = self._last.pop((turn.episode_key, turn.seat), None)
        if kept is not None:
            before, key, move, returns = kept
            if not turn.error:
                self._update(key, move, float(turn.returns) - returns + self._gamma * later)

    def _update(self, key: tuple[int, str], move: str, goal: float) -> None:
        if self.learn:
            row = self.values[key]
            row[move] += self._rate * (goal - row[move])

    def forget(self, episode_key: int) -> None:
        ended = self._last.end(episode_key)
        for turn, key, move, returns in ended:
            self._update(key, move, float(turn.returns) - returns)
        if ended and self.learn:
            self.weight *= self._fade
        super().forget(episode_key)
