"""Agents and turns: an agent answers many waiting turns in one call.

The agents themselves are plugins; this is what they share and how they are named.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from inspect import isasyncgenfunction, iscoroutinefunction
from math import isfinite
from operator import index
from typing import Any, Generic

import msgspec
import numpy as np
from typing_extensions import TypeVar

from palestra.agents.answers import WrongAnswer, discard, is_awaited
from palestra.agents.asking import Asking, Question
from palestra.agents.budget import MOST, Account, Usage
from palestra.agents.models import Tokens
from palestra.endings import ending_text
from palestra.kernel.episode import Episode
from palestra.kernel.errors import (
    InvalidAction,
    InvalidOption,
    OutOfTurn,
    PalestraError,
    show,
)
from palestra.kernel.events import Event
from palestra.kernel.game import Game, Mask
from palestra.kernel.rng import Rng
from palestra.phrasing.wording import HIDDEN, shows_moves
from palestra.plain import PLAIN, plain_data
from palestra.scene import Scene

T = TypeVar("T")
GameT = TypeVar("GameT", bound=Game[Any, Any], default=Any)


class Turn(msgspec.Struct, Generic[GameT], frozen=True, eq=False, gc=False):
    """One seat of one episode waiting for a decision, with everything this seat may know.

    `Turn[Chess]` says which game it is a turn of: its `game` is then typed. The runner makes it.
    What the seat may play raises `OutOfTurn` while the seat is not to act, `fork` once the episode
    is over, and what the seat sees once somebody else has taken it.

    seat: the number of the seat, from 0.
    since: the length of the transcript at this seat's last turn.
    account: what the agent has spent and may still spend; None outside a run.
    error: why the last answer to this same turn was refused; empty at the first.
    tries: how many answers were refused so far in this turn.
    sibling: distinguishes rollouts from one start, which draw different random numbers.
    life: who sits at the seat: 0 for the first person, 1 for the next; -1 for the current one.
    move_seconds: the time limit of this move, where the runner keeps one.
    """

    _episode: Episode
    seat: int
    since: int = 0
    account: Account | None = None
    error: str = ""
    tries: int = 0
    sibling: int = 0
    life: int = -1
    move_seconds: float | None = None

    def __post_init__(self) -> None:
        if self.life < 0:
            msgspec.structs.force_setattr(self, "life", self._episode.life(self.seat))

    @property
    def game(self) -> GameT:
        """The rules, without a state."""
        return self._episode.game  # type: ignore[return-value]  # an episode of any game

    @property
    def env(self) -> str:
        """The environment's id, or the game's class name if it has none."""
        spec = self._episode.spec
        return spec.id if spec else type(self.game).__name__

    @property
    def episode_key(self) -> int:
        """The key under which an agent keeps its memory of an episode.

        It is the same for every turn of one episode, except that each newcomer at a seat gets a new
        key, because they know nothing of what happened before they joined.
        """
        return memory_key(self._episode, self.seat, self.life)

    @property
    def episode_id(self) -> int:
        """The same number for every turn of one episode, whoever sits at the table."""
        return id(self._episode)

    @property
    def start_key(self) -> str:
        """A number that is the same for every episode with the same game, options and seed.

        Only a program that tries seeds one by one can recover the seed from it.
        """
        start = f"{self.game!r} {self._episode.seed}"
        return blake2b(start.encode(), digest_size=8).hexdigest()

    def rng(self, seed: int, stream: int) -> Rng:
        """A generator for this decision alone: it is the same in every run of the episode.

        It depends on the agent's own `seed` and `stream`, on the episode, the seat, the step and on
        how many answers were refused, but not on other episodes. Only a program that tries seeds
        one by one can recover the episode's seed from it.
        """
        episode = self._episode
        parts = [seed, stream, episode.seed, self.seat, episode.steps_played, self.tries]
        parts += [self.sibling] if self.sibling else []
        digest = blake2b(repr(parts).encode(), digest_size=8).digest()
        return Rng.seeded(int.from_bytes(digest, "little"), stream=stream)

    @property
    def steps_played(self) -> int:
        """How many steps have been played."""
        return self._episode.steps_played

    @property
    def observation(self) -> Any:
        """What the seat sees as an array, of shape and dtype of `game.observation_space(seat)`; a
        copy.
        """
        return self._own.observation(self.seat)

    @property
    def mask(self) -> Mask:
        """1 for every legal action number, int8 of shape (n,)."""
        return self._own.action_mask(self.seat).copy()

    @property
    def legal_actions(self) -> list[Any]:
        """Every legal action that has a number, in order of their numbers."""
        return self._acting.legal_actions(self.seat)

    @property
    def legal(self) -> Any:
        """The grammar of a text game, a copy of the mask of an array game."""
        legal = self._acting.legal(self.seat)
        return legal.copy() if isinstance(legal, np.ndarray) else legal

    @property
    def legal_texts(self) -> list[str]:
        """Every legal numbered action as it is written."""
        return self._acting.legal_texts(self.seat)

    @property
    def legal_text(self) -> str:
        """The legal actions in one line."""
        return self._acting.legal_text(self.seat)

    @property
    def text(self) -> str:
        """The text prompt: events since this seat's last turn, the position, the legal moves."""
        return self._own.prompt(self.seat, self.since)

    @property
    def position(self) -> str:
        """The position and the legal moves of this seat, without earlier events."""
        return self._own.prompt(self.seat, self.cursor)

    @property
    def scene(self) -> Scene:
        """What to draw for this seat."""
        return self._own.scene(self.seat)

    @property
    def transcript(self) -> Sequence[Event]:
        """The events that this person may know; a newcomer's transcript begins when they join."""
        return tuple(self._episode.transcript(self.seat, self.life))

    @property
    def cursor(self) -> int:
        """How many events this seat has been shown so far: the `since` of its next turn."""
        return self._episode.cursor(self.seat)

    @property
    def returns(self) -> float:
        """The sum of this person's rewards so far, at this seat."""
        if not self.game.has_newcomers:
            return self._episode.returns[self.seat]
        return self._episode.paid(self.seat, self.life)

    @property
    def result(self) -> str:
        """The seat's own result once the episode is over, such as "win"; empty before."""
        outcome = self._episode.outcome
        return outcome.results[self.seat] if outcome else ""

    @property
    def ending(self) -> str:
        """How the episode ended, in sentences for people; empty before."""
        return ending_text(self._episode)

    def action_text(self, action: Any) -> str:
        """The text of an `action`, in the form that `parse` reads."""
        return self._acting.action_text(self.seat, action)

    def parse(self, text: str) -> Any:
        """The action that the answer `text` states; raises `InvalidAction` if it states none."""
        return self._acting.parse(self.seat, text)

    def state_key(self) -> bytes:
        """A digest that is equal where this seat faces the same decision."""
        return self._own.state_key(self.seat)

    def anchor(self) -> bytes:
        """The digest of this decision without counters, as records hold it; see `Game.anchor`."""
        return self.game.anchor(self._acting.state, self.seat)

    def sample(self, rng: Rng) -> Any:
        """A random legal action, drawn from `rng`."""
        return self._acting.sample(self.seat, rng)

    def scripted_action(self) -> int:
        """The action number that the game's own script would play; -1 means any legal action."""
        return self._acting.scripted_action(self.seat)

    def fork(self, rng: Rng) -> Episode:
        """A copy for looking ahead, with hidden state and future chance sampled again from `rng`.

        Raises `InvalidOption` for a game that hides information and cannot sample it again, and
        `OutOfTurn` once the episode is over.
        """
        episode = self._own
        own = Rng(rng.key, rng.counter)  # one of the agent's class could note what is drawn from
        twin = episode.imagine(self.seat, own)
        rng.counter = own.counter
        return twin

    @property
    def _own(self) -> Episode:
        """The episode, while this person sits at the seat: what it shows next is for another."""
        episode = self._episode
        if episode.game.has_newcomers and episode.life(self.seat) != self.life:
            name = self.game.players[self.seat]
            raise OutOfTurn(f"somebody else is {name} now: this turn was another person's")
        return episode

    @property
    def _acting(self) -> Episode:
        """The episode, if this seat is to act: the rules know the moves of no other seat."""
        episode = self._own
        if self.seat in episode.to_act:
            return episode
        name = self.game.players[self.seat]
        raise OutOfTurn(f"{name} is not to act now: this turn was answered; wait for the next one")


def memory_key(episode: Episode, seat: int, life: int) -> int:
    """The key under which agents keep what they remember of one person's episode."""
    people = episode.game.num_players
    return id(episode) + ((life * people + seat) << 64 if life else 0)


def memory_keys(episode: Episode) -> list[int]:
    """The keys under which agents keep what they remember of an episode."""
    if not episode.game.has_newcomers:
        return [id(episode)]
    seats = range(episode.game.num_players)
    joined = [(seat, life + 1) for seat in seats for life in range(episode.life(seat))]
    return [id(episode), *(memory_key(episode, seat, life) for seat, life in joined)]


class Decision(msgspec.Struct, gc=False):
    """An answer to one turn: an action, or text that the game parses, with its usage.

    action: the number of a move, or a typed action; None if `text` is given.
    text: the answer as it was written; the game parses it.
    usage: the tokens, money and seconds that it took.
    logprob: the natural log-probability that the agent gave the action; None if unknown.
    thought: what was thought before the answer; it is recorded separately.
    model: the name of the model. sampling: its settings, such as temperature.
    tokens: the exact tokens of the last reply, if they were requested. earlier: those of the
        replies before it, in order.
    facts: intermediate results for the record only, such as `value`, `candidates` and `confidence`;
        `palestra.records.facts` lists the names in use.
    unread: why the text states no move, where the agent knows (its model called two tools): it is
        refused for this reason, and the game does not read it.
    """

    action: Any = None
    text: str | None = None
    usage: Usage = Usage()
    logprob: float | None = None
    thought: str = ""
    model: str = ""
    sampling: Mapping[str, Any] = {}
    tokens: Tokens | None = None
    earlier: tuple[Tokens, ...] = ()
    facts: Mapping[str, Any] = {}
    unread: str = ""


class PartialDecisions(PalestraError):
    """An agent could not answer some of its turns; the other answers are kept.

    `answers` has one entry for each of `turns`: a `Decision`, or an exception, which ends the
    episode of that turn.
    """

    def __init__(self, turns: Sequence[Turn], answers: Sequence[Decision | Exception]) -> None:
        failed = [answer for answer in answers if isinstance(answer, Exception)]
        super().__init__(f"no answer to {len(failed)} of {len(turns)} turns; first: {failed[0]}")
        self.turns, self.answers = list(turns), list(answers)


def plain_decision(decision: Decision) -> Decision:
    """A copy of plain values, which an agent that keeps the original cannot change any more.

    The action stays as it is: the episode makes it plain when it checks it.
    """
    given = msgspec.structs.asdict(decision)
    parts = [given[name] for name in Decision.__struct_fields__]
    return Decision(parts[0], *[p if type(p) in PLAIN else _plain_part(p) for p in parts[1:]])


def _plain_part(value: Any) -> Any:
    kind = type(value)
    for own in (Usage, Tokens):
        if issubclass(kind, own):
            return own(*plain_data(msgspec.structs.astuple(value))[:6])
    if issubclass(kind, tuple):  # of tokens
        return tuple([_plain_part(one) for one in tuple.__iter__(value)])
    return plain_data(value)


def decision_problem(decision: Any) -> str:
    """Why a plain decision cannot be recorded; empty if it can."""
    if not isinstance(decision, Decision):
        return f"an agent answers with Decisions, not {show(decision)}"
    said: Any = decision
    if said.text is not None and not isinstance(said.text, str):
        return f"Decision.text is a str or None, not {show(said.text)}"
    if not all(isinstance(text, str) for text in (said.thought, said.model, said.unread)):
        return "Decision.thought, Decision.model and Decision.unread are str"
    logprob = said.logprob
    if logprob is not None and not (isinstance(logprob, float | int) and isfinite(logprob)):
        return f"Decision.logprob is a finite number or None, not {show(logprob)}"
    used = said.usage
    if not isinstance(used, Usage) or used.uncountable:
        return f"Decision.usage is a Usage of amounts from 0 to {MOST}, not {show(used)}"
    if said.tokens is not None and not isinstance(said.tokens, Tokens):
        return f"Decision.tokens is a Tokens or None, not {show(said.tokens)}"
    earlier = said.earlier
    if not (isinstance(earlier, tuple) and all(isinstance(one, Tokens) for one in earlier)):
        return f"Decision.earlier is a tuple of Tokens, not {show(earlier)}"
    for name, data in (("sampling", said.sampling), ("facts", said.facts)):
        if data and not _is_data(data):
            return f"Decision.{name} is a mapping that JSON can hold, not {show(data)}"
    return ""


def decided_action(episode: Episode, seat: int, decision: Decision) -> Any:
    """The legal action that a decision gives or states; raises `InvalidAction` if it does not."""
    if decision.unread:
        legal = episode.legal_text(seat) if shows_moves(episode.game, seat) else HIDDEN
        raise InvalidAction(decision.text or "", legal, why=decision.unread)
    if decision.action is None and decision.text is not None:
        return episode.parse(seat, decision.text)
    return episode.check(seat, decision.action)


def _is_data(mapping: Any) -> bool:
    try:
        written = msgspec.json.decode(msgspec.json.encode(mapping))
    except Exception:  # the fields may hold any object
        return False
    return isinstance(mapping, Mapping) and written is not None


class Agent(ABC):
    """Base class of agents: `act` receives a batch of turns and returns one decision for each.

    `name` is the string that selected the agent, such as "mcts:simulations=50".
    """

    name: str = ""

    @abstractmethod
    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        """Return a decision for each of `turns`, in order.

        Raises `PartialDecisions` if some have none.
        """

    def deliberate(self, turn: Turn) -> Asking | None:
        """What `act` decides for `turn`, as a generator of questions: for asynchronous runs.

        None, where the agent has none: then `act` is called.
        """
        return None

    def reseed(self, seed: int) -> None:  # noqa: B027 - most agents draw nothing
        """Start the agent's own random numbers afresh from `seed`; called before a run or an
        episode.
        """

    def forget(self, episode_key: int) -> None:  # noqa: B027 - most agents keep nothing
        """Drop what is kept under this key: an episode with this `Turn.episode_key` has ended."""

    def close(self) -> None:  # noqa: B027 - most agents hold nothing
        """The run is over; free models and connections."""


class _Coroutines:
    """Awaits coroutines that come with their time limits, each in a thread."""

    together = False  # with a concurrency of 1 too

    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency

    def chat(self, requests: Sequence[tuple[Any, float | None]]) -> Sequence[Any]:
        from palestra.agents.awaiting import await_all  # asyncio takes a while to import

        return await_all([value for value, _ in requests], [limit for _, limit in requests])


def agent_name(function: Any) -> str:
    """What records call a function, class or object that plays and was given no name."""
    own = getattr(function, "func", function)  # of a functools.partial
    given = getattr(own, "name", "")
    if given and isinstance(given, str):
        return given
    return str(getattr(own, "__name__", type(own).__name__))


class FunctionAgent(Agent):
    """An agent from whatever answers one turn.

    function: a function of a `Turn`, or an object with a method `act(turn)` or `__call__(turn)`; it
        may be a coroutine function or an async generator function, whose last value then counts. It
        returns the number of a move, its text, an action that `Turn.parse` gave, or a `Decision`.
    name: what records call it; by default the name of the function.
    concurrency: how many turns its coroutines answer at the same time.

    An object's own `reseed(seed)`, `forget(episode_key)` and `close()` are called as those of an
    `Agent`. Raises `WrongAnswer` for any other return, which says what came, and `InvalidOption`
    for a concurrency below 1; where only some of several turns failed, `PartialDecisions` holds
    the errors of those and the decisions of the others.
    """

    def __init__(self, function: Any, name: str = "", *, concurrency: int = 64) -> None:
        if concurrency < 1:
            raise InvalidOption(f"concurrency is 1 or more, not {concurrency}")
        act = getattr(function, "act", None)
        self._object, self._concurrency = function, concurrency
        self._answer: Callable[[Turn], Any] = act if callable(act) else function
        self.name = name or agent_name(function)
        self._coroutines = _Coroutines(concurrency)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        answers = [self._called(turn) for turn in turns]
        waiting = [place for place, answer in enumerate(answers) if is_awaited(answer)]
        if waiting:
            from palestra.agents.awaiting import await_all  # asyncio takes a while to import

            limits = [turns[place].move_seconds for place in waiting]
            values = await_all([answers[place] for place in waiting], limits, self._concurrency)
            for place, value in zip(waiting, values, strict=True):
                answers[place] = value
        decided = [a if isinstance(a, Exception) else self._decided(a) for a in answers]
        failed = [answer for answer in decided if isinstance(answer, Exception)]
        if failed and len(turns) == 1:
            raise failed[0]
        if failed:
            raise PartialDecisions(turns, decided)
        return decided  # type: ignore[return-value]

    def deliberate(self, turn: Turn) -> Asking | None:
        own = (self._answer, getattr(self._answer, "__call__", None))  # noqa: B004 - an object's
        if not any(iscoroutinefunction(one) or isasyncgenfunction(one) for one in own):
            return None
        return self._await(turn)

    def _await(self, turn: Turn) -> Asking:
        coroutine = self._answer(turn)
        try:
            (answer,) = yield [Question(self._coroutines, (coroutine, turn.move_seconds))]
        finally:
            discard(coroutine)
        decided = self._decided(answer)
        if isinstance(decided, Exception):
            raise decided
        return decided

    def _called(self, turn: Turn) -> Any:
        try:
            return self._answer(turn)
        except Exception as error:
            return error

    def _decided(self, answer: Any) -> Decision | Exception:
        """An answer as a decision; the exception that says why it is none."""
        if isinstance(answer, str):
            return Decision(text=answer)
        decision = answer if isinstance(answer, Decision) else Decision(answer)
        action = decision.action
        if isinstance(answer, Decision):
            if not (is_awaited(action) or (action is None and decision.text is None)):
                return decision
        elif isinstance(action, msgspec.Struct):
            return decision
        elif not isinstance(action, bool):
            with suppress(TypeError):
                return Decision(index(action))
        discard(action)
        return WrongAnswer(
            f"agent {self.name!r} returned {show(answer)} ({type(answer).__name__}); return the "
            "number of a move (an int), its text (a str), or a palestra.Decision"
            + (", and await what is a coroutine" if is_awaited(action) else "")
        )

    def reseed(self, seed: int) -> None:
        self._tell("reseed", seed)

    def forget(self, episode_key: int) -> None:
        self._tell("forget", episode_key)

    def close(self) -> None:
        self._tell("close")

    def _tell(self, method: str, *given: Any) -> None:
        told = getattr(self._object, method, None)
        result = told(*given) if callable(told) else None
        if is_awaited(result):
            from palestra.agents.awaiting import await_all

            (ended,) = await_all([result])
            if isinstance(ended, Exception):
                raise ended
