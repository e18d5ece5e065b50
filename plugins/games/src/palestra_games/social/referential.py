"""A referential game: speakers see an object, listeners hear a message and find it among others.

Objects differ in attributes, such as colour and shape. In every round speakers and listeners are
paired anew; a speaker sees one object, drawn evenly, and sends a message of symbols without an
agreed meaning; their listener sees the message and some candidates, the object among them, and
picks one. Both are paid 1 if it is the right one. Then everybody sees what was meant, said and
picked. With one speaker and one listener, who sees all objects, it is the signalling game of D.
Lewis, "Convention", 1969; with more of both it is the population of "Dynamic population-based
meta-learning for multi-agent communication with natural language", 2021, in symbols: seat agents of
different codes, or others from episode to episode, for a dynamic one, as in
`examples/growing_population.py`.

Checked: with m messages for n objects, all of them candidates, no code is understood
more often than in min(1, m / n) of the rounds; with c candidates and n / m objects a message, the
mean of 1 / (1 + H) for H other candidates of the same message, which are hypergeometric; and the
urn learners of Argiento, Pemantle, Skyrms and Volkov, "Learning to signal", 2009, end up
understanding each other where there are two objects and two symbols.

Left out: the paper's photographs; a learner that adapts to new partners.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from string import ascii_lowercase
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    ArrayState,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Outcome,
    Rng,
    Scene,
    ScriptedAgent,
    Shape,
    Turn,
    Vocabulary,
    agent,
    constant,
    environment,
)
from palestra.kernel.game import Result
from palestra.rules import finish, randint, shuffle
from palestra.scene import Cards, Link, Part, Person, RoundTable

from palestra_games.social.objects import object_card

SPEAK, LISTEN = 0, 1
ROLES = ("speaker", "listener")
NONE = -1
VALUES = (
    ("red", "blue", "green", "white", "black", "yellow"),
    ("circle", "square", "star", "heart", "cross", "moon"),
    ("tiny", "small", "plain", "large", "huge", "vast"),
)
MAX_PLAYERS, MAX_MESSAGES = 20, 1000


class ReferentialState(ArrayState):
    """A round in progress, by the seat of either partner, and the one before."""

    phase: Annotated[int, np.int8]  # SPEAK or LISTEN
    seated: Annotated[NDArray[np.int16], Shape("num_players")]  # seats in the order of pairing
    role: Annotated[NDArray[np.int8], Shape("num_players")]  # SPEAK or LISTEN
    partner: Annotated[NDArray[np.int16], Shape("num_players")]  # a seat
    meant: Annotated[NDArray[np.int16], Shape("num_players")]  # the object the speaker sees
    message: Annotated[NDArray[np.int16], Shape("num_players")]  # NONE before it is sent
    open_to: Annotated[NDArray[np.uint8], Shape("num_players", "objects")]  # 1 for a candidate
    last: Annotated[NDArray[np.int16], Shape("num_players", 4)]  # role, meant, message, picked
    totals: Annotated[NDArray[np.int32], Shape("num_players")]  # points
    played: Annotated[int, np.int32]  # rounds


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
)
@dataclass(frozen=True)
class Referential(ArrayGame[ReferentialState]):
    """A referential game: speakers see an object, and listeners find it by a message of symbols.

    Actions are messages by number for speakers and objects by number for listeners. An observation
    is an int16 vector of 6 + 3a + 2l + n numbers, for a attributes, messages of l symbols and n
    objects, where -1 stands for what is absent or hidden from this player:

        phase, role, partner            0 speak, 1 listen; 0 speaks, 1 listens; a seat
        rounds played, points
        the object, the message         a values; l symbols
        of the last round               the role, the object, the message, the object picked
        candidates                      0 or 1 for every object, for listeners

    Speaker and listener are paid 1 for every object that is found.
    """

    num_players: Annotated[
        int, Meta(ge=2, le=MAX_PLAYERS, multiple_of=2, description="how many play; half speak")
    ] = 2
    attributes: Annotated[
        int, Meta(ge=1, le=len(VALUES), description="attributes in which objects differ")
    ] = 2
    values: Annotated[
        int, Meta(ge=2, le=len(VALUES[0]), description="values of each attribute")
    ] = 3
    symbols: Annotated[
        int, Meta(ge=1, le=len(ascii_lowercase), description="different symbols")
    ] = 3
    length: Annotated[int, Meta(ge=1, le=10, description="symbols of a message")] = 2
    candidates: Annotated[
        int,
        Meta(ge=0, le=216, description="objects a listener chooses from, at least 2; 0 for all"),
    ] = 0
    mixed: Annotated[
        bool, Meta(description="whether roles are drawn anew every round, or halves keep theirs")
    ] = False
    rounds: Annotated[int, Meta(ge=1, le=32_767, description="rounds in an episode")] = 10

    vocabulary = Vocabulary(
        words=(
            "speaker",
            "listener",
            "message",
            "candidate",
            "object",
            "symbol",
        ),
    )
    rules_text = """
        Speakers tell listeners which object is meant, in symbols that have no meaning yet.

        In every round each speaker has one listener. A speaker sees an object and writes a message.
        Then their listener, who sees the message but not the object, writes which of their
        candidates they take it to be. If they are right, both are paid 1. Afterwards all are told
        what was meant, said and picked.
    """
    counters = ("totals",)
    order = "phased"
    payoffs = "general"
    perfect_information = False
    observation_dtype = np.int16

    def validate(self) -> None:
        if self.messages > MAX_MESSAGES:
            raise InvalidOption(
                f"symbols ** length must be at most {MAX_MESSAGES}, not {self.messages}"
            )
        if self.candidates != 0 and not 2 <= self.candidates <= self.objects:
            raise InvalidOption(
                f"candidates must be from 2 to {self.objects}, or 0 for all objects, not "
                f"{self.candidates}"
            )

    # Derived from the options

    @constant
    def objects(self) -> int:
        return int(self.values**self.attributes)

    @constant
    def messages(self) -> int:
        return int(self.symbols**self.length)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the objects, by number."""
        chosen = [words[: self.values] for words in VALUES[: self.attributes]]
        return tuple(" ".join(words) for words in product(*chosen))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The messages as text, by number."""
        letters = ascii_lowercase[: self.symbols]
        return tuple("".join(word) for word in product(letters, repeat=self.length))

    @constant
    def num_candidates(self) -> int:
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
        return (NONE, max(self.rounds, len(ascii_lowercase), MAX_PLAYERS))

    # The rules

    @staticmethod
    def init_state(config: Referential, state: ReferentialState) -> None:
        for seat in range(config.num_players):
            state.seated[seat] = seat
            for place in range(4):
                state.last[seat, place] = NONE
        deal(config, state)

    @staticmethod
    def apply_actions(config: Referential, state: ReferentialState, actions: Any, out: Any) -> None:
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
    def write_legal_mask(
        config: Referential, state: ReferentialState, seat: int, mask: Any
    ) -> None:
        if state.role[seat] == SPEAK:
            for message in range(config.messages):
                mask[message] = 1
        else:
            for thing in range(config.objects):
                mask[thing] = state.open_to[seat, thing]

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        a, n = self.attributes, self.length
        return (
            Channel("phase", 1, "0 while speakers speak, 1 while listeners choose"),
            Channel("role", 1, "0 for a speaker, 1 for a listener, -1 for neither"),
            Channel("partner", 1, "the partner's seat, -1 for none"),
            Channel("rounds", 1, "rounds played"),
            Channel("points", 1, "objects found so far"),
            Channel("object", a, "the object meant, one value an attribute; -1 if hidden"),
            Channel("message", n, "the message of this round; -1 if there is none"),
            Channel("last_role", 1, "role in the last round, -1 for none"),
            Channel("last_object", a, "the object meant in the last round"),
            Channel("last_message", n, "the message of the last round"),
            Channel("last_choice", a, "the object chosen in the last round"),
            Channel("candidates", self.objects, "for listeners, 1 for each object in question"),
        )

    @staticmethod
    def write_observation(
        config: Referential, state: ReferentialState, seat: int, obs: Any
    ) -> None:
        """Write the observation; the class docstring gives the layout."""
        a, n = config.attributes, config.length
        speaks = state.role[seat] == SPEAK
        obs[0], obs[1], obs[2] = state.phase, state.role[seat], state.partner[seat]
        obs[3], obs[4] = state.played, state.totals[seat]
        spell(obs, 5, state.meant[seat] if speaks else NONE, config.values, a)
        spell(obs, 5 + a, state.message[seat], config.symbols, n)
        at = 5 + a + n
        obs[at] = state.last[seat, 0]
        spell(obs, at + 1, state.last[seat, 1], config.values, a)
        spell(obs, at + 1 + a, state.last[seat, 2], config.symbols, n)
        spell(obs, at + 1 + a + n, state.last[seat, 3], config.values, a)
        at += 1 + 2 * a + n
        for thing in range(config.objects):
            obs[at + thing] = NONE if speaks else state.open_to[seat, thing]

    def outcome(self, state: ReferentialState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        score: Result = "score"
        rate = float(state.totals.mean()) / self.rounds
        reason = f"{rate:.0%} of the messages were understood"
        return replace(ended, results=(score,) * self.num_players, reason=reason)

    def scores(self, state: ReferentialState) -> tuple[float, ...]:
        return tuple(float(n) for n in state.totals.tolist())

    def determinize(self, state: ReferentialState, seat: int, rng: Rng) -> Any:
        """Redraw the object of a listener's speaker, and the other pairs' rounds."""
        self.refuse_the_end(state)
        copy = self.clone(state)
        seats = list(range(self.num_players))
        rng.shuffle(seats)
        copy.seated[:] = seats  # who sat where does not change the next pairs
        self._pair_others(copy, seat, rng)
        for listener in range(self.num_players):
            speaker = int(copy.partner[listener])
            if copy.role[listener] != LISTEN:
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
                copy.open_to[listener, [meant, *others[: self.num_candidates - 1]]] = 1
        return copy

    def _pair_others(self, copy: ReferentialState, seat: int, rng: Rng) -> None:
        """Pair the others anew; who of them speaks shows in whose turn it is."""
        others = set(range(self.num_players)) - {seat, int(copy.partner[seat])}
        speakers = [other for other in others if copy.role[other] == SPEAK]
        listeners = [other for other in others if copy.role[other] == LISTEN]
        rng.shuffle(listeners)
        for speaker, listener in zip(speakers, listeners, strict=True):
            copy.partner[[speaker, listener]] = listener, speaker

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

    def describe(self, state: ReferentialState, seat: int) -> str:
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
            lines.append(
                f"Last round, as a {ROLES[role]}: {self._round_text(meant, message, picked)}"
            )
        return "\n".join(lines)

    def _round_text(self, meant: int, message: int, picked: int) -> str:
        right = "right" if meant == picked else "wrong"
        return (
            f"{self.words[message]} was said for {self.names[meant]}, and {self.names[picked]} was "
            f"picked: {right}."
        )

    def action_text(self, state: ReferentialState, seat: int, action: int) -> str:
        return self.words[action] if state.role[seat] == SPEAK else self.names[action]

    def narrate(
        self, before: ReferentialState | None, actions: Mapping[int, int], after: ReferentialState
    ) -> list[Event]:
        if before is None or before.phase == SPEAK:
            return []
        events = []
        for listener in sorted(actions):
            speaker = int(before.partner[listener])
            _, meant, message, picked = after.last[listener].tolist()
            text = f"{self.players[speaker]} to {self.players[listener]}: "
            data = {"speaker": speaker, "listener": int(listener), "meant": meant}
            data |= {"message": message, "picked": picked}
            events.append(Event("reveal", text + self._round_text(meant, message, picked), data))
        if after.over:
            events.append(Event("end", f"The game is over after {self.rounds} rounds."))
        return events

    def scene(self, state: ReferentialState, seat: int | None = None) -> Scene:
        """Everybody with their points; of the pairs a seat knows its own, a spectator all."""
        own = range(self.num_players) if seat is None else (seat, int(state.partner[seat]))
        people = tuple(self._person(state, other, seat) for other in range(self.num_players))
        speakers = [one for one in own if state.role[one] == SPEAK and not state.over]
        links = tuple(
            Link(one, int(state.partner[one]), self.words[state.message[one]], one)
            for one in speakers
            if state.message[one] != NONE
        )
        words = f"Rounds played: {int(state.played)} of {self.rounds}"
        parts: list[Part] = [RoundTable(people, links=links, words=words)]
        for one in own if self.num_players == 2 or seat is not None else ():
            if not state.over and state.role[one] != SPEAK and seat in (None, one):
                things = np.flatnonzero(state.open_to[one]).tolist()
                cards = tuple(object_card(self.names[thing]) for thing in things)
                parts.append(Cards("choices", cards))
        lasting = [
            self._round_text(*state.last[one, 1:].tolist())
            for one in (own if seat is None else (seat,))
            if state.last[one, 0] != NONE and (seat is not None or state.last[one, 0] == SPEAK)
        ]
        return Scene(parts=tuple(parts), lines=tuple(f"Last round: {text}" for text in lasting))

    def _person(self, state: ReferentialState, other: int, seat: int | None) -> Person:
        """Somebody with their points; a speaker's object only for themselves and spectators."""
        points = f"score {int(state.totals[other])}"
        mine = seat is None or other in (seat, int(state.partner[seat]))
        if state.over or not mine:
            return Person(self.players[other], other, detail=points)
        speaks = state.role[other] == SPEAK
        known = speaks and seat in (None, other)
        meant = (object_card(self.names[state.meant[other]]),) if known else ()
        role = ROLES[state.role[other]]
        return Person(self.players[other], other, role, points, meant)


def deal(config: Referential, state: ReferentialState) -> None:
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


def pair_up(config: Referential, state: ReferentialState, speaker: int, listener: int) -> None:
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
    missing = config.num_candidates - 1
    while missing > 0:
        thing = randint(state, config.objects)
        if state.open_to[listener, thing] == 0:
            state.open_to[listener, thing] = 1
            missing -= 1


def ask(config: Referential, state: ReferentialState, role: int) -> None:
    """Ask all speakers, or all listeners, at once."""
    state.phase = role
    for seat in range(config.num_players):
        state.acting[seat] = state.role[seat] == role


def spell(obs: NDArray[np.int16], at: int, number: int, base: int, digits: int) -> None:
    """Write a number's digits, the highest first, or -1 for all if there is none."""
    for place in range(digits - 1, -1, -1):
        obs[at + place] = NONE if number == NONE else number % base
        number = NONE if number == NONE else number // base


def read(digits: Sequence[int], base: int) -> int:
    """The number that these digits write; -1 if there is none."""
    number = 0
    for digit in digits:
        number = number * base + digit
    return NONE if NONE in digits else number


@agent("signaller", needs=("array",))
class Signaller(ScriptedAgent[Referential]):
    """Speaks and listens by a code, or learns one from an urn.

    In the style "code" it says message o + `code`, modulo the number of messages, for object o; as
    a listener it takes the first matching candidate, or the first if none matches. In the style
    "urn" it draws messages and objects in proportion to weights, all 1 at first; whenever it is
    understood, the weight it drew by grows by 1.
    """

    stream = 8

    def __init__(
        self,
        *,
        style: Annotated[
            Literal["code", "urn"], Meta(description="'code' has a fixed code, 'urn' learns one")
        ] = "code",
        code: Annotated[
            int, Meta(description="number of the message that means the first object")
        ] = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(seed=seed)
        self._urn, self._code = style == "urn", code
        self._weights: dict[tuple[int, int], Any] = {}

    def forget(self, episode_key: int) -> None:
        for key in [key for key in self._weights if key[0] == episode_key]:
            del self._weights[key]

    def choose(self, turn: Turn[Referential]) -> int:
        game = turn.game
        seen = turn.observation.tolist()
        a, n = game.attributes, game.length
        meant = read(seen[5 : 5 + a], game.values)
        message = read(seen[5 + a : 5 + a + n], game.symbols)
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
            return self.rng.weighted(weights[SPEAK, said[0]].tolist())
        return things[self.rng.weighted(weights[LISTEN, things, said[1]].tolist())]
