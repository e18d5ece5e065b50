"""Games whose whole state is one numpy record, and whose rules compile.

The rules are four static functions over that record, in the subset of Python numba compiles:

    setup(config, state)                    fill a zeroed record; draw with palestra.rules.randint
    advance(config, state, actions, out)    play actions[p] of every acting seat p, in place
    allow(config, state, player, mask)      set mask[a] = 1 for every legal action number a
    sense(config, state, player, view)      write the player's observation into a zeroed array

`config` is a named tuple of the game's numbers, `out.rewards[p, t]` and `out.costs[p, c]` are
zero before `advance`. The same functions run interpreted, compiled for one episode or for many
rows, and as device functions; they may call plain module-level functions and read module-level
numbers and tuples, nothing else.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import namedtuple
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from palestra import rules
from palestra.errors import InvalidAction, InvalidOption
from palestra.events import Event
from palestra.game import Game, Mask, Outcome, Result, Step, allowed
from palestra.rng import MASK, Rng, check_seed

Record = Any  # np.record, or the same bytes seen from compiled code

# The fields every record starts with. `rng` is key, key, counter; `result` holds rules.WIN …;
# numba has no nested boolean arrays, so flags are bytes.
HEADER = ("rng", "turn", "acting", "present", "result", "over", "truncated")
RESULTS: tuple[Result, ...] = ("none", "win", "draw", "loss", "forfeit")


class Out(NamedTuple):
    """Where `advance` writes: rewards[player, term] and costs[player, term], float64."""

    rewards: NDArray[np.float64]
    costs: NDArray[np.float64]


class ArrayGame(Game[Record, int]):
    """A game over one record; see the module for the four rules a subclass writes."""

    num_actions: Any  # int; a class attribute or property
    observation_shape: Any  # tuple of int
    observation_dtype: ClassVar[type[np.generic]] = np.int8
    observation_bounds: ClassVar[tuple[float, float]] = (0, 1)

    # What a subclass writes

    @abstractmethod
    def fields(self) -> Sequence[tuple[Any, ...]]:
        """The state's own fields as numpy writes them: ("board", np.int8, (6, 7)), …"""

    @staticmethod
    @abstractmethod
    def setup(config: Any, state: Record) -> None: ...

    @staticmethod
    @abstractmethod
    def advance(config: Any, state: Record, actions: Any, out: Out) -> None: ...

    @staticmethod
    @abstractmethod
    def allow(config: Any, state: Record, player: int, mask: Any) -> None: ...

    @staticmethod
    @abstractmethod
    def sense(config: Any, state: Record, player: int, view: Any) -> None: ...

    @staticmethod
    def script(config: Any, state: Record, player: int) -> int:
        """The game's own scripted player, if it has one: an action, or -1 for any legal one.

        It compiles with the rules, so that opponents play inside the loop of a batch, and is the
        agent `scripted` everywhere else. It reads only what `player` sees.
        """
        return -1

    @property
    def has_script(self) -> bool:
        return type(self).script is not ArrayGame.script

    def constants(self) -> Mapping[str, Any]:
        """The numbers the rules may read as `config.name`: by default every numeric option."""
        options: Mapping[str, Any] = getattr(self, "__dataclass_fields__", {})
        numbers = {name: getattr(self, name) for name in options}
        numbers = {k: v for k, v in numbers.items() if isinstance(v, bool | int | float)}
        return numbers | {"num_players": self.num_players, "num_actions": self.num_actions}

    def narrate(
        self, before: Record | None, actions: Mapping[int, int], after: Record
    ) -> Sequence[Event]:
        """Tell one step as events; `before` is None for the start. Default: moves are public."""
        if before is None:
            return ()
        return [
            Event(
                "move",
                f"{self.players[player]} plays {self.action_text(before, player, action)}.",
                {"player": player, "action": action},
            )
            for player, action in sorted(actions.items())
        ]

    # The record

    @cached_property
    def config(self) -> Any:
        numbers = dict(self.constants())
        return namedtuple("config", numbers)(**numbers)

    @cached_property
    def state_dtype(self) -> np.dtype[Any]:
        seats = self.num_players
        header = [
            ("rng", np.int64, 3),
            ("turn", np.int32),
            ("acting", np.uint8, seats),
            ("present", np.uint8, seats),
            ("result", np.uint8, seats),
            ("over", np.uint8),
            ("truncated", np.uint8),
        ]
        own = list(self.fields())
        for name, kind, *_ in own:
            if name in HEADER:
                raise InvalidOption(f"{type(self).__name__}: field {name!r} is a standard field")
            if hasattr(np.record, name):
                raise InvalidOption(
                    f"{type(self).__name__}: a numpy record already has an attribute {name!r}; "
                    f"call the field something else, such as 'the_{name}'"
                )
            if np.dtype(kind) == np.bool_:
                raise InvalidOption(
                    f"{type(self).__name__}: field {name!r} is bool, which does not compile in a "
                    "record; use np.uint8"
                )
        return record_dtype([*header, *own])

    @cached_property
    def frame_dtype(self) -> np.dtype[Any]:
        """A state with everything derived from it beside it; what one compiled call fills."""
        seats = self.num_players
        return record_dtype(
            [
                ("state", self.state_dtype),
                ("actions", np.int64, seats),
                ("rewards", np.float64, (seats, len(self.reward_terms))),
                ("costs", np.float64, (seats, max(1, len(self.cost_terms)))),
                ("returns", np.float64, seats),
                ("mask", np.int8, (seats, self.num_actions)),
                ("sights", self.observation_dtype, (seats, *self.observation_shape)),
            ]
        )

    # Game, over a record; interpreted, the reference the compiled forms are tested against

    def initial_state(self, seed: int | None = None) -> Record:
        state = np.zeros(1, self.state_dtype)[0]
        self.reseed(state, check_seed(seed))
        state.present[:] = 1
        self.setup(self.config, state)
        return state

    def to_act(self, state: Record) -> tuple[int, ...]:
        return tuple(state["acting"].nonzero()[0].tolist())

    def present(self, state: Record) -> tuple[int, ...]:
        return tuple(state["present"].nonzero()[0].tolist())

    def truncated(self, state: Record) -> bool:
        return bool(state["truncated"])

    def legal(self, state: Record, player: int) -> Mask:
        mask = np.zeros(self.num_actions, np.int8)
        self.allow(self.config, state, player, mask)
        return mask

    def action_mask(self, state: Record, player: int) -> Mask:
        if not state.acting[player]:
            return np.ones(self.num_actions, np.int8)
        return self.legal(state, player)

    def step(self, state: Record, actions: Mapping[int, int]) -> Step:
        before = self.clone(state)
        chosen = np.full(self.num_players, -1, np.int64)
        for player, action in actions.items():
            chosen[player] = action
        out = Out(
            np.zeros((self.num_players, len(self.reward_terms))),
            np.zeros((self.num_players, max(1, len(self.cost_terms)))),
        )
        self.advance(self.config, state, chosen, out)
        state.turn += 1
        return Step(
            rewards=self.name_terms(out.rewards, self.reward_terms),
            costs=self.name_terms(out.costs, self.cost_terms),
            events=self.narrate(before, actions, state),
        )

    @staticmethod
    def name_terms(
        amounts: NDArray[np.float64], names: Sequence[str]
    ) -> dict[int, dict[str, float]]:
        """Rows of amounts as {seat: {term: amount}}, zeros left out."""
        if not names:
            return {}
        return {
            player: {name: value for name, value in zip(names, row, strict=False) if value}
            for player, row in enumerate(amounts.tolist())
            if any(row)
        }

    def opening(self, state: Record) -> Sequence[Event]:
        return self.narrate(None, {}, state)

    def outcome(self, state: Record) -> Outcome | None:
        # item access: several times quicker than attributes on an np.record
        if not state["over"]:
            return None
        results = tuple(RESULTS[code] for code in state["result"].tolist())
        if state["truncated"]:
            results = ("truncated",) * self.num_players
        return Outcome(results, self.scores(state))

    def scores(self, state: Record) -> tuple[float, ...]:
        """The score of every seat at the end; by default 1, 0 or -1 for its result."""
        values = {rules.WIN: 1.0, rules.LOSS: -1.0, rules.FORFEIT: -1.0}
        return tuple(values.get(code, 0.0) for code in state["result"].tolist())

    def observation_space(self, player: int) -> spaces.Box:
        return self._box

    @cached_property
    def _box(self) -> spaces.Box:
        low, high = self.observation_bounds
        return spaces.Box(low, high, self.observation_shape, self.observation_dtype)  # type: ignore[arg-type]

    def observe(self, state: Record, player: int) -> NDArray[Any]:
        view = np.zeros(self.observation_shape, self.observation_dtype)
        self.sense(self.config, state, player, view)
        return view

    def parse(self, state: Record, player: int, text: str) -> int:
        """Read a move: the text of a legal action, alone or as the last one in brackets."""
        written = self._written(state, player, self.legal(state, player))
        for candidate in (text.strip(), *reversed(_bracketed(text)), *_last_word(text)):
            for name, action in written.items():
                if candidate.casefold() == name.casefold():
                    return int(action)
        legal = self.legal_text(state, player, written)
        raise InvalidAction(text, legal, next(iter(written), ""), "no legal move found")

    def action_text(self, state: Record, player: int, action: int) -> str:
        return str(action)

    def legal_text(self, state: Record, player: int, moves: Mapping[str, int]) -> str:
        """What a player may do now, in one line; by default all legal `moves`, as written.

        A game with many moves may say the same in fewer words.
        """
        return ", ".join(moves)

    def _written(self, state: Record, player: int, mask: Mask) -> dict[str, int]:
        """Legal moves by their text."""
        return {self.action_text(state, player, move): move for move in allowed(mask)}

    def action_space(self, player: int) -> spaces.Discrete:
        return self._discrete

    @cached_property
    def _discrete(self) -> spaces.Discrete:
        return spaces.Discrete(self.num_actions)

    def action_of(self, index: int) -> int:
        return index

    def index_of(self, action: int) -> int:
        return action

    def check(self, state: Record, player: int, action: int) -> None:
        mask = self.legal(state, player)
        number = action_number(action)
        if number is None or not 0 <= number < len(mask) or not mask[number]:
            moves = self._written(state, player, mask)
            legal, example = self.legal_text(state, player, moves), next(iter(moves), "")
            why = f"action {action!r} is not legal for {self.players[player]}"
            raise InvalidAction(action, legal, example, why)

    def sample(self, state: Record, player: int, rng: Rng) -> int:
        return int(rng.choice(allowed(self.legal(state, player))))

    def clone(self, state: Record) -> Record:
        return np.frombuffer(bytearray(state.tobytes()), self.state_dtype)[0]

    def state_key(self, state: Record, player: int | None = None) -> bytes:
        if player is not None:
            seen = self.observe(state, player).tobytes() + self.action_mask(state, player).tobytes()
            return blake2b(bytes([player % 256]) + seen, digest_size=16).digest()
        bare = bytes(self.rng_bytes) + state.tobytes()[self.rng_bytes :]
        return blake2b(bare, digest_size=16).digest()

    rng_bytes: ClassVar[int] = 24  # `rng` is the record's first field

    def reseed(self, state: Record, seed: int) -> None:
        state.rng[0], state.rng[1], state.rng[2] = seed & MASK, seed >> 32, 0


def record_dtype(fields: Sequence[tuple[Any, ...]]) -> np.dtype[Any]:
    """A structured dtype laid out as C would, whose elements have their fields as attributes."""
    return np.dtype((np.record, np.dtype(list(fields), align=True)))


def action_number(action: object) -> int | None:
    """An int from an int or a numpy integer; None for anything else."""
    if isinstance(action, int | np.integer) and not isinstance(action, bool):
        return int(action)
    if isinstance(action, np.ndarray) and action.ndim == 0 and action.dtype.kind in "iu":
        return int(action)
    return None


def plain_actions(actions: Mapping[int, Any]) -> Mapping[int, Any]:
    """Actions by seat with numpy's integers as Python's, which records and events can hold."""
    for action in actions.values():
        if type(action) is not int and action_number(action) is not None:
            return {
                seat: n if (n := action_number(a)) is not None else a for seat, a in actions.items()
            }
    return actions


def _bracketed(text: str) -> list[str]:
    """What stands in square brackets, in order."""
    pieces = text.split("[")[1:]
    return [piece.split("]", 1)[0].strip() for piece in pieces if "]" in piece]


def _last_word(text: str) -> list[str]:
    """The last word without punctuation, for 'I play 3.'"""
    words = text.split()
    return [words[-1].strip(".,;:!?'\"()*`")] if words else []
