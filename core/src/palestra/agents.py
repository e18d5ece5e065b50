"""Who plays: an agent answers many waiting turns in one call.

The agents themselves are plugins; this is what they share and how they are named.
"""

from __future__ import annotations

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from palestra.budget import Account, Usage
from palestra.episode import Episode
from palestra.errors import InvalidOption, UnknownName
from palestra.events import Event
from palestra.game import Game, Mask
from palestra.models import Tokens
from palestra.rng import Rng
from palestra.scene import Scene


class Turn(msgspec.Struct, eq=False, gc=False):
    """One seat of one episode waiting for a decision, and all that this seat may know."""

    _episode: Episode
    player: int
    since: int = 0  # how much of the transcript was there at this seat's last turn
    account: Account | None = None
    error: str = ""  # why the last answer to this same turn was refused
    tries: int = 0  # answers refused so far in this turn

    @property
    def game(self) -> Game[Any, Any]:
        return self._episode.game

    @property
    def env(self) -> str:
        """The environment's id, or the game's class name where it has none."""
        spec = self._episode.spec
        return spec.id if spec else type(self.game).__name__

    @property
    def episode_key(self) -> int:
        """The same for every turn of one play-through, another for every other."""
        return id(self._episode)

    @property
    def seed(self) -> int:
        return self._episode.seed

    @property
    def turn(self) -> int:
        """How many steps have been played."""
        return self._episode.turn

    @property
    def observation(self) -> Any:
        return self._episode.observation(self.player)

    @property
    def mask(self) -> Mask:
        return self._episode.action_mask(self.player)

    @property
    def legal_actions(self) -> list[Any]:
        return self._episode.legal_actions(self.player)

    @property
    def legal(self) -> Any:
        """The grammar of a text game, the mask of an array game."""
        return self._episode.legal(self.player)

    @property
    def legal_texts(self) -> list[str]:
        """Every legal numbered action as it is written."""
        return self._episode.legal_texts(self.player)

    @property
    def legal_text(self) -> str:
        return self._episode.legal_text(self.player)

    @property
    def text(self) -> str:
        """What is new since this seat's last turn, the position, and what it may play."""
        return self._episode.prompt(self.player, self.since)

    @property
    def position(self) -> str:
        """The position and what this seat may play, without what led to it."""
        return self._episode.prompt(self.player, len(self.transcript))

    @property
    def scene(self) -> Scene:
        """What to draw for this seat."""
        scene: Scene = self._episode.scene(self.player)
        return scene

    @property
    def transcript(self) -> Sequence[Event]:
        return self._episode.transcript(self.player)

    @property
    def returns(self) -> float:
        """What this seat has been paid so far."""
        return self._episode.returns[self.player]

    def action_text(self, action: Any) -> str:
        return self.game.action_text(self._episode._world.state, self.player, action)

    def parse(self, text: str) -> Any:
        return self._episode.parse(self.player, text)

    def state_key(self) -> bytes:
        """Equal where this seat faces the same decision."""
        return self._episode.state_key(self.player)

    def sample(self, rng: Rng) -> Any:
        return self.game.sample(self._episode._world.state, self.player, rng)

    def fork(self, rng: Rng) -> Episode:
        """A copy to look ahead in, with hidden facts and future chance drawn anew from `rng`.

        Raises `InvalidOption` for a game that hides information and cannot redraw it.
        """
        game = self.game
        twin = self._episode.plain()
        if game.perfect_information:
            state = game.clone(twin._world.state)
        else:
            state = game.determinize(twin._world.state, self.player, rng)
        game.reseed(state, rng.word())
        twin.load(state)
        return twin


class Decision(msgspec.Struct, gc=False):
    """An answer to one turn: an action, or text that the game parses; and what it took.

    `logprob` is the natural log-probability the agent gave the action. `thought` is kept in the
    record apart from the answer. `sampling` holds the settings a model decided under, and
    `tokens` the exact tokens, where they were asked for.
    """

    action: Any = None
    text: str | None = None
    usage: Usage = Usage()
    logprob: float | None = None
    thought: str = ""
    model: str = ""
    sampling: Mapping[str, Any] = {}
    tokens: Tokens | None = None


class Agent(ABC):
    """Decides for any number of turns at once; `name` is how it was asked for."""

    name: str = ""

    @abstractmethod
    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        """One decision for every turn, in order."""

    def reseed(self, seed: int) -> None:  # noqa: B027 - most agents draw nothing
        """Start the agent's own random numbers afresh; called before a run or an episode."""

    def forget(self, episode_key: int) -> None:  # noqa: B027 - most agents keep nothing
        """An episode has ended; drop what was kept for it."""

    def close(self) -> None:  # noqa: B027 - most agents hold nothing
        """The run is over; free models and connections."""


class FunctionAgent(Agent):
    """A plain function as an agent: from one turn to an action, or to a whole `Decision`."""

    def __init__(self, function: Callable[[Turn], Any], name: str = "") -> None:
        self._function = function
        self.name = name or getattr(function, "__name__", "function")

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        answers = map(self._function, turns)
        return [a if isinstance(a, Decision) else Decision(a) for a in answers]


_OPTION = re.compile(r"^[a-z_]+=")


def parse_agent(text: str) -> tuple[str, dict[str, Any], str]:
    """Split `name:key=value,key=value` or `name:rest` into name, options and the rest.

    Values are read as numbers or true/false where they look like it: `mcts:simulations=200`.
    In `llm:vllm:Qwen/Qwen3-4B,mode=choice` the rest is `vllm:Qwen/Qwen3-4B`.
    """
    name, _, tail = text.partition(":")
    options: dict[str, Any] = {}
    rest = []
    for part in tail.split(",") if tail else []:
        if _OPTION.match(part):
            key, _, value = part.partition("=")
            options[key] = _value(value)
        else:
            rest.append(part)
    return name, options, ",".join(rest)


def _value(text: str) -> Any:
    lowered = text.lower()
    if lowered in ("true", "false"):
        return lowered == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def construct(make: Callable[..., Any], what: str, options: Mapping[str, Any]) -> Any:
    """Call a constructor, turning options it does not have into a sentence about those it has."""
    accepted = {
        name: parameter
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    takes_any = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(make).parameters.values())
    unknown = [] if takes_any else [name for name in options if name not in accepted]
    if unknown:
        raise UnknownName(f"option of {what}", unknown[0], accepted, _none_hint(accepted))
    try:
        return make(**options)
    except TypeError as error:
        raise InvalidOption(f"{what}: {error}") from error


def _none_hint(accepted: Mapping[str, Any]) -> str:
    return "" if accepted else "(it takes no options)"
