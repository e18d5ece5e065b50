"""Reference in words: a speaker tells a listener, in free text, what is meant or how to build it.

In the game "pick" the speaker sees an object and writes a message, and the listener, who sees the
message but not the object, picks one of some candidates; both are paid 1 if it is right. In the
game "build" the speaker sees a row of coloured blocks, and the listener has an empty row: the
speaker writes a message, the listener places one block, the speaker sees it and writes again; at
the end both are paid the share of places with the right block. After every round both are told what
was meant, and change roles.

These are the two kinds of games, one of a single message and one of several turns with an
instruction, that a population plays in "Dynamic population-based meta-learning for multi-agent
communication with natural language" (Gupta, Lanctot and Lazaridou, 2021). Objects are worded, not
photographs; `games/Referential-v0` has the same with symbols instead of words.

Checked: if the speaker says nothing useful, a listener who guesses is right in 1 /
candidates of the rounds and builds 1 / colours of a row correctly; a speaker who names what it sees
is always understood.

Left out: the paper's photographs: things are described by attributes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Annotated, Any, Literal

from gymnasium import spaces
from palestra import (
    EpisodeRecord,
    Event,
    Grammar,
    Integer,
    InvalidOption,
    Meta,
    OneOf,
    Option,
    Outcome,
    Result,
    Rng,
    Scene,
    ScriptedAgent,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
    metric,
)
from palestra.scene import Card, Cards, Saying, Talk

from palestra_games.social.objects import object_card
from palestra_games.social.referential import VALUES

EMPTY = "empty"
COLOURS = VALUES[0]


class Say(TextAction, frozen=True):
    """Tell the listener something."""

    text: str


class Pick(TextAction, frozen=True):
    """Pick the object that is meant."""

    object: str


class Place(TextAction, frozen=True):
    """Put a block of a colour at a place of the row, counted from 1; it replaces what is there."""

    place: int
    block: str


@dataclass(slots=True)
class ReferenceState:
    """A round in progress."""

    rng: Rng
    meant: int  # the object's number
    candidates: tuple[int, ...]  # numbers of objects, as the listener sees them
    target: tuple[str, ...]  # the row to build
    built: tuple[str, ...]  # the listener's row
    said: str = ""  # the last message
    speaking: bool = True
    round: int = 0  # rounds played
    turn: int = 0  # blocks placed in this round
    points: float = 0.0  # of each player


@environment(
    "games/Reference-v0",
    family="social",
    tags=("cooperation", "communication", "messages", "roles", "hidden-information"),
    paper=(
        "Gupta, Lanctot and Lazaridou (2021), Dynamic population-based meta-learning for "
        "multi-agent communication with natural language"
    ),
    splits={"build": {"game": "build"}, "hard": {"attributes": 3, "values": 6, "candidates": 12}},
)
@dataclass(frozen=True)
class Reference(Talking, TextGame[ReferenceState]):
    """A speaker tells a listener in words which object is meant, or which row to build.

    There are no numbered actions and no array observations: play it with obs='text'. Both players
    are paid alike, at most 1 a round.
    """

    game: Annotated[
        Literal["pick", "build"],
        Meta(description="pick an object after one message, or build a row over several turns"),
    ] = "pick"
    rounds: Annotated[int, Meta(ge=1, le=1000, description="rounds in an episode")] = 6
    attributes: Annotated[
        int, Meta(ge=1, le=len(VALUES), description="attributes in which objects differ")
    ] = 2
    values: Annotated[
        int, Meta(ge=2, le=len(COLOURS), description="values of each attribute, colours of blocks")
    ] = 4
    candidates: Annotated[
        int, Meta(ge=2, le=216, description="objects from which the listener picks")
    ] = 4
    blocks: Annotated[int, Meta(ge=1, le=20, description="places of a row")] = 4
    spare: Annotated[
        int,
        Meta(ge=0, le=20, description="turns of building, for corrections, beyond one per place"),
    ] = 1
    swap: Annotated[bool, Meta(description="whether players change roles every round")] = True
    message_limit: Annotated[
        int, Meta(ge=40, le=100_000, description="longest message, in characters")
    ] = 200

    rules_text = """
        Two players work together: a speaker sees what is meant, and a listener acts on their words.
    """
    order = "sequential"
    payoffs = "common"
    num_players = 2
    perfect_information = False
    deterministic = False
    reward_terms = ("understood",)
    action_types = (Say, Pick, Place)
    menu = ()
    counters = ("points",)

    def validate(self) -> None:
        if self.candidates > len(self.names):
            raise InvalidOption(
                f"candidates must be from 2 to {len(self.names)}, the number of objects, not "
                f"{self.candidates}"
            )

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.rounds))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the objects, by number."""
        chosen = [words[: self.values] for words in VALUES[: self.attributes]]
        return tuple(" ".join(words) for words in product(*chosen))

    @property
    def colours(self) -> tuple[str, ...]:
        """The colours of blocks."""
        return COLOURS[: self.values]

    # The rules

    def initial_state(self, seed: int | None = None) -> ReferenceState:
        state = ReferenceState(Rng.seeded(seed), 0, (), (), ())
        self._deal(state)
        return state

    def _deal(self, state: ReferenceState) -> None:
        """Draw what is meant in the next round."""
        if self.game == "pick":
            objects = list(range(len(self.names)))
            state.rng.shuffle(objects)
            state.candidates = tuple(objects[: self.candidates])
            state.meant = state.rng.choice(state.candidates)
        else:
            state.target = tuple(state.rng.choice(self.colours) for _ in range(self.blocks))
            state.built = (EMPTY,) * self.blocks
        state.said, state.speaking, state.turn = "", True, 0

    def speaker(self, state: ReferenceState) -> int:
        """The seat that speaks in this round."""
        return state.round % 2 if self.swap else 0

    def to_act(self, state: ReferenceState) -> tuple[int, ...]:
        if state.round >= self.rounds:
            return ()
        speaker = self.speaker(state)
        return (speaker if state.speaking else 1 - speaker,)

    def legal(self, state: ReferenceState, seat: int) -> Grammar:
        if state.speaking:
            return saying(self.message_limit, self.names if self.game == "pick" else self.colours)
        if self.game == "pick":
            return picking(tuple(self.names[n] for n in state.candidates))
        return placing(self.blocks, self.colours)

    def step(self, state: ReferenceState, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        name = self.players[seat]
        if isinstance(action, Say):
            state.said, state.speaking = action.text, False
            data = {"player": seat, "text": action.text}
            return Step(events=[Event("message", f"{name} says: {self.quoted(action.text)}", data)])
        if isinstance(action, Pick):
            return self._end_round(state, float(self.names[state.meant] == action.object), action)
        row = list(state.built)
        row[action.place - 1] = action.block
        state.built, state.speaking, state.turn = tuple(row), True, state.turn + 1
        text = f"{name} puts {action.block} at place {action.place}."
        data = {"player": seat, "place": action.place, "block": action.block}
        placed = Event("placed", text, data)
        if state.turn < self.blocks + self.spare:
            return Step(events=[placed])
        fits = sum(a == b for a, b in zip(state.built, state.target, strict=True))
        done = self._end_round(state, fits / self.blocks, None)
        return Step(done.rewards, events=[placed, *done.events])

    def _end_round(self, state: ReferenceState, share: float, picked: Pick | None) -> Step:
        """Pay both, tell what was meant, and begin the next round."""
        data: dict[str, Any] = {"share": share, "speaker": self.speaker(state)}
        if picked is not None:
            meant = self.names[state.meant]
            right = "right" if share == 1 else "wrong"
            text = f"{meant} was meant, and {picked.object} was picked: {right}."
            data |= {"meant": meant, "picked": picked.object}
        else:
            text = f"Meant: {row_text(state.target)}. Built: {row_text(state.built)}."
        state.round += 1
        state.points += share
        if state.round < self.rounds:
            self._deal(state)
        rewards = {seat: {"understood": share} for seat in (0, 1)} if share else {}
        return Step(rewards, events=[Event("reveal", text, data)])

    def outcome(self, state: ReferenceState) -> Outcome | None:
        if self.to_act(state):
            return None
        result: Result = "score"
        reason = f"{state.points / self.rounds:.0%} was understood"
        return Outcome((result, result), (state.points, state.points), reason)

    def noop(self, state: ReferenceState, seat: int) -> TextAction | None:
        return Say("") if state.speaking else None

    def determinize(self, state: ReferenceState, seat: int, rng: Rng) -> ReferenceState:
        """For a listener, draw anew what is meant; for a speaker, the other candidates."""
        self.refuse_the_end(state)
        copy, listens = self.clone(state), seat != self.speaker(state)
        if self.game != "pick" and not listens:
            return copy
        if self.game != "pick":
            copy.target = tuple(rng.choice(self.colours) for _ in state.target)
            return copy
        if listens:
            copy.meant = rng.choice(state.candidates)
            return copy
        others = [number for number in range(len(self.names)) if number != state.meant]
        rng.shuffle(others)
        drawn = [state.meant, *others[: self.candidates - 1]]
        rng.shuffle(drawn)
        copy.candidates = tuple(drawn)
        return copy

    # What a player sees

    def rules_for(self, seat: int) -> str:
        if self.game == "pick":
            how = (
                "In every round the speaker sees an object and writes a message in their own "
                "words: Say(text='It is the round one.'). The listener does not see which it is, "
                f"and picks one of {self.candidates} candidates, which the speaker does not see: "
                "Pick(object='red circle'). Both of you are paid 1 if it is right."
            )
        else:
            how = (
                f"In every round the speaker sees a row of {self.blocks} blocks, and the listener "
                "has an empty row. The speaker writes a message in their own words: "
                "Say(text='Begin with red at the left.'). The listener places a block, also over "
                "another: Place(place=1, block='red'). Both see it, and the speaker writes again; "
                f"after {self.blocks + self.spare} blocks the round is over, and both of you are "
                "paid the share of places that are right."
            )
        roles = "You change roles after every round." if self.swap else "player_0 always speaks."
        return "\n".join([super().rules_for(seat), how, f"There are {self.rounds} rounds. {roles}"])

    def describe(self, state: ReferenceState, seat: int) -> str:
        head = f"You are {self.players[seat]}. Rounds played: {state.round} of {self.rounds}. "
        lines = [f"{head}Points: {state.points:g}."]
        if not self.to_act(state):
            return lines[0]
        speaks = seat == self.speaker(state)
        lines.append(f"You are the {'speaker' if speaks else 'listener'}.")
        lines += (
            self._pick_text(state, speaks=speaks)
            if self.game == "pick"
            else (self._build_text(state, speaks=speaks))
        )
        if state.said:
            lines.append(f"The last message: {self.quoted(state.said)}")
        return "\n".join(lines)

    def _pick_text(self, state: ReferenceState, *, speaks: bool) -> list[str]:
        if speaks:
            return [f"The object is: {self.names[state.meant]}."]
        return [f"Candidates: {', '.join(self.names[n] for n in state.candidates)}."]

    def _build_text(self, state: ReferenceState, *, speaks: bool) -> list[str]:
        lines = [f"To build: {row_text(state.target)}."] if speaks else []
        left = self.blocks + self.spare - state.turn
        return [*lines, f"The row so far: {row_text(state.built)}. Blocks to place: {left}."]

    def observation_space(self, seat: int) -> spaces.Box:
        raise InvalidOption("Reference has no array observations; use obs='text'")

    def observe(self, state: ReferenceState, seat: int) -> Any:
        return self.observation_space(seat)

    def scene(self, state: ReferenceState, seat: int | None = None) -> Scene:
        """What either player sees of the objects or the rows, and the last message.

        At the end: what both were told when the last round was over.
        """
        caption = f"Round {min(state.round + 1, self.rounds)} of {self.rounds}, "
        caption += f"{state.points:g} understood"
        rows = self._target_and_choices(state) if self.game == "pick" else self._rows(state)
        if not self.to_act(state):
            return Scene(caption, parts=rows[:1] if self.game == "pick" else rows)
        speaker = self.speaker(state)
        hears, speaks = seat != speaker, seat in (None, speaker)
        shown = (rows[0],) * speaks + rows[1:] * (hears or self.game == "build")
        said = (
            (Saying(self.players[speaker], self.quoted(state.said), speaker),) if state.said else ()
        )
        lines: tuple[str, ...] = ()
        if self.game == "build":
            lines = (f"Blocks to place: {self.blocks + self.spare - state.turn}.",)
        return Scene(caption, parts=(*shown, Talk(said)), lines=lines)

    def _target_and_choices(self, state: ReferenceState) -> tuple[Cards, ...]:
        """The object that is meant, and those to choose from."""
        meant = (object_card(self.names[state.meant]),)
        choices = tuple(object_card(self.names[number]) for number in state.candidates)
        return Cards("meant", meant), Cards("choices", choices)

    def _rows(self, state: ReferenceState) -> tuple[Cards, ...]:
        """The row to build, and what is built of it."""
        rows = (("to build", state.target), ("built", state.built))
        return tuple(Cards(name, tuple(map(block_card, row))) for name, row in rows)


def block_card(name: str) -> Card:
    """A block of a row, or its empty place."""
    return Card(label=name) if name == EMPTY else Card(colour=name, label=name, sprite="square")


def row_text(row: Sequence[str]) -> str:
    """A row of blocks from left to right."""
    return ", ".join(row)


@lru_cache(maxsize=64)
def saying(limit: int, words: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Say, {"text": Text(limit, words)}),))


@lru_cache(maxsize=4096)
def picking(names: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Pick, {"object": OneOf(names)}),))


@lru_cache(maxsize=64)
def placing(blocks: int, colours: tuple[str, ...]) -> Grammar:
    return Grammar((Option(Place, {"place": Integer(1, blocks), "block": OneOf(colours)}),))


@metric("words-a-message", measures=("games/Reference-v0",), unit="words", bounds=(0.0, None))
def words_a_message(record: EpisodeRecord) -> float | None:
    """The mean number of words of a message; nothing without a message."""
    counts = [len(e.data["text"].split()) for e in record.events if e.kind == "message"]
    return sum(counts) / len(counts) if counts else None


@metric("vocabulary", measures=("games/Reference-v0",), unit="words", bounds=(0.0, None))
def vocabulary(record: EpisodeRecord) -> float:
    """How many different words all messages have, without case."""
    texts = [str(e.data["text"]) for e in record.events if e.kind == "message"]
    return float(len({word.casefold() for text in texts for word in text.split()}))


@agent("namer")
class Namer(ScriptedAgent[Reference]):
    """Names what it sees, and acts on names: `mute` says nothing, and the listener guesses.

    It builds from left to right: "place 2 red".
    """

    def __init__(
        self, *, mute: Annotated[bool, Meta(description="whether it says nothing of use")] = False
    ) -> None:
        super().__init__()
        self._mute = mute

    def choose(self, turn: Turn[Reference]) -> TextAction:
        lines = dict(line.partition(": ")[::2] for line in turn.position.splitlines())
        if "You are the speaker." in turn.position:
            return Say("Hm." if self._mute else self._tell(lines))
        heard = [e.data["text"] for e in turn.transcript if e.kind == "message"]
        words = str(heard[-1]).split()
        if turn.game.game == "pick":
            names = lines["Candidates"].rstrip(".").split(", ")
            fits = [name for name in names if set(name.split()) == set(words)]
            return Pick((fits or [self.rng.choice(names)])[0])
        if words[0] == "place":
            return Place(int(words[1]), words[2])
        placed = turn.position.split("The row so far: ")[1].split(".")[0].split(", ")
        free = placed.index(EMPTY) if EMPTY in placed else self.rng.below(len(placed))
        return Place(1 + free, self.rng.choice(turn.game.colours))

    def _tell(self, lines: Mapping[str, str]) -> str:
        if "The object is" in lines:
            return lines["The object is"].rstrip(".")
        target = lines["To build"].rstrip(".").split(", ")
        built = lines["The row so far"].split(".")[0].split(", ")
        wrong = [n for n, (a, b) in enumerate(zip(target, built, strict=True)) if a != b] or [0]
        return f"place {1 + wrong[0]} {target[wrong[0]]}"
