"""One play-through of one game: everything else is a view of this."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from palestra.array_game import plain_actions
from palestra.errors import InvalidAction, InvalidOption, OutOfTurn
from palestra.events import Event, only
from palestra.game import Game, Mask, Outcome, Step, allowed
from palestra.rng import Rng, check_seed
from palestra.specs import EnvSpec
from palestra.world import ArrayWorld, World, narrate, open_world

POLICIES = ("raise", "retry:n", "random", "noop", "forfeit")
PolicyKind = Literal["raise", "retry", "random", "noop", "forfeit"]


@dataclass(frozen=True, slots=True)
class Forfeit:
    """What stands in the history where a seat lost by not playing; `why` is one sentence."""

    why: str = "illegal move"


@dataclass(frozen=True, slots=True)
class Truncate:
    """What stands in the history where a run was cut short from outside."""

    why: str = "stopped"


class Played(NamedTuple):
    """One step of the history."""

    actions: Mapping[int, Any]
    notes: Any = None  # what the caller wants kept in the record: decisions, usage, errors


# Steps are linked backwards as plain (before, actions, notes), so that forks share their past and
# a step costs one tuple.
Link = tuple[Any, Mapping[int, Any], Any]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An episode's whole condition as a value, for `Episode.restore`; it pickles."""

    state: Any
    start: Any
    history: Link | None
    turn: int
    returns: tuple[float, ...]
    outcome: Outcome | None
    mistakes: tuple[int, ...]
    noise: Rng
    shaped: Any = None  # what `ShapedEpisode` has paid


def parse_policy(policy: str) -> tuple[PolicyKind, int]:
    """Read an invalid-move policy: 'raise', 'retry:3', 'random', 'noop' or 'forfeit'."""
    name, _, times = policy.partition(":")
    if name == "retry" and times.isdigit() and int(times) > 0:
        return "retry", int(times)
    if not times and name in ("raise", "random", "noop", "forfeit"):
        return name, 0  # type: ignore[return-value]
    raise InvalidOption(f"invalid-move policy {policy!r}; choose from: {', '.join(POLICIES)}")


class Episode:
    """Play `game` from `seed`: ask `to_act`, call `act`, until `over`.

    `invalid` says what an illegal move leads to: "raise" (nothing happens, `InvalidAction`),
    "retry:n" (the same n times in one turn, then forfeit), "random" (a legal move is drawn),
    "noop" (the game's own no-operation) or "forfeit". Every one is counted in `mistakes`.
    `compiled` chooses how an ArrayGame runs; by default compiled if numba is installed.
    """

    def __init__(
        self,
        game: Game[Any, Any],
        seed: int | None = None,
        *,
        invalid: str = "raise",
        compiled: bool | None = None,
        spec: EnvSpec | None = None,
    ) -> None:
        self.game = game
        self.spec = spec
        self.invalid = invalid
        self._policy, self._tries = parse_policy(invalid)
        self._world: World = open_world(game, compiled)
        self.reset(seed)

    def reset(self, seed: int | None = None) -> None:
        """Start again; nothing of the last play-through is left."""
        self.seed = check_seed(seed)
        self._world.begin(self.seed)
        self._clear(None)

    def _clear(self, start: Any) -> None:
        self.turn = 0
        self.to_act: tuple[int, ...] = self._world.to_act
        self._start = start  # None: the seed's own initial state
        self._history: Link | None = None
        self._noise: Rng | None = None
        self._ended: Outcome | None = None  # set where the episode, not the rules, ended it
        self._extra: dict[int, float] | None = None  # paid by a forfeit
        self._mistakes: dict[int, int] | None = None
        self._failed = 0
        self._log: list[tuple[Event, ...]] | None = None
        self._seen: dict[int, tuple[int, list[Event]]] = {}  # by seat: steps read, what it saw
        self._written: dict[int, dict[str, int]] = {}  # by seat: an array game's moves as text

    # Where it stands

    @property
    def players(self) -> tuple[str, ...]:
        return self.game.players

    @property
    def over(self) -> bool:
        return not self.to_act

    @property
    def state(self) -> Any:
        """A copy of the state: change it freely, then `load` it."""
        return self.game.clone(self._world.state)

    @property
    def present(self) -> tuple[int, ...]:
        """Seats still in the game."""
        return self._world.present if self.to_act else ()

    @property
    def truncated(self) -> bool:
        """Whether it ended because time was up."""
        if self._ended is not None:
            return "truncated" in self._ended.results
        return self.game.truncated(self._world.state)

    @property
    def rewards(self) -> Sequence[float]:
        """What the last step paid every seat, summed over terms."""
        if self._extra is not None:
            return [self._extra[p] for p in range(self.game.num_players)]
        return self._world.rewards

    @property
    def step(self) -> Step:
        """The last step's rewards and costs by name."""
        if self._extra is not None:
            return Step(rewards={p: {"forfeit": v} for p, v in self._extra.items() if v})
        return self._world.step

    @property
    def returns(self) -> Sequence[float]:
        """Rewards of every seat so far."""
        returns = self._world.returns
        if self._extra is not None:
            return [value + self._extra[p] for p, value in enumerate(returns)]
        return returns

    @property
    def mistakes(self) -> tuple[int, ...]:
        """Illegal or unreadable moves so far, by seat."""
        counts = self._mistakes or {}
        return tuple(counts.get(seat, 0) for seat in range(self.game.num_players))

    @property
    def outcome(self) -> Outcome | None:
        return self._ended or self.game.outcome(self._world.state)

    # What a player sees

    def observation(self, player: int) -> Any:
        """The array view of one seat, a copy."""
        return self._world.observe(player)

    def action_mask(self, player: int) -> Mask:
        """1 for legal action numbers; a view that the next step rewrites."""
        return self._world.mask(player)

    def legal_actions(self, player: int | None = None) -> list[Any]:
        """Every legal numbered action of a seat, by default the first that is to act."""
        seat = self.to_act[0] if player is None else player
        numbers: list[Any] = allowed(self._world.mask(seat))
        if type(self._world) is ArrayWorld:
            return numbers
        return [self.game.action_of(number) for number in numbers]

    def state_key(self, player: int | None = None) -> bytes:
        """Equal where the decision problem is equal; see `Game.state_key`."""
        return self._world.state_key(player)

    def describe(self, player: int) -> str:
        return self.game.describe(self._world.state, player)

    def scene(self, player: int | None = None) -> Any:
        return self.game.scene(self._world.state, player)

    def prompt(self, player: int, since: int = 0) -> str:
        """The text view: events from log position `since` on, the position, and what is legal."""
        game, state = self.game, self._world.state
        lines = [event.text for event in self.transcript(player)[since:]]
        lines.append(game.describe(state, player))
        if player in self.to_act:
            lines.append(f"{self.players[player]}, you may play: {self.legal_text(player)}")
        return "\n".join(lines)

    def legal(self, player: int) -> Any:
        """What the game calls legal: a mask, or a grammar of typed actions."""
        if type(self._world) is ArrayWorld:
            return self._world.mask(player)
        return self.game.legal(self._world.state, player)

    def legal_text(self, player: int) -> str:
        """What a player may do now, in one line."""
        if type(self._world) is ArrayWorld:
            return self._world.game.legal_text(self._world.state, player, self._moves(player))
        return str(self.game.legal(self._world.state, player))

    def legal_texts(self, player: int) -> list[str]:
        """Every legal numbered action as it is written."""
        if type(self._world) is ArrayWorld:
            return list(self._moves(player))
        game, state = self.game, self._world.state
        return [game.action_text(state, player, action) for action in self.legal_actions(player)]

    def _moves(self, player: int) -> dict[str, int]:
        """An array game's legal moves by their text, written once a position."""
        if player not in self._written:
            game, state = self.game, self._world.state
            actions = self.legal_actions(player)
            self._written[player] = {game.action_text(state, player, a): a for a in actions}
        return self._written[player]

    def parse(self, player: int, text: str) -> Any:
        """Read a move of one seat; raises `InvalidAction`."""
        if player in self._written:
            action = self._written[player].get(text)
            if action is not None:
                return action
        return self.game.parse(self._world.state, player, text)

    def check(self, player: int, action: Any) -> None:
        """Raise `InvalidAction` unless an action is legal for a seat."""
        if type(self._world) is ArrayWorld and type(action) is int:
            mask = self._world.mask(player)
            if 0 <= action < len(mask) and mask[action]:
                return
        self.game.check(self._world.state, player, action)

    # The log

    @property
    def log(self) -> list[tuple[Event, ...]]:
        """Events by step; entry 0 is the opening.

        An ArrayGame tells its story only when somebody asks: the first look replays what happened
        so far, from then on every step is told as it is played.
        """
        if self._log is None:
            self._log = self._retell()
        return self._log

    @property
    def told(self) -> bool:
        """Whether somebody has asked for the log, so that reading it costs nothing more."""
        return self._log is not None

    def _retell(self) -> list[tuple[Event, ...]]:
        if self._history is None:  # nothing was played: the state is the first one still
            return [tuple(self.game.opening(self._world.state))]
        world, log = self._at_start(), []
        log.append(tuple(self.game.opening(world.state)))
        for played in self.history():
            log.append(_replay_step(world, played))
        return log

    def _at_start(self) -> World:
        world = open_world(self.game, getattr(self._world, "compiled", None))
        if self._start is None:
            world.begin(self.seed)
        else:
            world.load(self._start)
        return world

    @property
    def events(self) -> list[Event]:
        return [event for step in self.log for event in step]

    def transcript(self, player: int) -> Sequence[Event]:
        """The events one seat may know, in order; it only ever grows."""
        log = self.log
        told, seen = self._seen.get(player) or (0, [])
        if told < len(log):
            for step in log[told:]:
                seen += [e for e in step if e.audience is None or player in e.audience]
            self._seen[player] = (len(log), seen)
        return seen

    def history(self) -> Iterator[Played]:
        """The steps so far, first to last."""
        steps: list[Played] = []
        link: Any = self._history
        while link is not None:
            link, actions, notes = link
            steps.append(Played(plain_actions(actions), notes))
        steps.reverse()
        return iter(steps)

    # Moving

    def act(self, actions: Mapping[int, Any], notes: Any = None) -> None:
        """Play one action for every seat in `to_act`."""
        if len(actions) != len(self.to_act) or not actions:
            raise self._out_of_turn(actions)
        before = None
        if self._log is not None and type(self._world) is ArrayWorld:
            before = self.game.clone(self._world.state)
        try:
            legal = self._world.advance(actions)
        except KeyError:
            raise self._out_of_turn(actions) from None
        if not legal:
            self._settle_mistakes(actions, notes)
            return
        self.turn += 1
        self.to_act = self._world.to_act
        self._history = (self._history, actions, notes)
        if self._failed:
            self._failed = 0
        if self._written:
            self._written = {}
        if self._log is not None:
            self._log.append(tuple(narrate(self._world, before, actions)))

    def _out_of_turn(self, actions: Mapping[int, Any]) -> OutOfTurn:
        if self.over:
            return OutOfTurn("the episode is over; reset() it or make a new one")
        return OutOfTurn(f"got actions for seats {sorted(actions)}, but {list(self.to_act)} act")

    def _settle_mistakes(self, actions: Mapping[int, Any], notes: Any) -> None:
        """Apply the invalid-move policy; plays on where it supplies a move."""
        repaired = dict(actions)
        first: InvalidAction | None = None
        for player in self.to_act:
            try:
                self.game.check(self._world.state, player, actions[player])
            except InvalidAction as error:
                first = first or error
                self.count_mistake(player)
                if self._policy == "random":
                    repaired[player] = self.game.sample(self._world.state, player, self.noise)
                elif self._policy == "noop":
                    repaired[player] = self._noop(player)
                elif self._policy == "forfeit" or self._failed >= self._tries > 0:
                    self.forfeit(player, f"illegal move: {error.why or error}", notes)
                    return
        assert first is not None
        if self._policy in ("raise", "retry"):
            self._failed += 1
            raise first
        self.act(repaired, notes)

    def count_mistake(self, player: int) -> None:
        """Count one illegal or unreadable move."""
        if self._mistakes is None:
            self._mistakes = {}
        self._mistakes[player] = self._mistakes.get(player, 0) + 1

    def _noop(self, player: int) -> Any:
        action = self.game.noop(self._world.state, player)
        if action is None:
            raise InvalidOption(
                f"{type(self.game).__name__} has no no-operation; choose another policy"
            )
        return action

    @property
    def noise(self) -> Rng:
        """The episode's own generator, apart from the state's: draws replacement moves."""
        if self._noise is None:
            self._noise = Rng.seeded(self.seed, stream=1)
        return self._noise

    def forfeit(self, player: int, why: str = "forfeit", notes: Any = None) -> None:
        """End the episode as lost by `player`, who is paid the least the game pays."""
        results: list[Any] = ["win" if self.game.payoffs == "zero-sum" else "none"]
        results *= self.game.num_players
        results[player] = "forfeit"
        self._extra = self.game.forfeit(player)
        self._end(results, f"{self.players[player]} forfeits: {why}")
        self._history = (self._history, {player: Forfeit(why)}, notes)

    def repeat(self, played: Played) -> None:
        """Play one step of another episode's history, its end by forfeit or truncation included."""
        for player, action in played.actions.items():
            if isinstance(action, Forfeit):
                self.forfeit(player, action.why, played.notes)
                return
            if isinstance(action, Truncate):
                self.truncate(action.why)
                return
        self.act(played.actions, played.notes)

    def truncate(self, why: str = "stopped") -> None:
        """End the episode from outside, with nobody's result decided."""
        if self.over:
            return
        self._end(["truncated"] * self.game.num_players, why)
        self._history = (self._history, {-1: Truncate(why)}, None)

    def _end(self, results: Sequence[Any], why: str) -> None:
        self._ended = Outcome(tuple(results), tuple(self.returns), why)
        self.to_act = ()
        self.turn += 1
        if self._log is not None:
            self._log.append((Event("end", f"{why}."),))

    # Branching

    def fork(self, seed: int | None = None) -> Episode:
        """An independent copy from here on; `seed` draws its future chance anew."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._world = self._world.copy()
        if self._mistakes is not None:
            twin._mistakes = dict(self._mistakes)
        if self._noise is not None:
            twin._noise = Rng(self._noise.key, self._noise.counter)
        if self._log is not None:
            twin._log = list(self._log)
        twin._seen, twin._written = {}, {}
        if seed is not None:
            state = self.game.clone(self._world.state)
            self.game.reseed(state, check_seed(seed))
            twin.load(state)
        return twin

    def plain(self) -> Episode:
        """A fork that pays the game's own rewards, whatever this one pays: for looking ahead."""
        return self.fork()

    def load(self, state: Any) -> None:
        """Go on from a state of your own; history, log and returns start here."""
        self._world.load(state)
        self._clear(self.game.clone(state))

    def playout(self, rng: Rng, limit: int = 10_000) -> Sequence[float]:
        """Play random legal moves to the end, keeping no history; returns the returns."""
        self.turn += self._world.playout(rng, limit)
        self.to_act = self._world.to_act
        return self.returns

    def snapshot(self) -> Snapshot:
        """Everything needed to come back to this point."""
        start = None if self._start is None else self.game.clone(self._start)
        return Snapshot(
            state=self.game.clone(self._world.state),
            start=(self.seed, start),
            history=self._history,
            turn=self.turn,
            returns=tuple(self._world.returns),
            outcome=self._ended,
            mistakes=self.mistakes,
            noise=Rng(self.noise.key, self.noise.counter),
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Come back to where a snapshot was taken, in this or another process."""
        self.seed, start = snapshot.start
        self._world.load(snapshot.state)
        self._world.set_returns(snapshot.returns)
        self._clear(start)
        self._history = snapshot.history
        self.turn = snapshot.turn
        self._noise = Rng(snapshot.noise.key, snapshot.noise.counter)
        self._mistakes = {p: n for p, n in enumerate(snapshot.mistakes) if n}
        self._ended = snapshot.outcome
        if snapshot.outcome is not None:
            self.to_act = ()
            forfeits = [p for p, r in enumerate(snapshot.outcome.results) if r == "forfeit"]
            self._extra = self.game.forfeit(forfeits[0]) if forfeits else None


def _replay_step(world: World, played: Played) -> tuple[Event, ...]:
    """Advance a fresh world by one step of a history and tell it."""
    for player, action in played.actions.items():
        if isinstance(action, Forfeit):
            return (Event("end", f"{world.game.players[player]} forfeits: {action.why}."),)
        if isinstance(action, Truncate):
            return (Event("end", f"{action.why}."),)
    before = world.game.clone(world.state)
    if not world.advance(played.actions):
        raise InvalidAction(played.actions, "the recorded moves, from the recorded start")
    return tuple(narrate(world, before, played.actions))


def private(text: str, player: int, **data: Any) -> Event:
    """An event that only `player` may know."""
    return Event("private", text, data, only(player))
