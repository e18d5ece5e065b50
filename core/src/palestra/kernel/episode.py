"""One episode of one game: everything else is a view of this."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from palestra.endings import Forfeit, Truncate, ended_by, forfeit_text
from palestra.kernel.errors import InvalidAction, OutOfTurn, PalestraError, cause, show
from palestra.kernel.events import Event, only
from palestra.kernel.game import Game, Mask, Outcome, Step
from palestra.kernel.lives import NOBODY_NEW, Life, Lives, newcomers
from palestra.kernel.policy import InvalidMovePolicy
from palestra.kernel.registry import renderer
from palestra.kernel.rng import Rng, check_seed
from palestra.kernel.simulator import Simulator, open_simulator
from palestra.kernel.specs import EnvSpec
from palestra.plain import plain_action


class PlayedStep(NamedTuple):
    """One step of the history."""

    actions: Mapping[int, Any]
    notes: Any = None  # what the caller wants kept in the record: decisions, usage, errors


# Steps are linked backwards as plain (before, actions, notes), so that forks share their past and a
# step costs one tuple. `play_through` adds one entry for several steps, with `Several` actions.
Several = Iterable[Mapping[int, Any]]
Link = tuple[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The complete state of an episode as a value, for `Episode.restore`; it can be pickled.

    state: the game's state now. start: the seed, and the state that was loaded, if any. history:
        the steps, linked backwards. steps_played: their number. returns, mistakes: by seat.
        outcome: set if a forfeit or a truncation ended it. shaped: what `ShapedEpisode` has paid.
        lives: the newcomers by seat.
    """

    state: Any
    start: Any
    history: Link | None
    steps_played: int
    returns: tuple[float, ...]
    outcome: Outcome | None
    mistakes: tuple[int, ...]
    shaped: Any = None  # what `ShapedEpisode` has paid
    lives: Lives = field(default_factory=dict)


class Episode:
    """Play `game` from `seed`: ask `to_act`, call `act`, until `over`.

    game: the rules. seed: an integer in [0, 2**64); None draws one.
    invalid: the policy for illegal moves, each of which is counted in `mistakes`: "raise" (raise
        `InvalidAction` and change nothing), "retry:n" (the same up to n times in one turn, then
        forfeit), "random" (play a random legal move), "noop" (the game's own no-operation; forfeit
        if it has none) or "forfeit".
    compiled: whether an ArrayGame runs compiled; None: if numba is installed. spec: the entry of
        the registry that records name.

    Arguments of its methods: `seat` is a number from 0, `action` and `actions` (by seat) are as the
    game has them, `rng` is a generator to draw from. `notes` is what the caller wants in the
    record. `life` counts the persons at a seat, from 0.
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
        self._policy = InvalidMovePolicy.read(invalid)
        self._simulator: Simulator = open_simulator(game, compiled)
        self.reset(seed)

    def reset(self, seed: int | None = None) -> None:
        """Start a new episode; nothing of the last one is kept."""
        self.seed = check_seed(seed)
        self._simulator.begin(self.seed)
        self._clear(None)

    def _clear(self, start: Any) -> None:
        self.steps_played = 0
        self.to_act: tuple[int, ...] = self._simulator.to_act
        self._start = start  # None: the seed's own initial state
        self._history: Link | None = None
        self._ended: Outcome | None = None  # set where the episode, not the rules, ended it
        self._extra: dict[int, float] | None = None  # paid by a forfeit
        self._mistakes: dict[int, int] | None = None
        self._failed: Mapping[int, int] = {}  # by seat: illegal moves in the step to be played
        self._log: list[tuple[Event, ...]] | None = None
        self._seen: dict[int, tuple[int, list[Event]]] = {}  # by seat: steps read, what it saw
        self._lives = NOBODY_NEW

    def __repr__(self) -> str:
        name = self.spec.id if self.spec else type(self.game).__name__
        return f"<Episode {name}, seed {self.seed}, step {self.steps_played}{', over' * self.over}>"

    def _repr_html_(self) -> str | None:  # for notebooks
        with suppress(PalestraError):
            return str(renderer(self.spec, "notebook")(self))
        return None

    # The current situation

    @property
    def players(self) -> tuple[str, ...]:
        """The ids of the seats: player_0, player_1, …"""
        return self.game.players

    @property
    def compiled(self) -> bool | None:
        """What the caller said about compiling the rules; None if that was left open."""
        return getattr(self._simulator, "asked", None)

    @property
    def over(self) -> bool:
        """Whether nobody is to act any more."""
        return not self.to_act

    @property
    def state(self) -> Any:
        """A copy of the state: change it freely, then `load` it."""
        return self.game.clone(self._simulator.state)

    @property
    def present(self) -> tuple[int, ...]:
        """Seats still in the game."""
        return self._simulator.present if self.to_act else ()

    @property
    def truncated(self) -> bool:
        """Whether it ended at a time limit."""
        if self._ended is not None:
            return "truncated" in self._ended.results
        return self.game.truncated(self._simulator.state)

    @property
    def rewards(self) -> Sequence[float]:
        """Every seat's reward of the last step, summed over terms."""
        if self._extra is not None:
            return [self._extra[p] for p in range(self.game.num_players)]
        return self._simulator.rewards

    @property
    def step(self) -> Step:
        """The last step's rewards and costs by name."""
        if self._extra is not None:
            return Step(rewards={p: {"forfeit": v} for p, v in self._extra.items() if v})
        return self._simulator.step

    @property
    def returns(self) -> Sequence[float]:
        """Rewards of every seat so far."""
        returns = self._simulator.returns
        if self._extra is not None:
            return [value + self._extra[p] for p, value in enumerate(returns)]
        return returns

    @property
    def mistakes(self) -> tuple[int, ...]:
        """Illegal or unreadable moves so far, by seat."""
        counts = self._mistakes or {}
        return tuple(counts.get(seat, 0) for seat in range(self.game.num_players))

    def forfeited(self, seat: int) -> float:
        """What a forfeit that ended the episode paid a seat; 0 if none did."""
        return self._extra[seat] if self._extra else 0.0

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it continues."""
        return self._ended or self._simulator.outcome

    # What a player sees

    def observation(self, seat: int) -> Any:
        """The array view of one seat, a copy."""
        return self._simulator.observe(seat)

    def action_mask(self, seat: int) -> Mask:
        """1 for legal action numbers, int8 of shape (n,); read-only, rewritten by the next step."""
        return self._simulator.mask(seat)

    def legal_actions(self, seat: int | None = None) -> list[Any]:
        """Every legal numbered action of a seat, by default the first that is to act."""
        return self._simulator.legal_actions(self.to_act[0] if seat is None else seat)

    def state_key(self, seat: int | None = None) -> bytes:
        """A digest that is equal where the decision problem is equal; see `Game.state_key`."""
        return self._simulator.state_key(seat)

    def describe(self, seat: int) -> str:
        """The position as this seat sees it, in words."""
        return self.game.describe(self._simulator.state, seat)

    def scene(self, seat: int | None = None) -> Any:
        """What to draw for a seat; for None, a spectator who may see everything."""
        return self.game.scene(self._simulator.state, seat)

    def prompt(self, seat: int, since: int = 0) -> str:
        """The text view: events from position `since` on, the position, and what is legal."""
        news = [event.text for event in self.news(seat, since) if event.text]
        legal = self.legal_text(seat) if seat in self.to_act else None
        return self.game.prompt(self._simulator.state, seat, news, legal)

    def legal(self, seat: int) -> Any:
        """The legal actions of a seat: a mask, or a grammar of typed actions."""
        return self._simulator.legal(seat)

    def legal_text(self, seat: int) -> str:
        """The legal actions of a seat, in one line."""
        return self._simulator.legal_text(seat)

    def legal_texts(self, seat: int) -> list[str]:
        """The text of every legal numbered action."""
        return self._simulator.legal_texts(seat)

    def action_text(self, seat: int, action: Any) -> str:
        """The text of an action, in the form that `parse` reads."""
        return self.game.action_text(self._simulator.state, seat, action)

    def sample(self, seat: int, rng: Rng) -> Any:
        """A random legal action of a seat, drawn from `rng`."""
        return self._simulator.sample(seat, rng)

    def noop(self, seat: int) -> Any:
        """The action of a seat that does nothing; None if the game has none."""
        return self.game.noop(self._simulator.state, seat)

    def parse(self, seat: int, text: str) -> Any:
        """Parse a move of one seat; for any text that is not a move, raises `InvalidAction`."""
        if not isinstance(text, str):
            raise InvalidAction(text, "text", why=f"a move is written as text, not {show(text)}")
        try:
            return self._simulator.parse(seat, text)
        except InvalidAction:
            raise
        except Exception as error:
            why = f"it cannot be read ({cause(error)})"
            raise InvalidAction(text, self.legal_text(seat), why=why) from error

    def check(self, seat: int, action: Any) -> Any:
        """An action, any object, as the plain value to play; `InvalidAction` if it is illegal."""
        try:
            plain = plain_action(action)
            self._simulator.check(seat, plain)
        except InvalidAction:
            raise
        except Exception as error:
            why = f"it is no action ({cause(error)})"
            raise InvalidAction(action, self.legal_text(seat), why=why) from error
        return plain

    # The log

    @property
    def log(self) -> list[tuple[Event, ...]]:
        """Events by step; entry 0 is the opening.

        An ArrayGame makes its events on demand: the first access replays the episode so far; from
        then on the events of every step are added as it is played.
        """
        if self._log is None:
            self._log = self._retell()
        return self._log

    @property
    def log_is_ready(self) -> bool:
        """Whether the log has been built already, so that reading it is free."""
        return self._log is not None

    def _retell(self) -> list[tuple[Event, ...]]:
        if self._history is None:  # nothing was played: this is still the initial state
            return [tuple(self.game.opening(self._simulator.state))]
        simulator, log = self._at_start(), []
        log.append(tuple(self.game.opening(simulator.state)))
        for played in self.history():
            log.append(_replay_step(simulator, played))
        return log

    def _at_start(self) -> Simulator:
        simulator = open_simulator(self.game, self.compiled)
        if self._start is None:
            simulator.begin(self.seed)
        else:
            simulator.load(self._start)
        return simulator

    @property
    def events(self) -> list[Event]:
        """The whole log, in order: what every seat may know, and what only some may."""
        return [event for step in self.log for event in step]

    def transcript(self, seat: int, life: int | None = None) -> Sequence[Event]:
        """The events that one person at a seat may know, in order; by default the current person.

        It begins where that person joined, and only ever grows until another takes the seat.
        """
        shown, lives = self._events_shown(seat), self._lives.get(seat)
        if lives is None:
            return shown
        starts, life = [0, *(one.start for one in lives)], len(lives) if life is None else life
        return shown[starts[life] : [*starts, len(shown)][life + 1]]

    def news(self, seat: int, since: int) -> Sequence[Event]:
        """The events shown to the person now at a seat, from position `since` on."""
        lives = self._lives.get(seat)
        return self._events_shown(seat)[max(since, lives[-1].start if lives else 0) :]

    def cursor(self, seat: int) -> int:
        """How many events a seat has been shown; pass it as `since` the next time."""
        return len(self._events_shown(seat))

    def life(self, seat: int) -> int:
        """How many newcomers have taken this seat; 0 while the first person still sits there."""
        return len(self._lives.get(seat, ()))

    def paid(self, seat: int, life: int) -> float:
        """The sum of rewards that one person has received at a seat."""
        paid = [0.0, *(one.paid for one in self._lives.get(seat, ())), self.returns[seat]]
        return float(paid[life + 1] - paid[life])

    def _welcome(self) -> None:
        """Note where the transcripts of the last step's newcomers begin."""
        told = self.log[-1]
        for place, event in enumerate(told):
            for seat in newcomers(event):
                later = sum(event.visible_to(seat) for event in told[place:])
                life = Life(self.cursor(seat) - later, self.returns[seat])
                self._lives = {**self._lives, seat: (*self._lives.get(seat, ()), life)}

    def _events_shown(self, seat: int) -> list[Event]:
        """All events that were shown at a seat, to any person."""
        log = self.log
        known, seen = self._seen.get(seat) or (0, [])
        if known < len(log):
            for step in log[known:]:
                seen += [e for e in step if e.audience is None or seat in e.audience]
            self._seen[seat] = (len(log), seen)
        return seen

    def history(self) -> Iterator[PlayedStep]:
        """The steps so far, first to last."""
        steps: list[PlayedStep] = []
        link: Any = self._history
        while link is not None:
            link, actions, notes = link
            if isinstance(actions, Mapping):
                steps.append(PlayedStep(actions, notes))
            else:  # of several steps: see `play_through`
                steps += [PlayedStep(step, notes) for step in reversed(list(actions))]
        steps.reverse()
        return iter(steps)

    # Moving

    def act(self, actions: Mapping[int, Any], notes: Any = None) -> None:
        """Play one action for every seat in `to_act`.

        An illegal action is handled by the invalid-move policy. Under any policy but "raise", so is
        an action of a single seat on which the game raises. Any other exception of the game reaches
        the caller, and the episode is unchanged.
        """
        to_act = self.to_act
        by_seat = type(actions) is dict or isinstance(actions, Mapping)
        if not by_seat or len(actions) != len(to_act) or not actions:
            raise self._out_of_turn(actions)
        plain: dict[int, Any] = {}  # no object of the caller's that could change later
        for seat in to_act:
            if seat not in actions:
                raise self._out_of_turn(actions)
            action = actions[seat]
            plain[seat] = action if type(action) is int else plain_action(action)
        actions = plain
        before = None if self._log is None else self._simulator.before_step()
        try:
            legal = self._simulator.advance(actions)
        except Exception as error:
            self._simulator = self._replay_history()
            if len(to_act) > 1 or self._policy.kind == "raise":
                raise
            why = f"the game cannot play it ({cause(error)})"
            self._settle_mistakes(actions, notes, why)
            return
        if not legal:
            self._settle_mistakes(actions, notes)
            return
        self.steps_played += 1
        self.to_act = self._simulator.to_act
        self._history = (self._history, actions, notes)
        if self._failed:
            self._failed = {}
        if self._log is not None:
            self._log.append(tuple(self._simulator.events(before, actions)))
        if self.game.has_newcomers:
            self._welcome()

    def play_through(self, play: Callable[[Any], tuple[int, Several]]) -> bool:
        """Let `play` take steps of the simulator; it returns their number and their actions.

        Returns False and changes nothing if it took no step, or if the log is being read.
        """
        if self._log is not None or self.game.has_newcomers:
            return False
        try:
            steps, actions = play(self._simulator)
        except Exception:
            self._simulator = self._replay_history()
            raise
        if not steps:
            return False
        self.steps_played += steps
        self.to_act = self._simulator.to_act
        self._history = (self._history, actions, None)
        self._failed = {}
        return True

    def _replay_history(self) -> Simulator:
        """A new simulator that has replayed the history, for use after a step failed halfway."""
        simulator = self._at_start()
        for played in self.history():
            simulator.advance(played.actions)
        return simulator

    def _out_of_turn(self, actions: Any) -> OutOfTurn:
        if self.over:
            return OutOfTurn("the episode is over; reset() it or make a new one")
        if not isinstance(actions, Mapping):
            return OutOfTurn(f"act() takes actions by seat, as in {{0: 4}}, not {show(actions)}")
        return OutOfTurn(
            f"got actions for seats {show(list(actions))}, but {list(self.to_act)} are to act"
        )

    def _settle_mistakes(self, actions: Mapping[int, Any], notes: Any, why: str = "") -> None:
        """Apply the invalid-move policy, and continue if it supplies a move.

        `why` is what is wrong with the only action, where the game did not refuse it itself.
        """
        repaired, lost, first = dict(actions), {}, None
        for seat in self.to_act:
            error = self._mistake(seat, actions[seat], why)
            if error is None:
                continue
            self.count_mistake(seat)
            self._failed = {**self._failed, seat: self._failed.get(seat, 0) + 1}
            repair = self._policy.repair(self, seat, self._failed[seat])
            if repair.what == "forfeit":
                lost[seat] = f"illegal move: {error.why or error}"
            elif repair.what == "play":
                repaired[seat] = repair.action
            else:
                first = first or error
        if lost:
            self.forfeit(lost, notes=notes)
        elif first:
            raise first
        else:
            self.act(repaired, notes)

    def _mistake(self, seat: int, action: Any, why: str = "") -> InvalidAction | None:
        """The error of an illegal action of a seat; None if it is legal."""
        try:
            if why:
                raise InvalidAction(action, self.legal_text(seat), why=why)
            self.check(seat, action)
        except InvalidAction as error:
            return error
        return None

    def count_mistake(self, seat: int) -> None:
        """Count one illegal or unreadable move."""
        if self._mistakes is None:
            self._mistakes = {}
        self._mistakes[seat] = self._mistakes.get(seat, 0) + 1

    def repair_rng(self, seat: int) -> Rng:
        """Draws a seat's replacement move; it follows from the seed, the step and the mistakes."""
        place = (self.steps_played << 14 | self.mistakes[seat] & 0x3FFF) << 10 | seat
        return Rng(Rng.seeded(self.seed, stream=1).key, place << 16)

    def forfeit(
        self, seat: int | Mapping[int, str], why: str = "forfeit", notes: Any = None
    ) -> None:
        """End the episode as a loss for `seat`, which receives the lowest payoff of the game.

        Where several lose in one step, `seat` says why, by seat.
        """
        lost = {seat: why} if isinstance(seat, int) else dict(sorted(seat.items()))
        others = "win" if self.game.payoffs == "zero-sum" else "none"
        results = ["forfeit" if p in lost else others for p in range(self.game.num_players)]
        self._extra = self.game.forfeit(*lost)
        self._end(results, forfeit_text(self.players, lost))
        self._history = (self._history, {p: Forfeit(why) for p, why in lost.items()}, notes)

    def repeat(self, played: PlayedStep) -> None:
        """Play one step, `played`, of another episode's history; it may be a forfeit or a
        truncation.
        """
        first = next(iter(played.actions.values()))
        if isinstance(first, Forfeit):
            self.forfeit({p: gone.why for p, gone in played.actions.items()}, notes=played.notes)
        elif isinstance(first, Truncate):
            self.truncate(first.why, played.notes)
        else:
            self.act(played.actions, played.notes)

    def truncate(self, why: str = "stopped", notes: Any = None) -> None:
        """Truncate the episode from outside, for the reason `why`; no seat gets a result."""
        if self.over:
            return
        self._end(["truncated"] * self.game.num_players, why)
        self._history = (self._history, {-1: Truncate(why)}, notes)

    def _end(self, results: Sequence[Any], why: str) -> None:
        self._ended = Outcome(tuple(results), tuple(self.returns), why)
        self.to_act = ()
        self.steps_played += 1
        if self._log is not None:
            self._log.append((Event("end", f"{why}."),))

    # Branching

    def fork(self, seed: int | None = None) -> Episode:
        """An independent copy of the episode; with `seed`, its future chance is sampled again."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        twin._simulator = self._simulator.copy()
        if self._mistakes is not None:
            twin._mistakes = dict(self._mistakes)
        if self._log is not None:
            twin._log = list(self._log)
        twin._seen = {}
        if seed is not None:
            state = self.game.clone(self._simulator.state)
            self.game.reseed(state, check_seed(seed))
            twin.load(state)
        return twin

    def plain(self) -> Episode:
        """A fork with the game's own rewards instead of shaped ones, for looking ahead."""
        return self.fork()

    def imagine(self, seat: int, rng: Rng) -> Episode:
        """A copy for one seat's look-ahead, with hidden state, chance and seed sampled again.

        Raises `InvalidOption` for a game that hides information and cannot sample it again, and
        `OutOfTurn` once the episode is over.
        """
        if self.over:  # all that was hidden, such as folded cards, is in its last state
            raise OutOfTurn("the episode is over: there is nothing to look ahead to")
        twin = self.plain()
        state, twin.seed = self.game.determinize(twin._simulator.state, seat, rng), rng.word()
        self.game.reseed(state, twin.seed)
        twin.load(state)
        return twin

    def scripted_action(self, seat: int) -> int:
        """The action number that the game's own script would play; -1 means any legal action.

        Raises `InvalidOption` for a game without a script.
        """
        return self.game.scripted(self._simulator.state, seat)

    def load(self, state: Any) -> None:
        """Continue from a given state; history, log and returns start here."""
        self._simulator.load(state)
        self._clear(self.game.clone(state))

    def playout(self, rng: Rng, limit: int = 10_000) -> Sequence[float]:
        """Play up to `limit` random legal moves, keeping no history; returns each seat's return."""
        self.steps_played += self._simulator.playout(rng, limit)
        self.to_act = self._simulator.to_act
        return self.returns

    def snapshot(self) -> Snapshot:
        """Everything needed to return to this point."""
        start = None if self._start is None else self.game.clone(self._start)
        return Snapshot(
            state=self.game.clone(self._simulator.state),
            start=(self.seed, start),
            history=self._history,
            steps_played=self.steps_played,
            returns=tuple(self._simulator.returns),
            outcome=self._ended,
            mistakes=self.mistakes,
            lives=self._lives,
        )

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the point where a snapshot was taken, in this or another process."""
        self.seed, start = snapshot.start
        self._simulator.load(snapshot.state)
        self._simulator.set_returns(snapshot.returns)
        self._clear(start)
        self._history = snapshot.history
        self.steps_played = snapshot.steps_played
        self._mistakes = {p: n for p, n in enumerate(snapshot.mistakes) if n}
        self._ended, self._lives = snapshot.outcome, snapshot.lives
        if snapshot.outcome is not None:
            self.to_act = ()
            forfeits = [p for p, r in enumerate(snapshot.outcome.results) if r == "forfeit"]
            self._extra = self.game.forfeit(*forfeits) if forfeits else None


def _replay_step(simulator: Simulator, played: PlayedStep) -> tuple[Event, ...]:
    """Advance a fresh simulator by one step of a history, and return the step's events."""
    if why := ended_by(simulator.game.players, played.actions):
        return (Event("end", why),)
    before = simulator.before_step()
    if not simulator.advance(played.actions):
        raise InvalidAction(played.actions, "the recorded moves, from the recorded start")
    return tuple(simulator.events(before, played.actions))


def private(text: str, seat: int, **data: Any) -> Event:
    """An event that only `seat` may know."""
    return Event("private", text, data, only(seat))
