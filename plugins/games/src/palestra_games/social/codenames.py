"""Codenames: two spymasters lead their teams to words by clues of one word and a number.

The rules are those of Vlaada Chvátil's game, 2015. Of 25 words on the table nine belong to the team
that begins, eight to the other, seven to bystanders and one to the assassin; only the spymasters
see which. In turn a spymaster gives a clue, and their operative touches words: at least one, and at
most one more than the number of the clue, without limit if it is 0. A word of the own team lets the
operative touch another; any other ends the turn; the assassin's loses the game at once. A team wins
when all its words are covered, whoever covered the last. A clue is invalid if it is a form of a
word that is not covered, or if one begins or ends with the other: the turn ends, and a word of the
other team is covered, drawn by lot where the rulebook lets that team's spymaster choose. A team may
have several operatives: before each touch the others advise in turn, openly, and then one touches,
another one after every clue. The words, and the associations by which the scripted players play,
are Palestra's own.

Checked: the counts of the key and the rulebook's turns, and for operatives who touch
words at random, one a turn or until they miss, how often the team that begins wins, by an exact
recursion over the words left.

Left out: the rulebook's timer and its variants for two players.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray
from palestra import (
    Event,
    Grammar,
    Grid,
    Integer,
    Meta,
    OneOf,
    Option,
    Outcome,
    Piece,
    Result,
    Rng,
    Scene,
    ScriptedAgent,
    Seat,
    Step,
    Talking,
    Text,
    TextAction,
    TextGame,
    Turn,
    agent,
    environment,
    only,
)
from palestra.scene import Table

from palestra_games.social.associations import (
    AssociationOption,
    Associations,
    AssociationTable,
    Word,
    check_associations,
    related_words,
)

RED, BLUE, BYSTANDER, ASSASSIN = range(4)
OWNERS = ("red", "blue", "bystander", "assassin")
TEAMS = ("red", "blue")
ROLES = ("spymaster", "operative")
TABLE = 25  # words on the table
FIRST, SECOND, BYSTANDERS = 9, 8, 7
NOBODY = -1
CLUE, GUESS, OVER = range(3)
MAX_NUMBER = 9  # of a clue
MENU_NUMBERS = (1, 2, 3, 4)
LETTERS = 24  # of the longest clue
MOST_PLAYERS = 12
TALKED = -1  # advice in words, and not by a word on the table
COLOURS = ("red", "blue", "desert", "black")  # in a scene, by owner
AGENTS = ("hat", "hat", "person", "skull")  # on the cards that cover words, by owner


class Clue(TextAction, frozen=True):
    """Give your operative one word, and say how many words on the table it means."""

    word: str
    number: int


class Guess(TextAction, frozen=True):
    """Touch a word on the table."""

    word: str


class Suggest(TextAction, frozen=True):
    """Advise the operative who is to touch: this word next."""

    word: str


class Say(TextAction, frozen=True):
    """Advise in words of your own, which everybody hears."""

    text: str


class Stop(TextAction, frozen=True):
    """Touch no more words in this turn."""


STOPPING = Say("I would stop.")


@dataclass(slots=True)
class Board:
    """The state: the words, whose they are, which are covered, and the turn."""

    rng: Rng
    words: tuple[int, ...]  # by place, a word of the vocabulary by number
    key: tuple[int, ...]  # by place, the owner
    team: int  # whose turn it is
    covered: tuple[bool, ...] = (False,) * TABLE
    clues: tuple[tuple[int, str, int], ...] = ()  # team, word and number
    guessing: bool = False
    guesses: int = 0
    advice: tuple[int, ...] = ()  # places, or TALKED, for the next touch
    said: tuple[str, ...] = ()  # the same in words
    winner: int = NOBODY
    reason: str = ""

    def left(self, owner: int) -> list[int]:
        """Places of an owner's words that are not covered."""
        return [p for p, whose in enumerate(self.key) if whose == owner and not self.covered[p]]


@environment(
    "games/Codenames-v0",
    family="social",
    tags=("words", "teams", "roles", "hidden-information", "messages"),
    paper=(
        "Chvátil (2015), Codenames; Wang et al. (2023), Unleashing Cognitive Synergy in Large "
        "Language Models: A Task-Solving Agent through Multi-Persona Self-Collaboration"
    ),
)
@dataclass(frozen=True)
class Codenames(AssociationTable, Talking, TextGame[Board]):
    """Codenames: two spymasters lead their teams to words by clues of one word and a number.

    The menu numbers every hint of the table as a Clue with 1 to 4, then every word as a Guess,
    Stop(), and with several operatives every word as a Suggest and one Say. An observation is an
    int16 vector of 81 numbers, and one more for every operative of a team but the first:

        phase, whose turn, own team     0 clue, 1 guess, 2 over; 0 red, 1 blue
        clue, its number, guesses       the clue's place among the hints from 1 on, 0 for none and
                                        for other words; -1 for the number before it is given
        words                           25 numbers, in alphabetical order
        owners                          0 not known to this player, 1 red, 2 blue, 3 a bystander's,
                                        4 the assassin's
        covered                         25 times 0 or 1
        advice for the next touch       in order; 0 none yet, 1 + place on the table, -1 other words

    Every player of the team that wins is paid 1, the others -1.
    """

    associations: AssociationOption = ()
    num_players: Annotated[
        int,
        Meta(ge=4, le=MOST_PLAYERS, multiple_of=2, description="how many play; half are red"),
    ] = 4
    message_limit: Annotated[
        int, Meta(ge=LETTERS, le=100_000, description="most characters of advice in words")
    ] = 200

    rules_text = """
        You play Codenames. The first half of the players are the red team, the others the blue.

        There are 25 words on the table. Nine are of the team that begins, eight of the other team,
        seven of bystanders and one of the assassin. The first player of each team is its spymaster,
        who knows which are whose. The others are operatives, who do not.
        In turn a spymaster writes a clue, one word and how many words on the table it means, such
        as Clue(word='ocean', number=2). Their operative then touches words: Guess(word='whale'). A
        word of their own team lets them touch another one, up to one more than the number of the
        clue, or as many as they like if the number is 0. After the first they may also write
        Stop(). A word of the other team or of a bystander ends the turn. Whoever touches the
        assassin loses at once. The team whose words are all covered wins.
        A clue must not be a form of a word that is not covered yet, nor begin or end with one, nor
        may such a word begin or end with the clue, if the part has four letters or more. Otherwise
        the turn ends and one of the other team's words is covered.
    """
    order = "sequential"
    payoffs = "zero-sum"
    perfect_information = False
    deterministic = False
    reward_terms = ("win",)
    action_types = (Clue, Guess, Suggest, Say, Stop)

    def validate(self) -> None:
        check_associations(self.table, TABLE)

    @cached_property
    def seats(self) -> tuple[Seat, ...]:
        return tuple(
            Seat(name, ROLES[seat % self.side > 0], seat // self.side)
            for seat, name in enumerate(self.players)
        )

    @property
    def side(self) -> int:
        """Players of a team, its spymaster first."""
        return int(self.num_players // 2)

    def is_spymaster(self, seat: int) -> bool:
        return seat % self.side == 0

    def speakers(self, state: Board) -> list[int]:
        """The operatives who speak before the next touch, in order; the last one touches."""
        operatives = self.side - 1
        turns = sum(team == state.team for team, _, _ in state.clues)
        first = state.team * self.side + 1
        return [first + (turns + n) % operatives for n in range(operatives)]

    @cached_property
    def menu(self) -> tuple[TextAction, ...]:
        """Every hint with 1 to 4, then every word, Stop(), and with several operatives advice."""
        clues = (Clue(hint, number) for hint in self.hints for number in MENU_NUMBERS)
        advice = (*map(Suggest, self.vocabulary), STOPPING) if self.side > 2 else ()
        return (*clues, *map(Guess, self.vocabulary), Stop(), *advice)

    def names(self, state: Board, places: Sequence[int]) -> tuple[str, ...]:
        """The words at these places of the table."""
        return tuple(self.vocabulary[state.words[place]] for place in places)

    # The rules

    def initial_state(self, seed: int | None = None) -> Board:
        rng = Rng.seeded(seed)
        words = list(range(len(self.vocabulary)))
        for place in range(TABLE):  # a partial shuffle is enough
            other = rng.between(place, len(words) - 1)
            words[place], words[other] = words[other], words[place]
        team = rng.below(2)
        key = [team] * FIRST + [1 - team] * SECOND + [BYSTANDER] * BYSTANDERS + [ASSASSIN]
        rng.shuffle(key)
        return Board(rng, tuple(words[:TABLE]), tuple(key), team)

    def to_act(self, state: Board) -> tuple[int, ...]:
        if state.winner != NOBODY:
            return ()
        if not state.guessing:
            return (state.team * self.side,)
        return (self.speakers(state)[len(state.advice)],)

    def advising(self, state: Board) -> bool:
        """Whether advice is to be given before the next touch."""
        return state.guessing and len(state.advice) < self.side - 2

    def legal(self, state: Board, seat: int) -> Grammar:
        if not state.guessing:
            return clue_grammar(self.hints)
        open_places = [place for place in range(TABLE) if not state.covered[place]]
        words = self.names(state, open_places)
        if self.advising(state):
            return advice_grammar(words, self.message_limit)
        return guess_grammar(words, state.guesses > 0)

    def step(self, state: Board, actions: Mapping[int, Any]) -> Step:
        ((seat, action),) = actions.items()
        if isinstance(action, Clue):
            events = self._hear(state, action)
        elif isinstance(action, Suggest | Say):
            events = [self._advise(state, seat, action)]
        elif isinstance(action, Guess):
            events = self._touch(state, self.vocabulary.index(action.word), seat)
        else:
            events = [Event("stop", f"{self.players[seat]} stops.", {"player": seat})]
            self._pass(state)
        if state.winner == NOBODY:
            return Step(events=events)
        events.append(
            Event("reveal", f"{state.reason} {self._key_text(state)}", {"key": state.key})
        )
        paid = {s: {"win": score} for s, score in enumerate(self._scores(state))}
        return Step(paid, events=events)

    def _scores(self, state: Board) -> tuple[float, ...]:
        seats = range(self.num_players)
        return tuple(1.0 if s // self.side == state.winner else -1.0 for s in seats)

    def _advise(self, state: Board, seat: int, action: Suggest | Say) -> Event:
        text = f"{self.players[seat]} "
        if isinstance(action, Suggest):
            state.advice += (state.words.index(self.vocabulary.index(action.word)),)
            text += f"suggests {action.word}."
        else:
            state.advice += (TALKED,)
            text += f"says: {self.quoted(action.text)}"
        state.said += (text,)
        return Event("advice", text, {"player": seat})

    def _hear(self, state: Board, clue: Clue) -> list[Event]:
        team, word = state.team, clue.word.lower()
        state.clues += ((team, word, clue.number),)
        data = {"team": team, "word": word, "number": clue.number}
        text = f"The {TEAMS[team]} spymaster says: {word}, {clue.number}."
        events = [Event("clue", text, data)]
        open_places = [place for place in range(TABLE) if not state.covered[place]]
        near = [name for name in self.names(state, open_places) if related_words(word, name)]
        if not near:
            state.guessing, state.guesses = True, 0
            return events
        place = state.rng.choice(state.left(1 - team))
        text = f"The clue is invalid because of {near[0]}: the turn ends."
        events += [Event("invalid", text, {"word": near[0]}), self._cover(state, place)]
        if state.winner == NOBODY:
            self._pass(state)
        return events

    def _touch(self, state: Board, word: int, seat: int) -> list[Event]:
        place = state.words.index(word)
        text = f"{self.players[seat]} touches {self.vocabulary[word]}."
        events = [Event("touch", text, {"player": seat, "place": place})]
        state.guesses += 1
        state.advice, state.said = (), ()
        events.append(self._cover(state, place))
        number = state.clues[-1][2]
        used_up = number > 0 and state.guesses > number
        if state.winner == NOBODY and (state.key[place] != state.team or used_up):
            self._pass(state)
        return events

    def _cover(self, state: Board, place: int) -> Event:
        """Show whose a word is, and see whether somebody has won."""
        owner = state.key[place]
        state.covered = (*state.covered[:place], True, *state.covered[place + 1 :])
        if owner == ASSASSIN:
            state.winner = 1 - state.team
            state.reason = f"The {TEAMS[state.team]} team met the assassin."
        elif owner < BYSTANDER and not state.left(owner):
            state.winner = owner
            state.reason = f"All words of the {TEAMS[owner]} team are covered."
        (name,) = self.names(state, [place])
        text = f"{name}: {OWNERS[owner]}."
        return Event("reveal", text, {"place": place, "owner": OWNERS[owner]})

    def _pass(self, state: Board) -> None:
        state.team, state.guessing, state.guesses = 1 - state.team, False, 0
        state.advice, state.said = (), ()

    def outcome(self, state: Board) -> Outcome | None:
        if state.winner == NOBODY:
            return None
        scores = self._scores(state)
        results: tuple[Result, ...] = tuple("win" if score > 0 else "loss" for score in scores)
        return Outcome(results, scores, state.reason)

    def opening(self, state: Board) -> Sequence[Event]:
        words = ", ".join(self.names(state, range(TABLE)))
        text = f"On the table: {words}. The {TEAMS[state.team]} team begins."
        table = Event("table", text, {"words": state.words, "team": state.team})
        key = {"key": state.key}
        return [table, Event("key", self._key_text(state), key, only(0, self.side))]

    def _key_text(self, state: Board) -> str:
        whose = [
            (name, [p for p in range(TABLE) if state.key[p] == o]) for o, name in enumerate(OWNERS)
        ]
        return " ".join(f"{name}: {', '.join(self.names(state, at))}." for name, at in whose)

    def determinize(self, state: Board, seat: int, rng: Rng) -> Board:
        """For operatives, redeal the owners of the words that are not covered."""
        copy = self.clone(state)
        if self.is_spymaster(seat) or state.winner != NOBODY:
            return copy
        places = [place for place in range(TABLE) if not state.covered[place]]
        owners = sorted(state.key[place] for place in places)
        rng.shuffle(owners)
        drawn = dict(zip(places, owners, strict=True))
        copy.key = tuple(drawn.get(place, owner) for place, owner in enumerate(state.key))
        return copy

    # What a player sees

    def rules_for(self, seat: int) -> str:
        if self.side == 2:
            return super().rules_for(seat)
        return (
            f"{super().rules_for(seat)}\nBefore each touch the other operatives of the team advise "
            "in turn, Suggest(word='whale') or Say(text='Stop here.'), which everybody hears. "
            "After every clue another operative is the one who touches."
        )

    def describe(self, state: Board, seat: int) -> str:
        team, role = TEAMS[seat // self.side], self.seats[seat].role
        lines = [f"You are {self.players[seat]}, the {team} {role}."]
        if state.winner != NOBODY:
            return "\n".join([*lines, state.reason, self._key_text(state)])
        doing = "touch words" if state.guessing else "give a clue"
        lines.append(f"It is for the {TEAMS[state.team]} team to {doing}.")
        if self.is_spymaster(seat):
            for owner, name in enumerate(OWNERS):
                words = ", ".join(self.names(state, state.left(owner))) or "none"
                lines.append(f"Not covered, {name}: {words}.")
        else:
            places = [place for place in range(TABLE) if not state.covered[place]]
            lines.append(f"Not covered: {', '.join(self.names(state, places))}.")
            left = [f"{name} {len(state.left(owner))}" for owner, name in enumerate(TEAMS)]
            lines.append(f"Words left: {', '.join(left)}.")
        for owner, name in enumerate(OWNERS):
            places = [p for p in range(TABLE) if state.covered[p] and state.key[p] == owner]
            if places:
                lines.append(f"Covered, {name}: {', '.join(self.names(state, places))}.")
        if state.clues:
            clues = "; ".join(f"{TEAMS[t]} {word} {number}" for t, word, number in state.clues)
            lines.append(f"Clues so far: {clues}.")
        if state.guessing:
            lines.append(f"Touched by this clue: {state.guesses}.")
            lines += state.said
        return "\n".join(lines)

    def action_mask(self, state: Board, seat: int) -> NDArray[np.int8]:
        mask = np.ones(len(self.menu), np.int8)
        if seat not in self.to_act(state):
            return mask
        clues, words = len(self.hints) * len(MENU_NUMBERS), len(self.vocabulary)
        mask[:clues] = not state.guessing
        mask[clues:] = 0
        if state.guessing:
            first = clues + (words + 1) * self.advising(state)
            open_words = [w for w, c in zip(state.words, state.covered, strict=True) if not c]
            mask[first + np.array(open_words)] = 1
            mask[first + words] = self.advising(state) or state.guesses > 0
        return mask

    def observation_space(self, seat: int) -> spaces.Box:
        return self._space

    @cached_property
    def _space(self) -> spaces.Box:
        top = max(len(self.vocabulary), len(self.hints), TABLE)
        return spaces.Box(-1, top, (6 + 3 * TABLE + self.side - 2,), np.int16)

    def observe(self, state: Board, seat: int) -> NDArray[np.int16]:
        """The observation vector; the class docstring gives the layout."""
        over = state.winner != NOBODY
        phase = OVER if over else GUESS if state.guessing else CLUE
        _, word, number = state.clues[-1] if state.guessing else (0, "", -1)
        hint = 1 + self.hints.index(word) if word in self.hints else 0
        knows = over or self.is_spymaster(seat)
        owners = [1 + o if knows or c else 0 for o, c in zip(state.key, state.covered, strict=True)]
        head = (phase, state.team, seat // self.side, hint, number, state.guesses)
        advice = [place if place == TALKED else 1 + place for place in state.advice]
        advice += [0] * (self.side - 2 - len(advice))
        return np.array([*head, *state.words, *owners, *state.covered, *advice], np.int16)

    def scene(self, state: Board, seat: int | None = None) -> Scene:
        knows = seat is None or self.is_spymaster(seat) or state.winner != NOBODY
        pieces, grounds = [], []
        for place, name in enumerate(self.names(state, range(TABLE))):
            covered, owner = state.covered[place], state.key[place]
            grounds.append(COLOURS[owner] if knows or covered else "")
            face = Piece(name, "white", "word", name)
            # a covered word lies under a card with an agent
            short, label = OWNERS[owner][:2].title(), f"{name}: {OWNERS[owner]}"
            agent = Piece(short, "white", "tile", label, AGENTS[owner])
            pieces.append(agent if covered else face)
        rows = tuple(tuple(pieces[row : row + 5]) for row in range(0, TABLE, 5))
        ground = tuple(tuple(grounds[row : row + 5]) for row in range(0, TABLE, 5))
        left = ", ".join(f"{team} {len(state.left(t))}" for t, team in enumerate(TEAMS))
        clue = [f"clue: {state.clues[-1][1]} {state.clues[-1][2]}"] if state.guessing else []
        lines = (f"words left: {left}", *clue, *state.said)
        teams = self._teams(state)
        return Scene(
            grid=Grid(rows, ground=ground), parts=(teams,), lines=lines, colours=teams.colours
        )

    def _teams(self, state: Board) -> Table:
        """Who is in which team and role, and what they are doing."""
        rows = []
        for number, (name, role) in enumerate(zip(self.players, self.seats, strict=True)):
            acting = "to act" if number in self.to_act(state) else ""
            rows.append((TEAMS[number // self.side], name, str(role.role), acting))
        colours = tuple(COLOURS[number // self.side] for number in range(self.num_players))
        return Table(("team", "player", "role", ""), tuple(rows), colours=colours)


@lru_cache(maxsize=16)
def clue_grammar(hints: tuple[str, ...]) -> Grammar:
    number = Integer(0, MAX_NUMBER)
    return Grammar((Option(Clue, {"word": Word(LETTERS, hints), "number": number}),))


@lru_cache(maxsize=1024)
def guess_grammar(words: tuple[str, ...], may_stop: bool) -> Grammar:
    touch = Option(Guess, {"word": OneOf(words)})
    return Grammar((touch, Option(Stop)) if may_stop else (touch,))


@lru_cache(maxsize=1024)
def advice_grammar(words: tuple[str, ...], message_limit: int) -> Grammar:
    said = Text(message_limit, (STOPPING.text,))
    return Grammar((Option(Suggest, {"word": OneOf(words)}), Option(Say, {"text": said})))


@agent("word-associate", needs=("array",))
class WordAssociate(ScriptedAgent[Codenames]):
    """Gives and reads the clues of Codenames by the table of associations.

    As the spymaster it gives the hint whose list, in the order of the table, has the most of its
    own words before the first other word; if no hint has any, it gives the least harmful one. As
    the operative it touches the words that the clue fits, in that order, as many as the clue says,
    and it advises the same if another operative touches.
    """

    def choose(self, turn: Turn[Codenames]) -> TextAction:
        game = turn.game
        seen = np.asarray(turn.observation).tolist()
        table = seen[6:]
        rows = zip(*(table[at : at + TABLE] for at in range(0, 3 * TABLE, TABLE)), strict=True)
        owners = {game.vocabulary[n]: owner - 1 for n, owner, covered in rows if not covered}
        if seen[0] == CLUE:
            return best_clue(game.table, owners, seen[2])
        move = self._touch(dict(game.table), game.hints, seen, owners)
        if 0 not in table[3 * TABLE :]:
            return move
        return Suggest(move.word) if isinstance(move, Guess) else STOPPING

    def _touch(
        self,
        fits: Mapping[str, Sequence[str]],
        hints: Sequence[str],
        seen: Sequence[int],
        owners: Mapping[str, int],
    ) -> TextAction:
        hint, number, guesses = seen[3:6]
        if guesses and guesses >= number:
            return Stop()
        meant = [word for word in fits[hints[hint - 1]] if word in owners] if hint else []
        if guesses and not meant:
            return Stop()
        return Guess((meant or list(owners))[0])


def best_clue(table: Associations, owners: Mapping[str, int], team: int) -> Clue:
    """A spymaster's clue, given the owners of the words that are not covered."""
    best, chosen = (-100, 0), Clue(table[0][0], 1)
    for hint, words in table:
        meant = [owners[word] for word in words if word in owners]
        if team not in meant or any(related_words(hint, word) for word in owners):
            continue
        sure = next((n for n, owner in enumerate(meant) if owner != team), len(meant))
        harm = {BYSTANDER: 1, 1 - team: 2, ASSASSIN: 50}
        worth = (sure or -harm[meant[0]], len(meant))
        if worth > best:
            best, chosen = worth, Clue(hint, max(1, min(sure, MAX_NUMBER)))
    return chosen
