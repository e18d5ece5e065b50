"""Built-in agents: random, first legal, a game's own script; and the base class of scripts."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Generic, get_args, get_origin

from palestra.agents.agent import Agent, Decision, GameT, Turn
from palestra.catalogue.declare import agent
from palestra.kernel.errors import InvalidOption
from palestra.kernel.game import Game
from palestra.kernel.rng import Rng, check_seed


class ScriptedAgent(Agent, Generic[GameT]):
    """An agent that decides one turn at a time: a subclass writes `choose`.

    `ScriptedAgent[Chess]` and `ScriptedAgent[Chess | Othello]` name the games it is written for,
    which become its `plays`; without them it plays any game. A turn of another game raises
    `InvalidOption`. In `choose`, draw from `self.rng`. It is seeded for each decision from the
    agent's `seed`, its `stream` and the turn, so that its draws in one episode do not depend on
    other episodes.
    """

    plays: ClassVar[tuple[type[Game[Any, Any]], ...]] = ()
    stream: ClassVar[int] = 2

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        games = _games_named(cls)
        if games and "plays" not in vars(cls):
            cls.plays = games

    def __init__(self, *, seed: int | None = None) -> None:
        self._seed = check_seed(seed)
        self._turn: Turn | None = None
        self._drawn_from: Rng | None = None

    def reseed(self, seed: int) -> None:
        self._seed = check_seed(seed)

    @property
    def rng(self) -> Rng:
        """The generator of the decision being made."""
        if self._drawn_from is None:
            if self._turn is None:
                raise InvalidOption("self.rng can be used only inside choose()")
            self._drawn_from = self._turn.rng(self._seed, self.stream)
        return self._drawn_from

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [self._decide(turn) for turn in turns]

    def _decide(self, turn: Turn) -> Decision:
        if self.plays and not isinstance(turn.game, self.plays):
            known = " and ".join(game.__name__ for game in self.plays)
            raise InvalidOption(
                f"agent {self.name or type(self).__name__!r} plays {known}, not {turn.env}"
            )
        self._turn, self._drawn_from = turn, None
        chosen = self.choose(turn)
        return chosen if isinstance(chosen, Decision) else Decision(chosen)

    @abstractmethod
    def choose(self, turn: Turn[GameT]) -> Any:
        """The action to play in a turn, or a whole `Decision`."""


def _games_named(kind: type) -> tuple[type[Game[Any, Any]], ...]:
    """The games in the brackets of `ScriptedAgent[…]` from which a class derives."""
    for base in vars(kind).get("__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, ScriptedAgent):
            named = get_args(base)[0]
            games = get_args(named) or (named,)
            return tuple(g for g in games if isinstance(g, type) and issubclass(g, Game))
    return ()


@agent("random", summary="A random legal action.")
class RandomAgent(ScriptedAgent):
    """Draws a legal action from its own generator; free text is drawn from a field's samples."""

    def choose(self, turn: Turn) -> Any:
        return turn.sample(self.rng)


@agent("scripted", needs=("script",), summary="An array game's own script, where it has one.")
class OwnScript(ScriptedAgent):
    """Plays an array game's own `scripted_action`, the one its batches play with."""

    def choose(self, turn: Turn) -> Any:
        action, mask = turn.scripted_action(), turn.mask
        legal = 0 <= action < len(mask) and mask[action]
        return action if legal else turn.sample(self.rng)


@agent("first", summary="The first legal action.")
class FirstLegalAgent(ScriptedAgent):
    """Plays the legal action with the lowest number; without numbers, the first it may say."""

    def __init__(self) -> None:
        super().__init__(seed=0)

    def choose(self, turn: Turn) -> Any:
        legal = turn.legal_actions
        return legal[0] if legal else turn.sample(Rng(0))
