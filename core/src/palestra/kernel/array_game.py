"""Games whose whole state is one numpy record, and whose rules compile.

The four functions of the rules run interpreted, compiled for one episode or for thousands, and on a
GPU. The state's fields are declared by a class (see `palestra.kernel.state`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, Generic, NamedTuple, NoReturn, get_args

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from typing_extensions import TypeVar

from palestra import rules
from palestra.answers import FORM, find_stated
from palestra.kernel.errors import InvalidAction, InvalidOption, PluginError, show
from palestra.kernel.events import Event
from palestra.kernel.game import Game, Mask, Outcome, Result, Step, allowed_actions
from palestra.kernel.rng import MASK, Rng, check_seed
from palestra.kernel.state import HEADER, ArrayState, Record, fields_of
from palestra.plain import plain_action

StateT = TypeVar("StateT", bound=Record, default=Any)
Constant = TypeVar("Constant")

# numba has no nested boolean arrays, so flags are bytes
RESULTS: tuple[Result, ...] = ("none", "win", "draw", "loss", "forfeit")


class Out(NamedTuple):
    """Where `apply_actions` adds `rewards` and `costs`: float64 of shape (seats, terms), at first
    0.
    """

    rewards: NDArray[np.float64]
    costs: NDArray[np.float64]


class Channel(NamedTuple):
    """A named part of an observation.

    name: a word. size: entries in a row along the axis of channels. meaning: what they hold.
    """

    name: str
    size: int
    meaning: str


class MoveTexts(dict[int, str]):
    """The text of a seat's actions in a game with `fixed_moves`, each written once."""

    def __init__(self, game: ArrayGame, seat: int) -> None:
        self.game, self.seat = game, seat

    def __missing__(self, action: int) -> str:
        self[action] = text = self.game.action_text(None, self.seat, action)
        return text


class constant(cached_property[Constant]):  # noqa: N801 - a decorator, as cached_property is
    """A number derived from the options by the method `func`; rules read it as `config.name`."""


class ArrayGame(Game[StateT, int], Generic[StateT]):
    """Base class of games whose state is an array record of a fixed size.

    `StateT` is the class that declares the state's fields: `class Nim(ArrayGame[NimState])`. A
    subclass declares these facts besides those of `Game`:

    num_actions: how many action numbers there are; a class attribute or a property.
    observation_shape: the shape of a seat's observation, a tuple.
    observation_dtype: its numpy type. observation_bounds: its lowest and highest value.
    channel_axis: its axis along which channels follow.
    fixed_moves: whether `action_text` makes no use of the state.
    rng_bytes: how many bytes of a record the generator takes, at its start.

    It writes `init_state`, `apply_actions`, `write_legal_mask` and `write_observation`, and may
    write `scripted_action`: static functions in the subset of Python that numba compiles. They call
    plain module-level functions, read module-level numbers and tuples, and draw chance with
    `palestra.rules.randint`. Their arguments:

    config: the game's numeric options and `constant`s, as attributes. state: the record, changed in
        place. seat: a number from 0. actions: int64, by seat; -1 where a seat does not act. out:
        see `Out`. mask: int8 zeros of shape (num_actions,). view: zeros of `observation_shape`.
    """

    num_actions: Any
    observation_shape: Any
    observation_dtype: ClassVar[type[np.generic]] = np.int8
    observation_bounds: ClassVar[tuple[float, float]] = (0, 1)
    channel_axis: ClassVar[int] = 0
    fixed_moves: ClassVar[bool] = False

    # What a subclass writes

    def fields(self) -> Sequence[tuple[Any, ...]]:
        """The state's own fields as numpy writes them: ("board", np.int8, (6, 7)), …

        Derived from the state class (`PluginError`: there is none), or overridden by options.
        """
        if (state_class := self.state_class()) is None:
            raise PluginError(
                f"{type(self).__name__} declares no state: write "
                f"class {type(self).__name__}(ArrayGame[YourState]), with YourState(ArrayState)"
            )
        return [f for f in fields_of(state_class, self) if f[0] not in HEADER]

    @classmethod
    def state_class(cls) -> type[ArrayState] | None:
        """The class that declares the state's fields; None if there is none."""
        for base in cls.__mro__:
            for generic in getattr(base, "__orig_bases__", ()):
                for argument in get_args(generic):
                    if isinstance(argument, type) and issubclass(argument, ArrayState):
                        return argument
        return None

    @staticmethod
    @abstractmethod
    def init_state(config: Any, state: Any) -> None:
        """Fill a zeroed record: the position before the first move."""

    @staticmethod
    @abstractmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Out) -> None:
        """Play `actions[s]` of every acting seat s, and pay into `out`."""

    @staticmethod
    @abstractmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        """Set `mask[a] = 1` for every legal action number a."""

    @staticmethod
    @abstractmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """Write what `seat` sees into `view`."""

    def observation_channels(self, seat: int) -> Sequence[Channel]:
        """What a seat's observation consists of, in order; pages of environments list it."""
        return ()

    @staticmethod
    def scripted_action(config: Any, state: Any, seat: int) -> int:
        """The game's own scripted player, if it has one: an action, or -1 for any legal one.

        It compiles with the rules, so that opponents play inside the loop of a batch, and is the
        agent `scripted` everywhere else. It reads only what `seat` sees.
        """
        return -1

    @property
    def has_script(self) -> bool:
        """Whether the game has a `scripted_action` of its own."""
        return type(self).scripted_action is not ArrayGame.scripted_action

    def scripted(self, state: StateT, seat: int) -> int:
        if not self.has_script:
            return super().scripted(state, seat)
        return int(self.scripted_action(self.config, state, seat))

    def constants(self) -> Mapping[str, Any]:
        """The numbers the rules may read as `config.name`: numeric options and `constant`s."""
        options: Mapping[str, Any] = getattr(self, "__dataclass_fields__", {})
        numbers = {name: getattr(self, name) for name in options}
        numbers = {k: v for k, v in numbers.items() if isinstance(v, bool | int | float)}
        numbers |= {"num_players": self.num_players, "num_actions": self.num_actions}
        for kind in reversed(type(self).__mro__):
            derived = (name for name, value in vars(kind).items() if isinstance(value, constant))
            numbers |= {name: getattr(self, name) for name in derived}
        return numbers

    def narrate(
        self, before: StateT | None, actions: Mapping[int, int], after: StateT
    ) -> Sequence[Event]:
        """Tell one step as events; `before` is None for the start. Default: moves are public.

        before, after: the states around the step. actions: by seat, the numbers that were played.
        """
        if before is None:
            return ()
        return [
            Event(
                "move",
                f"{self.players[seat]} plays {self.action_text(before, seat, action)}.",
                {"player": seat, "action": action},
            )
            for seat, action in sorted(actions.items())
        ]

    # The record

    @cached_property
    def config(self) -> Any:
        """What the rules read: `constants` as a named tuple."""
        numbers = dict(self.constants())
        return _config_class(type(self), numbers)(**numbers)

    @cached_property
    def state_dtype(self) -> np.dtype[Any]:
        """The numpy type of a state; `InvalidOption` if a field has the name of a standard one."""
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
        return record_dtype([*fields_of(ArrayState, self), *own])

    @cached_property
    def timestep_dtype(self) -> np.dtype[Any]:
        """The dtype of a state with everything derived from it, which one compiled call fills."""
        seats = self.num_players
        return record_dtype(
            [
                ("state", self.state_dtype),
                ("actions", np.int64, seats),
                ("rewards", np.float64, (seats, len(self.reward_terms))),
                ("costs", np.float64, (seats, max(1, len(self.cost_terms)))),
                ("returns", np.float64, seats),
                ("mask", np.int8, (seats, self.num_actions)),
                ("observations", self.observation_dtype, (seats, *self.observation_shape)),
            ]
        )

    # Game, over a record; interpreted, the reference for tests of the compiled forms

    def initial_state(self, seed: int | None = None) -> StateT:
        state: StateT = np.zeros(1, self.state_dtype)[0]
        self.reseed(state, check_seed(seed))
        state["present"][:] = 1
        self.init_state(self.config, state)
        return state

    def to_act(self, state: StateT) -> tuple[int, ...]:
        return tuple(state["acting"].nonzero()[0].tolist())

    def present(self, state: StateT) -> tuple[int, ...]:
        return tuple(state["present"].nonzero()[0].tolist())

    def truncated(self, state: StateT) -> bool:
        return bool(state["truncated"])

    def legal(self, state: StateT, seat: int) -> Mask:
        mask = np.zeros(self.num_actions, np.int8)
        self.write_legal_mask(self.config, state, seat, mask)
        return mask

    def action_mask(self, state: StateT, seat: int) -> Mask:
        if not state["acting"][seat]:
            return np.ones(self.num_actions, np.int8)
        return self.legal(state, seat)

    def step(self, state: StateT, actions: Mapping[int, int]) -> Step:
        before = self.clone(state)
        chosen = np.full(self.num_players, -1, np.int64)
        for seat, action in actions.items():
            chosen[seat] = action
        out = Out(
            np.zeros((self.num_players, len(self.reward_terms))),
            np.zeros((self.num_players, max(1, len(self.cost_terms)))),
        )
        self.apply_actions(self.config, state, chosen, out)
        state["turn"] += 1
        return Step(
            rewards=self.name_terms(out.rewards, self.reward_terms),
            costs=self.name_terms(out.costs, self.cost_terms),
            events=self.narrate(before, actions, state),
        )

    @staticmethod
    def name_terms(
        amounts: NDArray[np.float64], names: Sequence[str]
    ) -> dict[int, dict[str, float]]:
        """Rows of `amounts` as {seat: {name: amount}} without zeros; `names` are of the columns."""
        if not names:
            return {}
        return {
            seat: {name: value for name, value in zip(names, row, strict=False) if value}
            for seat, row in enumerate(amounts.tolist())
            if any(row)
        }

    def opening(self, state: StateT) -> Sequence[Event]:
        return self.narrate(None, {}, state)

    def outcome(self, state: StateT) -> Outcome | None:
        # item access: several times faster than attributes on an np.record
        if not state["over"]:
            return None
        results = tuple(RESULTS[code] for code in state["result"].tolist())
        if state["truncated"]:
            results = ("truncated",) * self.num_players
        return Outcome(results, self.scores(state))

    def scores(self, state: StateT) -> tuple[float, ...]:
        """The score of every seat at the end; by default 1, 0 or -1 for its result."""
        values = {rules.WIN: 1.0, rules.LOSS: -1.0, rules.FORFEIT: -1.0}
        return tuple(values.get(code, 0.0) for code in state["result"].tolist())

    def observation_space(self, seat: int) -> spaces.Box:
        return self._box

    @cached_property
    def _box(self) -> spaces.Box:
        low, high = self.observation_bounds
        return spaces.Box(low, high, self.observation_shape, self.observation_dtype)  # type: ignore[arg-type]

    def observe(self, state: StateT, seat: int) -> NDArray[Any]:
        view = np.zeros(self.observation_shape, self.observation_dtype)
        self.write_observation(self.config, state, seat, view)
        return view

    @cached_property
    def seen(self) -> Callable[[StateT, int], NDArray[Any]]:
        """`observe`, for writing texts; episodes with compiled rules replace it by their own."""
        return self.observe

    def parse(self, state: StateT, seat: int, text: str) -> int:
        """Read the move that an answer states (see `palestra.answers`); or `InvalidAction`."""
        written = self._written(state, seat, self.legal(state, seat))
        action = find_stated(text, written)
        if action is not None:
            return action
        legal = self.legal_text(state, seat, written)
        raise InvalidAction(
            text, legal, next(iter(written), ""), f"no legal move is stated; {FORM}"
        )

    def action_text(self, state: StateT, seat: int, action: int) -> str:
        return str(action)

    def legal_text(self, state: StateT, seat: int, moves: Mapping[str, int]) -> str:
        """The legal moves of a player in one line; by default all `moves`, as written.

        A game with many moves may say the same in fewer words.
        """
        return ", ".join(moves)

    def _written(self, state: StateT, seat: int, mask: Mask) -> dict[str, int]:
        """Legal moves by their text."""
        return self.written_moves(state, seat, allowed_actions(mask))

    def written_moves(self, state: StateT, seat: int, moves: Sequence[int]) -> dict[str, int]:
        """The action numbers `moves` by their text, in their order."""
        if self.fixed_moves:  # Gomoku lists its 225 moves six times as fast
            texts = self._texts[seat]
            return dict(zip(map(texts.__getitem__, moves), moves, strict=True))
        return {self.action_text(state, seat, move): move for move in moves}

    @cached_property
    def _texts(self) -> list[MoveTexts]:
        return [MoveTexts(self, seat) for seat in range(self.num_players)]

    def action_space(self, seat: int) -> spaces.Discrete:
        return self._discrete

    @cached_property
    def _discrete(self) -> spaces.Discrete:
        return spaces.Discrete(self.num_actions)

    def action_of(self, index: int) -> int:
        return index

    def index_of(self, action: int) -> int:
        return action

    def check(self, state: StateT, seat: int, action: int) -> None:
        mask = self.legal(state, seat)
        number = action_number(action)
        if number is None or not 0 <= number < len(mask) or not mask[number]:
            moves = self._written(state, seat, mask)
            legal, example = self.legal_text(state, seat, moves), next(iter(moves), "")
            why = f"action {show(action)} is not legal for {self.players[seat]}"
            raise InvalidAction(action, legal, example, why)

    def sample(self, state: StateT, seat: int, rng: Rng) -> int:
        return int(rng.choice(allowed_actions(self.legal(state, seat))))

    def clone(self, state: StateT) -> StateT:
        return np.frombuffer(bytearray(state.tobytes()), self.state_dtype)[0]

    def state_key(self, state: StateT, seat: int | None = None) -> bytes:
        if seat is not None:
            seen = self.observe(state, seat).tobytes() + self.action_mask(state, seat).tobytes()
            return blake2b(bytes([seat % 256]) + seen, digest_size=16).digest()
        bare = bytes(self.rng_bytes) + state.tobytes()[self.rng_bytes :]
        return blake2b(bare, digest_size=16).digest()

    rng_bytes: ClassVar[int] = 24  # `rng` is the record's first field

    def reseed(self, state: StateT, seed: int) -> None:
        state["rng"][:] = seed & MASK, seed >> 32, 0


def _config_class(game: type, numbers: Mapping[str, Any]) -> Any:
    """A named tuple, which numba compiles; reading a missing field raises a helpful error."""
    kind: Any = namedtuple("config", tuple(numbers))  # type: ignore[misc]

    def explain(_: object, name: str) -> NoReturn:
        close = get_close_matches(name, numbers, n=1)
        why = f"did you mean config.{close[0]}?" if close else "there is no such option"
        if hasattr(game, name):
            why = f"{name} is not an option that is a number; make it a @constant method"
        raise AttributeError(f"the rules of {game.__name__} cannot read config.{name}: {why}")

    setattr(kind, "__getattr__", explain)  # noqa: B010 - mypy takes the tuple's class for its own
    return kind


def record_dtype(fields: Sequence[tuple[Any, ...]]) -> np.dtype[Any]:
    """A structured dtype laid out as C would, whose elements have their fields as attributes."""
    rules.FieldRecord.learn([field[0] for field in fields])
    shaped = [
        (n, kind, *((s,) if isinstance(s, int) else s for s in shape)) for n, kind, *shape in fields
    ]
    return np.dtype((rules.FieldRecord, np.dtype(shaped, align=True)))


def action_number(action: object) -> int | None:
    """The int of an int or a numpy integer; None for anything else."""
    number = plain_action(action)
    return number if type(number) is int else None
