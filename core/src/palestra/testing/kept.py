"""Checks of what agents keep for later: turns, what turns gave them, forks and generators."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from palestra.agents.agent import Turn
from palestra.kernel.episode import Episode
from palestra.kernel.errors import OutOfTurn, PalestraError, cause
from palestra.kernel.rng import Rng
from palestra.testing.alike import reseeded, sees_the_same
from palestra.testing.imagined import imagine_alike
from palestra.testing.own import GIVEN
from palestra.testing.parts import parts_of
from palestra.testing.privacy import REVEALS, no_leak, open_at, spread, states_of
from palestra.testing.subject import (
    Failed,
    Skipped,
    Subject,
    random_actions,
    require,
    same,
    sight,
)

SEEDS = 2
STEPS = 6  # of an episode in which turns are kept
SEATS = 3  # of one step whose turns are kept, or that are compared at an end
PLACES = 4  # positions of one episode from which two worlds are played to the end
END_SEEDS, TRIES = 8, 40  # episodes, fewer once so many pairs of worlds were played
LAST = 60  # steps for which they are
WORDS = 64  # of the game's generator that are looked for among an agent's own

# What tells the moves of a seat, which a turn answers only while that seat is to act
MOVES: dict[str, Callable[[Turn], Any]] = {
    "legal": lambda turn: turn.legal,
    "legal_actions": lambda turn: turn.legal_actions,
    "legal_texts": lambda turn: turn.legal_texts,
    "legal_text": lambda turn: turn.legal_text,
    "anchor": lambda turn: turn.anchor(),
    "scripted_action": lambda turn: turn.scripted_action(),
    "sample": lambda turn: repr(turn.sample(Rng(0))),
    "parse": lambda turn: turn.parse("Pick(object='red circle')"),
    "action_text": lambda turn: turn.action_text(0),
}
# What a turn tells at any time
SIGHTS = ("text", "position", "scene", "transcript", "returns", "result", "ending")


class NotingRng(Rng):
    """A generator of an agent's own class, which notes what it is given to draw from."""

    __slots__ = ("given",)

    def __init__(self, key: int) -> None:
        super().__init__(key)
        self.given: list[Any] = []

    def shuffle(self, items: MutableSequence[Any]) -> None:
        self.given.append(list(items))
        Rng.shuffle(self, items)

    def choice(self, items: Sequence[Any]) -> Any:
        self.given.append(items)
        return Rng.choice(self, items)

    def weighted(self, weights: Sequence[float]) -> int:
        self.given.append(weights)
        return Rng.weighted(self, weights)


# Turns


def kept_turns_tell_nothing_more(subject: Subject) -> None:
    """A turn that is kept tells no more than its seat may know, and changes nothing.

    What it gave stays as it was. While its seat is not to act, it refuses what tells the moves of a
    seat; while it is, these are the same whatever is hidden. At the end it tells the same in two
    worlds that the seat cannot tell apart, unless an event of the last step has shown which it is.
    """
    for seed in range(SEEDS):
        _keep_turns(subject, seed)
    if subject.game.perfect_information:
        return
    for seed in range(SEEDS):
        _moves_tell_nothing(subject, seed)
    for one, two, seat, where in _ends(subject):
        if not _revealed(one, two, seat):
            told = [_told(Turn(world, seat)) for world in (one, two)]
            no_leak(
                subject.game,
                [name for name in told[0] if not same(told[0][name], told[1][name])],
                f"{where}: at the end, {{}} of a turn that player {seat} kept tells what was "
                "hidden; if the rules show it, tell it by an event of kind 'reveal'",
            )


@dataclass(frozen=True, slots=True)
class _Kept:
    """A turn, and what it gave, as objects and as values of that time."""

    turn: Turn
    given: dict[str, Any]
    values: dict[str, dict[str, Any]]

    @classmethod
    def of(cls, subject: Subject, episode: Episode, seat: int) -> _Kept:
        turn = Turn(episode, seat)
        names = [name for name in GIVEN if name != "observation" or subject.has_array_view]
        given = {name: getattr(turn, name) for name in names}
        return cls(turn, given, {name: parts_of(value) for name, value in given.items()})

    def look(self, where: str) -> None:
        """Read all that the turn tells now, and compare what it gave with what that was."""
        where = f"{where}: a turn that player {self.turn.seat} kept"
        _told(self.turn)
        if self.turn.seat not in self.turn._episode.to_act:
            for name, ask in MOVES.items():
                require(_refuses(ask, self.turn), f"{where} tells {name}")
        for name, value in self.given.items():
            require(
                parts_of(value) == self.values[name],
                f"{where} gave them {name}, which now shows a later state: give a copy",
                f"{name} shows later states",
            )


def _keep_turns(subject: Subject, seed: int) -> None:
    """Play with every turn kept and read after every step, beside an episode without any."""
    episode, alone, rng = subject.episode(seed), subject.episode(seed), Rng(seed)
    kept: list[_Kept] = []
    for number in range(STEPS):
        if episode.over:
            break
        where = f"seed {seed}, step {number}"
        kept += [_Kept.of(subject, episode, seat) for seat in episode.to_act[:SEATS]]
        actions = random_actions(episode, rng)
        episode.act(actions)
        alone.act(actions)
        for one in kept:
            one.look(where)
        _is_the_same_game(episode, alone, where)
    episode.truncate()
    for one in kept:
        one.look(f"seed {seed}, after the end")
        require(
            _refuses(one.turn.fork, Rng(1)),
            f"seed {seed}: a turn that was kept looks ahead from an episode that is over",
        )


def _is_the_same_game(episode: Episode, alone: Episode, where: str) -> None:
    """Whoever reads kept turns leaves the game, its generator and its log as they were."""
    both = [(one.state_key(), _generator(one.state), one.events) for one in (episode, alone)]
    require(
        both[0] == both[1] and list(episode.returns) == list(alone.returns),
        f"{where}: the game is another one where an agent reads the turns that it has kept",
    )


def _generator(state: Any) -> str:
    return repr(getattr(state, "rng", ""))


def _refuses(ask: Callable[..., Any], given: Any) -> bool:
    try:
        ask(given)
    except OutOfTurn:
        return True
    return False


def _told(turn: Turn) -> dict[str, Any]:
    """What a turn tells at any time."""
    told: dict[str, Any] = {}
    for name in SIGHTS:
        try:
            told[name] = getattr(turn, name)
        except OutOfTurn:  # somebody else sits there now
            told[name] = None
    return told


def _moves_tell_nothing(subject: Subject, seed: int) -> None:
    """What a turn tells of the moves of its seat is the same whatever is hidden from that seat."""
    game, states = subject.game, states_of(subject, seed)
    for step in spread(range(len(states)), PLACES, seed):
        for seat in spread(game.to_act(states[step]), SEATS, step):
            imagined = game.determinize(states[step], seat, Rng(seed + step))
            turns = [Turn(open_at(subject, state), seat) for state in (states[step], imagined)]
            asked = [_asked(turn) for turn in turns]
            no_leak(
                game,
                [name for name in asked[0] if not same(asked[0][name], asked[1][name])],
                f"seed {seed}, step {step}: {{}} of the turn of player {seat} betrays a secret: it "
                "changes when determinize() draws the secret anew",
            )


def _asked(turn: Turn) -> dict[str, Any]:
    """What a turn answers of its moves, errors included, and what it has an agent draw from."""
    asked: dict[str, Any] = {}
    for name, ask in MOVES.items():
        try:
            asked[name] = parts_of(ask(turn))
        except Exception as error:
            asked[name] = cause(error)
    rng = NotingRng(3)
    turn.sample(rng)
    return {**asked, "what is drawn from": repr(rng.given)}


# Ends


End = tuple[Episode, Episode, int, str]


@lru_cache(maxsize=1)
def _ends(subject: Subject) -> list[End]:
    """Pairs of episodes that are over and that a seat cannot tell apart, but by their last step.

    They begin in a position near the end or before, and in one that the seat imagines there. Two
    checks share them. Short episodes are of more seeds.
    """
    game, found, tried = subject.game, list[End](), 0
    for seed in range(END_SEEDS):
        states = states_of(subject, seed)
        for step in sorted({len(states) - 1, *spread(range(len(states)), PLACES, seed)}):
            for seat in spread(range(game.num_players), SEATS, step):
                imagined = game.determinize(states[step], seat, Rng(step + seed))
                one, two = (reseeded(subject, state, step) for state in (states[step], imagined))
                if _reach_the_end(subject, one, two, seat, seed + step):
                    found.append((one, two, seat, f"seed {seed}, on from step {step}"))
                tried += 1
        if tried >= TRIES:
            break
    return found


def _reach_the_end(subject: Subject, one: Episode, two: Episode, seat: int, seed: int) -> bool:
    """Play both worlds to the end; whether they were alike for a seat up to their last step."""
    rng = Rng(seed)
    for _ in range(LAST):
        actions = random_actions(one, rng)
        try:
            two.act(actions)
        except ValueError:
            return False  # not legal in the other world
        one.act(actions)
        if one.over or two.over:
            break
        if not sees_the_same(subject, one, two, seat):
            return False
    both = one.over and two.over and one.outcome == two.outcome
    return (
        both and one.returns[seat] == two.returns[seat] and _heard(one, seat) == _heard(two, seat)
    )


def _heard(episode: Episode, seat: int) -> list[tuple[str, str, Any]]:
    return [(event.kind, event.text, dict(event.data)) for event in episode.transcript(seat)]


def _revealed(one: Episode, two: Episode, seat: int) -> bool:
    last = [*one.log[-1], *two.log[-1]]
    return any(event.kind == REVEALS and event.visible_to(seat) for event in last)


# Forks


def forks_keep_secrets_at_the_end(subject: Subject) -> None:
    """At the end of an episode nobody looks ahead, and `determinize` does not give the truth.

    It refuses with an error of this library, such as `OutOfTurn`, or gives a state that is over,
    which the seat cannot tell from the real one and which is the same in every world that they
    cannot tell apart.
    """
    for seed in range(SEEDS):
        episode = _ended(subject, seed)
        for seat in spread(range(subject.game.num_players), SEATS, seed):
            where = f"seed {seed}: at the end, player {seat}"
            for look in (
                Turn(episode, seat).fork,
                partial(episode.imagine, seat),
            ):
                require(_refuses(look, Rng(1)), f"{where} looks ahead")
            _imagined_end_is_theirs(subject, episode, seat, where)
    if subject.game.perfect_information:
        return
    for one, two, seat, where in _ends(subject):
        refused = _imagined_end(subject, one.state, seat, where) is None
        if not refused and sees_the_same(subject, one, two, seat):
            imagine_alike(subject, one.state, two.state, seat, f"{where}, at the end")


def _ended(subject: Subject, seed: int) -> Episode:
    """An episode at its end, or truncated where that is too far."""
    episode, rng = open_at(subject, states_of(subject, seed)[-1]), Rng(seed)
    for _ in range(LAST):
        if episode.over:
            return episode
        episode.act(random_actions(episode, rng))
    episode.truncate()
    return episode


def _imagined_end_is_theirs(subject: Subject, episode: Episode, seat: int, where: str) -> None:
    state = episode.state
    imagined = _imagined_end(subject, state, seat, where)
    if imagined is None:
        return
    over = [not subject.game.to_act(one) for one in (state, imagined)]
    require(over[0] == over[1], f"{where} imagines with determinize() that it is not over")
    seen = [
        sight(open_at(subject, one), seat, array=subject.has_array_view)
        for one in (state, imagined)
    ]
    different = [name for name in seen[0] if not same(seen[0][name], seen[1][name])]
    require(
        not different,
        f"{where} imagines with determinize() an end in which {', '.join(different)} are not what "
        "they see; keep what they see, or raise OutOfTurn where nobody is to act any more",
    )


def _imagined_end(subject: Subject, state: Any, seat: int, where: str) -> Any:
    """What a seat imagines in the last state; None where `determinize` refuses that."""
    try:
        return subject.game.determinize(state, seat, Rng(seat + 1))
    except PalestraError:
        return None
    except Exception as error:
        raise Failed(
            f"{where} asks determinize(), which raises {cause(error)}; raise OutOfTurn where "
            "nobody is to act any more",
            "determinize() fails at the end",
        ) from error


# Generators


def generators_stay_apart(subject: Subject) -> None:
    """An agent's generators tell nothing of the game's and do not change it.

    What a turn samples and imagines is drawn from the agent's generator alone: it is the same
    whatever the game draws next, and a fork goes on with a generator of its own.
    """
    game = subject.game
    for seed in range(SEEDS):
        states = states_of(subject, seed)
        if not hasattr(states[0], "rng"):
            raise Skipped("the state has no generator `rng`")
        for step in spread(range(len(states)), PLACES, seed):
            for seat in spread(game.to_act(states[step]), SEATS, step):
                where = f"seed {seed}, step {step}: player {seat}"
                _draws_apart(subject, states[step], seat, where)
                _imagines_apart(subject, states[step], seat, where)


def _draws_apart(subject: Subject, state: Any, seat: int, where: str) -> None:
    """What an agent draws is nothing of what the game draws, and does not advance it."""
    episode = open_at(subject, state)
    turn, before = Turn(episode, seat), _generator(episode.state)
    words = [turn.rng(0, 0).word() for _ in range(2)]
    require(words[0] == words[1], f"{where} gets other random numbers by the same seed and stream")
    next_words = set(_words(state))
    own = [rng.word() for rng in (turn.rng(n, n) for n in range(2)) for _ in range(WORDS)]
    require(not next_words.intersection(own), f"{where} draws what the game draws next")
    turn.sample(turn.rng(0, 1))
    turn.fork(turn.rng(0, 1)).playout(Rng(1), 2)
    require(
        before == _generator(episode.state),
        f"{where} changes what the game draws next by sampling or looking ahead",
        "an agent changes the game's generator",
    )


def _words(state: Any) -> list[int]:
    """The next words of a state's generator."""
    rng = state.rng
    if not isinstance(rng, Rng):  # of an array game: two halves of the key, and the counter
        low, high, counter = (int(number) for number in rng)
        rng = Rng(low | high << 32, counter)
    copy = Rng(rng.key, rng.counter)
    return [copy.word() for _ in range(WORDS)]


def _imagines_apart(subject: Subject, state: Any, seat: int, where: str) -> None:
    """A fork does not depend on the game's generator, and does not have it."""
    worlds = [open_at(subject, state), reseeded(subject, state, LAST)]
    if not sees_the_same(subject, worlds[0], worlds[1], seat):
        return  # what is to come has been drawn already, and is in sight
    own = NotingRng(5)
    forks = [Turn(worlds[0], seat).fork(own), Turn(worlds[1], seat).fork(Rng(5))]
    found = [(fork.state_key(), _generator(fork.state), fork.seed) for fork in forks]
    require(
        found[0] == found[1],
        f"{where} imagines otherwise where the game draws otherwise: determinize() draws from its "
        "argument `rng` alone, and reseed() replaces every generator of the state",
        "forks depend on the game's generator",
    )
    require(
        _words(forks[0].state) != _words(state),
        f"{where} looks ahead with the game's own generator: reseed() replaces it",
        "forks have the game's generator",
    )
    require(not own.given, f"{where} is given what is drawn from when they look ahead")
