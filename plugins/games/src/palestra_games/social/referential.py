"""A referential game: speakers see an object, listeners hear a message and find it among others.

Objects differ in attributes, such as colour and shape. In every round speakers and listeners are
paired anew; a speaker sees one object, drawn evenly, and sends a message of symbols that mean
nothing yet; his listener sees the message and some candidates, the object among them, and picks
one. Both are paid 1 if it is the right one. Then everybody is told what was meant, said and picked.
With one speaker and one listener, who sees all objects, it is the signalling game of D. Lewis,
"Convention", 1969; with more of both it is the population of "Dynamic population-based
meta-learning for multi-agent communication with natural language", 2021, in symbols: whoever seats
agents of different codes, or others from episode to episode, has a dynamic one, as in
`examples/growing_population.py`.

Known answers checked: with m messages for n objects, all of them candidates, no code is understood
more often than in min(1, m / n) of the rounds; with c candidates and n / m objects a message, the
mean of 1 / (1 + H) for H other candidates of the same message, which are hypergeometric; and the
urn learners of Argiento, Pemantle, Skyrms and Volkov, "Learning to signal", 2009, end up
understanding each other where there are two objects and two symbols.

The array view is an int16 vector of 6 + 3a + 2l + n numbers, for a attributes, messages of l
symbols and n objects, -1 being what is not there or not for this player to see:

    phase, role, partner            0 speak, 1 listen; 0 speaks, 1 listens; a seat
    rounds played, points
    the object, the message         a values; l symbols
    of the last round               the role, the object, the message, the object picked
    candidates                      0 or 1 for every object, for listeners
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from string import ascii_lowercase
from typing import Any

import numpy as np
from palestra import (
    Agent,
    ArrayGame,
    Bar,
    Decision,
    Event,
    InvalidOption,
    Outcome,
    Rng,
    Scene,
    Turn,
    UnknownName,
    agent,
    environment,
)
from palestra.kernel.game import Result
from palestra.rules import finish, randint, shuffle

SPEAK, LISTEN = 0, 1
ROLES = ("speaker", "listener")
NONE = -1
VALUES = (
    ("red", "blue", "green", "white", "black", "yellow"),
    ("circle", "square", "star", "heart", "cross", "moon"),
    ("tiny", "small", "plain", "large", "huge", "vast"),
)
MOST_PLAYERS, MOST_MESSAGES = 20, 1000


@environment(
    "games/Referential-v0",
    family="social",
    tags=("cooperation", "communication", "messages", "roles", "hidden-information"),
    paper=(
        "Lewis (1969), Convention; Gupta, Lanctot and Lazaridou (2021), Dynamic "
        "population-based meta-learning for multi-agent communication with natural language"
    ),
    splits={
        "signalling": {"attributes": 1, "values": 2, "symbols": 2, "length": 1},
        "population": {"num_players": 12, "candidates": 4},
    },
    players=(2, 20),
)
@dataclass(frozen=True)
class Referential(ArrayGame):
    """Speakers tell listeners which object is meant, in symbols that have no meaning yet.

    In every round each speaker has one listener. A speaker sees an object and writes a message.
    Then his listener, who sees the message but not the object, writes which of his candidates he
    takes it to be. If he is right, both are paid 1. Afterwards all are told what was meant, said
    and picked.
    """

    num_players: int = 2
    attributes: int = 2
    values: int = 3
    symbols: int = 3
    length: int = 2
    candidates: int = 0
    mixed: bool = False
    rounds: int = 10

    order = "phased"
    payoffs = "general"
    perfect_information = False
    observation_dtype = np.int16

    def __post_init__(self) -> None:
        if not 2 <= self.num_players <= MOST_PLAYERS or self.num_players % 2:
            raise InvalidOption(
                f"num_players must be even, from 2 to {MOST_PLAYERS}, not {self.num_players}"
            )
        if not 1 <= self.attributes <= len(VALUES) or not 2 <= self.values <= len(VALUES[0]):
            raise InvalidOption(
                f"attributes must be from 1 to {len(VALUES)} and values from 2 to "
                f"{len(VALUES[0])}, not {self.attributes} and {self.values}"
            )
        if not 1 <= self.symbols <= len(ascii_lowercase) or not 1 <= self.length <= 10:
            raise InvalidOption(
                f"symbols must be from 1 to {len(ascii_lowercase)} and length from 1 to 10, not "
                f"{self.symbols} and {self.length}"
            )
        if self.messages > MOST_MESSAGES:
            raise InvalidOption(
                f"symbols ** length must be at most {MOST_MESSAGES}, not {self.messages}"
            )
        if self.candidates != 0 and not 2 <= self.candidates <= self.objects:
            raise InvalidOption(
                f"candidates must be from 2 to {self.objects}, or 0 for all objects, not "
                f"{self.candidates}"
            )
        if self.rounds < 1:
            raise InvalidOption(f"rounds must be at least 1, not {self.rounds}")

    # What follows from the options

    @property
    def objects(self) -> int:
        return int(self.values**self.attributes)

    @property
    def messages(self) -> int:
        return int(self.symbols**self.length)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the objects are called, by number."""
        chosen = [words[: self.values] for words in VALUES[: self.attributes]]
        return tuple(" ".join(words) for words in product(*chosen))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """How the messages are written, by number."""
        letters = ascii_lowercase[: self.symbols]
        return tuple("".join(word) for word in product(letters, repeat=self.length))

    @property
    def shown(self) -> int:
        """How many candidates a listener sees."""
        return self.candidates or self.objects

    @property
    def num_actions(self) -> int:
        """Messages by number for speakers, objects for listeners."""
        return max(self.messages, self.objects)

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.rounds))

    @property
    def observation_shape(self) -> tuple[int]:
        return (6 + 3 * self.attributes + 2 * self.length + self.objects,)

    @property
    def observation_bounds(self) -> tuple[float, float]:  # type: ignore[override]
        return (NONE, max(self.rounds, len(ascii_lowercase), MOST_PLAYERS))

    def constants(self) -> Mapping[str, Any]:
        numbers = {"objects": self.objects, "messages": self.messages, "shown": self.shown}
        return {**super().constants(), **numbers}

    def fields(self) -> list[tuple[Any, ...]]:
        """Pairs, what is meant, said and picked by the seat of either, and the round before."""
        seats = self.num_players
        return [
            ("phase", np.int8),
            ("seated", np.int16, seats),
            ("role", np.int8, seats),
            ("partner", np.int16, seats),
            ("meant", np.int16, seats),
            ("message", np.int16, seats),
            ("open_to", np.uint8, (seats, self.objects)),
            ("last", np.int16, (seats, 4)),  # role, meant, message, picked
            ("totals", np.int32, seats),
            ("played", np.int32),
        ]

    # The rules

    @staticmethod
    def init_state(config: Any, state: Any) -> None:
        for seat in range(config.num_players):
            state.seated[seat] = seat
            for place in range(4):
                state.last[seat, place] = NONE
        deal(config, state)

    @staticmethod
    def apply_actions(config: Any, state: Any, actions: Any, out: Any) -> None:
        if state.phase == SPEAK:
            for seat in range(config.num_players):
                if state.role[seat] == SPEAK:
                    state.message[seat] = actions[seat]
                    state.message[state.partner[seat]] = actions[seat]
            ask(config, state, LISTEN)
            return
        for seat in range(config.num_players):
            picked = actions[seat if state.role[seat] == LISTEN else state.partner[seat]]
            state.last[seat, 0] = state.role[seat]
            state.last[seat, 1] = state.meant[seat]
            state.last[seat, 2] = state.message[seat]
            state.last[seat, 3] = picked
            if picked == state.meant[seat]:
                out.rewards[seat, 0] = 1.0
                state.totals[seat] += 1
        state.played += 1
        if state.played >= config.rounds:
            finish(state)
        else:
            deal(config, state)

    @staticmethod
    def write_legal_mask(config: Any, state: Any, seat: int, mask: Any) -> None:
        if state.role[seat] == SPEAK:
            for message in range(config.messages):
                mask[message] = 1
        else:
            for thing in range(config.objects):
                mask[thing] = state.open_to[seat, thing]

    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        """See the module's docstring for the layout."""
        a, n = config.attributes, config.length
        speaks = state.role[seat] == SPEAK
        view[0], view[1], view[2] = state.phase, state.role[seat], state.partner[seat]
        view[3], view[4] = state.played, state.totals[seat]
        spell(view, 5, state.meant[seat] if speaks else NONE, config.values, a)
        spell(view, 5 + a, state.message[seat], config.symbols, n)
        at = 5 + a + n
        view[at] = state.last[seat, 0]
        spell(view, at + 1, state.last[seat, 1], config.values, a)
        spell(view, at + 1 + a, state.last[seat, 2], config.symbols, n)
        spell(view, at + 1 + a + n, state.last[seat, 3], config.values, a)
        at += 1 + 2 * a + n
        for thing in range(config.objects):
            view[at + thing] = NONE if speaks else state.open_to[seat, thing]

    def outcome(self, state: Any) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        score: Result = "score"
        rate = float(state["totals"].mean()) / self.rounds
        reason = f"{rate:.0%} of the messages were understood"
        return replace(ended, results=(score,) * self.num_players, reason=reason)

    def scores(self, state: Any) -> tuple[float, ...]:
        return tuple(float(n) for n in state["totals"].tolist())

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        """Draw what a listener's speaker means, what others mean and say, and their candidates."""
        copy = self.clone(state)
        for listener in range(self.num_players) if not state.over else ():
            speaker = int(state.partner[listener])
            if state.role[listener] != LISTEN:
                continue
            pair = (speaker, listener)
            if seat == listener:
                meant = rng.choice(np.flatnonzero(state.open_to[listener]).tolist())
            elif seat == speaker:
                meant = int(state.meant[speaker])
            else:
                meant = rng.below(self.objects)
                said = rng.below(self.messages) if state.phase == LISTEN else NONE
                copy.message[list(pair)] = said
            copy.meant[list(pair)] = meant
            if seat != listener:
                others = [thing for thing in range(self.objects) if thing != meant]
                rng.shuffle(others)
                copy.open_to[listener] = 0
                copy.open_to[listener, [meant, *others[: self.shown - 1]]] = 1
        return copy

    # Words

    def rules_for(self, seat: int) -> str:
        symbols, many = ", ".join(ascii_lowercase[: self.symbols]), self.length > 1
        who = "Speakers and listeners are drawn anew every round."
        if not self.mixed:
            half = self.num_players // 2
            who = f"Players below player_{half} always speak, the others always listen."
        return "\n".join(
            [
                super().rules_for(seat),
                f"A message has {self.length} symbol{'s' if many else ''}, each of: {symbols}.",
                f"Objects: {', '.join(self.names)}.",
                f"{who} There are {self.rounds} rounds.",
            ]
        )

    def describe(self, state: Any, seat: int) -> str:
        partner = self.players[state.partner[seat]]
        lines = [
            f"You are {self.players[seat]}. Rounds played: {int(state.played)} of {self.rounds}. "
            f"Points: {int(state.totals[seat])}."
        ]
        if not state.over:
            speaks = state.role[seat] == SPEAK
            lines.append(f"You are the {ROLES[state.role[seat]]}, paired with {partner}.")
            if speaks:
                lines.append(f"The object is: {self.names[state.meant[seat]]}.")
            if state.message[seat] != NONE:
                lines.append(f"The message is: {self.words[state.message[seat]]}.")
            if not speaks:
                things = np.flatnonzero(state.open_to[seat]).tolist()
                lines.append(f"Candidates: {', '.join(self.names[thing] for thing in things)}.")
        if state.last[seat, 0] != NONE:
            role, meant, message, picked = state.last[seat].tolist()
            lines.append(f"Last round, as a {ROLES[role]}: {self._told(meant, message, picked)}")
        return "\n".join(lines)

    def _told(self, meant: int, message: int, picked: int) -> str:
        right = "right" if meant == picked else "wrong"
        return (
            f"{self.words[message]} was said for {self.names[meant]}, and {self.names[picked]} was "
            f"picked: {right}."
        )

    def action_text(self, state: Any, seat: int, action: int) -> str:
        return self.words[action] if state.role[seat] == SPEAK else self.names[action]

    def narrate(self, before: Any, actions: Mapping[int, int], after: Any) -> list[Event]:
        if before is None or before.phase == SPEAK:
            return []
        events = []
        for listener in sorted(actions):
            speaker = int(before.partner[listener])
            _, meant, message, picked = after.last[listener].tolist()
            text = f"{self.players[speaker]} to {self.players[listener]}: "
            data = {"speaker": speaker, "listener": int(listener), "meant": meant}
            data |= {"message": message, "picked": picked}
            events.append(Event("reveal", text + self._told(meant, message, picked), data))
        if after.over:
            events.append(Event("end", f"The game is over after {self.rounds} rounds."))
        return events

    def scene(self, state: Any, player: int | None = None) -> Scene:
        seats = range(self.num_players) if player is None else (player,)
        bars = tuple(
            Bar(name, float(state.totals[s]), float(self.rounds), s)
            for s, name in enumerate(self.players)
        )
        lines = [line for seat in seats for line in self.describe(state, seat).splitlines()[1:]]
        return Scene(bars=bars, lines=tuple(lines))


def deal(config: Any, state: Any) -> None:
    """Pair everybody anew, draw what is meant and the candidates, and ask the speakers."""
    half = config.num_players // 2
    shuffle(state, state.seated)
    found = 0
    for place in range(config.num_players):
        one = state.seated[place]
        if config.mixed:
            if place % 2 == 0:
                pair_up(config, state, one, state.seated[place + 1])
        elif one >= half:
            pair_up(config, state, found, one)
            found += 1
    ask(config, state, SPEAK)


def pair_up(config: Any, state: Any, speaker: int, listener: int) -> None:
    """Let one seat speak to another about an object among the candidates."""
    meant = randint(state, config.objects)
    for role in range(2):
        seat = speaker if role == SPEAK else listener
        state.role[seat] = role
        state.partner[seat] = listener if role == SPEAK else speaker
        state.meant[seat] = meant
        state.message[seat] = NONE
        for thing in range(config.objects):
            state.open_to[seat, thing] = 0
    state.open_to[listener, meant] = 1
    missing = config.shown - 1
    while missing > 0:
        thing = randint(state, config.objects)
        if state.open_to[listener, thing] == 0:
            state.open_to[listener, thing] = 1
            missing -= 1


def ask(config: Any, state: Any, role: int) -> None:
    """Ask all speakers, or all listeners, at once."""
    state.phase = role
    for seat in range(config.num_players):
        state.acting[seat] = state.role[seat] == role


def spell(view: Any, at: int, number: int, base: int, digits: int) -> None:
    """Write a number's digits, the highest first, or -1 for all if there is none."""
    for place in range(digits - 1, -1, -1):
        view[at + place] = NONE if number == NONE else number % base
        number = NONE if number == NONE else number // base


def read(digits: Sequence[int], base: int) -> int:
    """The number of which these are the digits; -1 if there is none."""
    number = 0
    for digit in digits:
        number = number * base + digit
    return NONE if NONE in digits else number


@agent(
    "signaller",
    plays=("games/Referential-v0",),
    needs=("array",),
    summary="Speaks and listens by a code, or learns one from an urn: style=code|urn.",
)
class Signaller(Agent):
    """Speaks and listens by a code, or learns one: style=code|urn.

    "code" says message o + `code` for object o, counted around, and as a listener takes the first
    candidate that this fits, or else the first. "urn" draws messages and objects in proportion to
    weights, all 1 at first; whenever it is understood, the weight it drew by grows by 1.
    """

    STYLES = ("code", "urn")

    def __init__(self, *, style: str = "code", code: int = 0, seed: int | None = None) -> None:
        if style not in self.STYLES:
            raise UnknownName("signaller style", style, self.STYLES)
        self._urn, self._code = style == "urn", code
        self._rng = Rng.seeded(seed, stream=8)
        self._weights: dict[tuple[int, int], Any] = {}

    def reseed(self, seed: int) -> None:
        self._rng = Rng.seeded(seed, stream=8)

    def forget(self, episode_key: int) -> None:
        for key in [key for key in self._weights if key[0] == episode_key]:
            del self._weights[key]

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(self._choose(turn)) for turn in turns]

    def _choose(self, turn: Turn) -> int:
        game = turn.game
        if not isinstance(game, Referential):
            raise InvalidOption(f"the signaller plays games/Referential-v0, not {turn.env}")
        seen = turn.observation.tolist()
        a, n = game.attributes, game.length
        meant, message = (
            read(seen[5 : 5 + a], game.values),
            read(seen[5 + a : 5 + a + n], game.symbols),
        )
        last = seen[5 + a + n : 6 + 3 * a + 2 * n]
        things = [thing for thing, flag in enumerate(seen[-game.objects :]) if flag > 0]
        if self._urn:
            key = (turn.episode_key, turn.seat)
            return self._draw(game, key, (meant, message), last, things)
        if seen[1] == SPEAK:
            return (meant + self._code) % game.messages
        fitting = [o for o in things if (o + self._code) % game.messages == message]
        return (fitting or things)[0]

    def _draw(
        self,
        game: Referential,
        key: tuple[int, int],
        said: tuple[int, int],
        last: Sequence[int],
        things: Sequence[int],
    ) -> int:
        """Learn from the last round, then draw a message or one of these things."""
        a, n = game.attributes, game.length
        if key not in self._weights:
            self._weights[key] = np.ones((2, game.objects, game.messages))
        weights = self._weights[key]
        was = read(last[1 : 1 + a], game.values)
        if last[0] != NONE and was == read(last[1 + a + n :], game.values):
            weights[last[0], was, read(last[1 + a : 1 + a + n], game.symbols)] += 1
        if not things:
            return self._rng.weighted(weights[SPEAK, said[0]].tolist())
        return things[self._rng.weighted(weights[LISTEN, things, said[1]].tolist())]
