"""Hanabi: build fireworks together, seeing every hand but your own.

Two to five players hold cards of five colours and ranks 1 to 5 (three 1s, two each of 2, 3 and 4,
one 5 a colour) that only the others see. In turn each plays a card, discards one, or spends an
information token to tell another player which of their cards have a colour or a rank. Played cards
must continue the firework of their colour from 1 upwards; a card that does not costs one of three
lives. The score is the number of cards in the fireworks, at most 25 (A. Bauza, "Hanabi", 2010).
Rules that are easily missed:

* A hint must point at at least one card. A player may not discard while no token is spent.
* A discard returns a token, and so does completing a firework if a token is missing.
* When the last card has been drawn everybody, its drawer included, has one more turn.
* Losing the last life scores 0 by the official rules; `bomb_zero=False` keeps the score.

Every card added pays every player 1 ("firework"); a score that is lost is taken back ("bomb").

Actions, their numbers and the observation are those of the Hanabi Learning Environment (Bard et
al., "The Hanabi Challenge: A New Frontier for AI Research", Artificial Intelligence, 2020), against
which whole random games are compared through OpenSpiel, for all numbers of players and both smaller
presets. A player who always plays a random card adds 1.25 cards on average before the third
failure, as other simulators report.

The presets are those of MARS (self-play in strategic games): Mini Hanabi has 2 players, 2 colours,
2 ranks, hands of 3, 3 tokens and 3 lives; Simple Hanabi 2 players, 3 colours, 2 ranks, hands of 5,
8 tokens and 3 lives. Decks follow the same rule: three 1s and one 2 a colour.

An observation is a vector of zeros and ones, players in seat order from the observer on, cards
oldest first, a card as one of colours * ranks places:

    the others' cards; for every player whether their hand is short of a card
    cards in the deck that were not dealt at the start, fireworks by height, tokens, lives, discards
    the last move: player, kind (play, discard, colour, rank), who is told, colour, rank, cards
        pointed at, place of the card played or discarded, the card, whether it fitted, token gained
    for every player's cards: what the hints leave possible, colour told, rank told

and, after all that, the turns left (one place a player) once the deck is empty, which the Hanabi
Learning Environment leaves out.

Checked: whole random games against the Hanabi Learning Environment through OpenSpiel, for all
numbers of players.

Left out: the sixth, multicoloured suit of the printed game.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from numpy.typing import NDArray
from palestra import (
    ArrayGame,
    Bar,
    Channel,
    Event,
    InvalidOption,
    Meta,
    Outcome,
    Result,
    Rng,
    Scene,
    Vocabulary,
    constant,
    environment,
    only,
)
from palestra.rules import finish, mover, pass_turn, plain, turn_to
from palestra.scene import Card, Cards

from palestra_games.card.display import word_list
from palestra_games.card.hanabi.observation import (
    Observation,
    last_move_of,
    observation_of,
    read_observation,
)
from palestra_games.card.hanabi.rules import (
    NOTHING,
    copies,
    deal,
    discard,
    draw_card,
    give_hint,
    note_knowledge,
    note_move,
    play,
    read_hint,
    total_height,
    write_count,
    write_hands,
    write_hints,
    write_knowledge,
    write_last_move,
    write_table,
)
from palestra_games.card.hanabi.state import HanabiState
from palestra_games.card.hanabi.words import (
    COLOURS,
    card_name,
    move_text,
    observation_lines,
    options_text,
    value_name,
)

ABREAST = 14  # discards of a row in a picture
SHADES = ("red", "yellow", "green", "silver", "blue")  # of the cards in a picture


@environment(
    "games/Hanabi-v0",
    family="card",
    tags=("cooperation", "hidden-information", "communication", "chance"),
    paper="Bard et al. (2020), The Hanabi Challenge: A New Frontier for AI Research",
)
@environment(
    "games/SimpleHanabi-v0",
    family="card",
    tags=("cooperation", "hidden-information", "communication", "chance"),
    paper="MARS: Reinforcing Multi-Agent Reasoning of LLMs through Self-Play in Strategic Games",
    kwargs={"colours": 3, "ranks": 2, "hand": 5},
    players=(2, 2),
)
@environment(
    "games/MiniHanabi-v0",
    family="card",
    tags=("cooperation", "hidden-information", "communication", "chance"),
    paper="MARS: Reinforcing Multi-Agent Reasoning of LLMs through Self-Play in Strategic Games",
    kwargs={"colours": 2, "ranks": 2, "hand": 3, "tokens": 3},
    players=(2, 2),
)
@dataclass(frozen=True)
class Hanabi(ArrayGame[HanabiState]):
    """Hanabi: build fireworks together, seeing every hand but your own.

    Actions, in this order: discard the card at a place of the hand, play the card at a place, tell
    a colour to one of the other players (by player, then by colour), tell a rank (by player, then
    by rank). The module's docstring describes the observation. Every card added to a firework
    pays every player 1; a score that is lost with the last life is taken back.
    """

    num_players: Annotated[int, Meta(ge=2, le=5, description="number of players")] = 2
    colours: Annotated[
        int, Meta(ge=1, le=5, description="number of colours, each with its own firework")
    ] = 5
    ranks: Annotated[int, Meta(ge=1, le=5, description="ranks of each colour")] = 5
    hand: Annotated[
        int | None,
        Meta(
            ge=1,
            le=7,
            description="cards in a hand; None for 5 with two or three players and 4 with more",
        ),
    ] = None
    tokens: Annotated[int, Meta(ge=1, le=20, description="information tokens at the start")] = 8
    lives: Annotated[int, Meta(ge=1, le=20, description="lives at the start")] = 3
    bomb_zero: Annotated[
        bool, Meta(description="whether a team that loses its last life scores 0")
    ] = True

    vocabulary = Vocabulary(
        words=("hanabi", "firework", "token", "information", "life", "lives"),
        kept=("tell",),
    )
    rules_text = """
        You play Hanabi: you and the other players build fireworks together and score as one team.

        There is one firework a colour. It is built from rank 1 upwards, one card at a time. You see
        everybody's cards except your own; of your own you know only what others tell you. Cards in
        a hand are numbered from 1, the oldest, and a new card always gets the highest number. On
        your turn do one of these:
        - "play card 2": if the card is the next of its colour's firework it is added there. If not,
        it is discarded and the team loses a life.
        - "discard card 2": put the card on the discard pile and get an information token back. Not
        allowed while no token is missing.
        - "tell player_1 red" or "tell player_1 3": spend an information token to point out all
        cards of that colour or of that rank in another player's hand. There must be at least one.
        The player also learns that their other cards are not of it.

        After playing or discarding you draw a card while there are any. Completing a firework gives
        an information token back if one is missing. The game ends when all fireworks are complete,
        when the last life is lost, or when everybody has had one more turn after the last card was
        drawn. The score is the number of cards in the fireworks.
    """
    order = "sequential"
    fixed_moves = True
    payoffs = "common"
    deterministic = True
    perfect_information = False
    reward_terms = ("firework", "bomb")

    def validate(self) -> None:
        if self.num_players * self.hand_size > self.deck_size:
            raise InvalidOption(
                f"{self.num_players} hands of {self.hand_size} cards need more than the "
                f"{self.deck_size} cards of {self.colours} colours and {self.ranks} ranks; choose "
                "a smaller hand"
            )

    # Derived from the options

    @constant
    def hand_size(self) -> int:
        """Cards in a hand: as asked for, or 5 for two and three players and 4 for more."""
        if self.hand is None:
            return 5 if self.num_players <= 3 else 4
        return self.hand

    @constant
    def deck_size(self) -> int:
        """Cards in the game."""
        return self.colours * sum(copies(self.ranks, rank) for rank in range(self.ranks))

    @constant
    def talon(self) -> int:
        """Cards that are left in the deck when all hands have been dealt."""
        return self.deck_size - self.num_players * self.hand_size

    @constant
    def hand_knowledge(self) -> int:
        """Places of an observation for what the hints have told about one hand."""
        return self.hand_size * (self.full_score + self.colours + self.ranks)

    @property
    def full_score(self) -> int:
        """Cards in all fireworks when they are complete, and kinds of cards."""
        return self.colours * self.ranks

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (0.0, float(self.full_score))

    @property
    def num_actions(self) -> int:
        """Discards, plays, colour hints to each other player, rank hints."""
        return 2 * self.hand_size + (self.num_players - 1) * (self.colours + self.ranks)

    @property
    def observation_shape(self) -> tuple[int]:
        seats, hand, kinds = self.num_players, self.hand_size, self.full_score
        values = self.colours + self.ranks
        hands = (seats - 1) * hand * kinds + seats
        table = self.deck_size - seats * hand + kinds + self.tokens + self.lives + self.deck_size
        last = seats + 4 + seats + values + 2 * hand + kinds + 2
        known = seats * self.hand_knowledge
        return (hands + table + last + known + seats,)

    # The rules

    @staticmethod
    def init_state(config: Hanabi, state: HanabiState) -> None:
        deal(config, state)
        state.tokens, state.lives = config.tokens, config.lives
        state.turns_left = config.num_players
        note_move(state, -1, NOTHING)
        turn_to(state, 0)

    @staticmethod
    def apply_actions(config: Hanabi, state: HanabiState, actions: Any, out: Any) -> None:
        seat = mover(state)
        action = actions[seat]
        if state.drawn == config.deck_size:
            state.turns_left -= 1
        if action < config.hand_size:
            discard(config, state, seat, action)
        elif action >= 2 * config.hand_size:
            give_hint(config, state, seat, action - 2 * config.hand_size)
        elif play(config, state, seat, action - config.hand_size):
            for other in range(config.num_players):
                out.rewards[other, 0] = 1.0
        height = total_height(config, state)
        if state.lives == 0:
            if config.bomb_zero:
                for other in range(config.num_players):
                    out.rewards[other, 1] = 0.0 - height
            finish(state)
        elif height == config.colours * config.ranks or state.turns_left == 0:
            finish(state)
        else:
            if action < 2 * config.hand_size:
                draw_card(config, state, seat)
            pass_turn(state)
        if action < 2 * config.hand_size:
            note_knowledge(config, state, seat)

    @staticmethod
    def write_legal_mask(config: Hanabi, state: HanabiState, seat: int, mask: Any) -> None:
        for slot in range(config.hand_size):
            held = state.hands[seat, slot] >= 0
            mask[slot] = held and state.tokens < config.tokens
            mask[config.hand_size + slot] = held
        if state.tokens > 0:
            write_hints(config, state, seat, mask)

    def observation_channels(self, seat: int) -> tuple[Channel, ...]:
        seats, hand, kinds = self.num_players, self.hand_size, self.full_score
        values = self.colours + self.ranks
        return (
            Channel("hands", (seats - 1) * hand * kinds, "each card of the others, one-hot"),
            Channel("short", seats, "1 for each hand that lacks a card"),
            Channel("deck", self.talon, "cards left in the deck, as that many ones"),
            Channel("fireworks", kinds, "height of each colour's firework, one-hot; zeros for 0"),
            Channel("tokens", self.tokens, "information tokens left, as that many ones"),
            Channel("lives", self.lives, "lives left, as that many ones"),
            Channel("discards", self.deck_size, "discards of each card, as that many ones"),
            Channel("mover", seats, "who moved last, one-hot"),
            Channel("kind", 4, "the last move, one-hot: play, discard, hint colour, hint rank"),
            Channel("target", seats, "who was given the hint, one-hot"),
            Channel("hint", values, "the colour or rank of the hint, one-hot"),
            Channel("pointed", hand, "1 for each place of a hand that the hint points at"),
            Channel("place", hand, "the place of the card played or discarded, one-hot"),
            Channel("card", kinds, "the card played or discarded, one-hot"),
            Channel("effect", 2, "whether the card fitted; whether a token was gained"),
            Channel(
                "knowledge",
                seats * self.hand_knowledge,
                "for each card: the cards it can be by the hints, the colour and the rank hinted",
            ),
            Channel("turns_left", seats, "turns left once the deck is empty, as that many ones"),
        )

    @staticmethod
    def write_observation(config: Hanabi, state: HanabiState, seat: int, obs: Any) -> None:
        """Write hands, table, last move, knowledge and turns left; see the module's docstring."""
        at = write_hands(config, state, seat, obs)
        at = write_table(config, state, obs, at)
        at = write_last_move(config, state, seat, obs, at)
        at = write_knowledge(config, state, seat, obs, at)
        if state.drawn == config.deck_size:
            write_count(obs, at, state.turns_left, config.num_players)

    def score(self, state: HanabiState) -> int:
        """Cards in the fireworks; 0 after the last life where `bomb_zero` says so."""
        return 0 if self.bomb_zero and state.lives == 0 else sum(state.fireworks.tolist())

    def scores(self, state: HanabiState) -> tuple[float, ...]:
        return (float(self.score(state)),) * self.num_players

    def outcome(self, state: HanabiState) -> Outcome | None:
        ended = super().outcome(state)
        if ended is None:
            return None
        reason = "everybody has had their last turn"
        if state.lives == 0:
            reason = "the last life was lost"
        elif state.fireworks.sum() == self.full_score:
            reason = "all fireworks are complete"
        result: Result = "score"
        return replace(ended, results=(result,) * self.num_players, reason=reason)

    def determinize(self, state: HanabiState, seat: int, rng: Rng) -> HanabiState:
        """Redraw this player's hand, uniformly among all that fit the hints, and the deck's order.

        The cards to draw from are those they do not see. Each card is drawn among those it could
        be; if two draw the same card, all are drawn again.
        """
        copy: HanabiState = self.clone(state)
        drawn, size = int(state.drawn), int((state.hands[seat] >= 0).sum())
        unseen = sorted([*state.hands[seat][:size].tolist(), *state.deck[drawn:].tolist()])
        options = [
            [at for at, card in enumerate(unseen) if self._could_be(state, seat, slot, card)]
            for slot in range(size)
        ]
        chosen = [rng.choice(places) for places in options]
        while len(set(chosen)) < size:
            chosen = [rng.choice(places) for places in options]
        for slot, at in enumerate(chosen):
            copy.hands[seat, slot] = unseen[at]
        rest = [card for at, card in enumerate(unseen) if at not in chosen]
        rng.shuffle(rest)
        copy.deck[drawn:] = rest
        return copy

    def _could_be(self, state: HanabiState, seat: int, slot: int, card: int) -> bool:
        colours, ranks = state.could_colour[seat, slot], state.could_rank[seat, slot]
        return bool(colours >> card // self.ranks & ranks >> card % self.ranks & 1)

    # Words

    def read(self, obs: NDArray[Any]) -> Observation:
        """Decode an observation array."""
        return read_observation(self.config, obs)

    def rules_for(self, seat: int) -> str:
        return f"{super().rules_for(seat)}\n{options_text(self.config)}"

    def action_text(self, state: HanabiState, seat: int, action: int) -> str:
        if action < self.hand_size:
            return f"discard card {action + 1}"
        if action < 2 * self.hand_size:
            return f"play card {action - self.hand_size + 1}"
        target, kind, value = read_hint(self.config, seat, action - 2 * self.hand_size)
        return f"tell {self.players[target]} {value_name(kind, value)}"

    def describe(self, state: HanabiState, seat: int) -> str:
        """What the observation holds, in words."""
        names = self.players[seat:] + self.players[:seat]
        seen = observation_of(self.config, state, seat)
        return "\n".join(observation_lines(self.config, seen, names, self.score(state)))

    def narrate(
        self, before: HanabiState | None, actions: Mapping[int, int], after: HanabiState
    ) -> list[Event]:
        """Every move reveals something to somebody; cards drawn are shown to all but the drawer."""
        if before is None:
            return [self._deal_event(after, seat) for seat in range(self.num_players)]
        events = []
        after = plain(after)
        for seat, action in actions.items():
            move = last_move_of(self.config, after, 0)
            text = move_text(self.config, move, self.players) if move else ""
            events.append(Event("reveal", text, {"player": seat, "action": int(action)}))
            if after.drawn > before.drawn:
                card = int(after.hands[seat, self.hand_size - 1])
                text = f"{self.players[seat]} draws {card_name(self.config, card)}."
                data = {"player": seat, "card": card}
                events.append(Event("draw", text, data, self._others(seat)))
        return events

    def _deal_event(self, state: HanabiState, seat: int) -> Event:
        cards = state.hands[seat].tolist()
        names = word_list(card_name(self.config, card) for card in cards)
        text = f"{self.players[seat]} is dealt {names}."
        return Event("deal", text, {"player": seat, "cards": cards}, self._others(seat))

    def _others(self, seat: int) -> frozenset[int]:
        return only(*(other for other in range(self.num_players) if other != seat))

    # Pictures

    def scene(self, state: HanabiState, seat: int | None = None) -> Scene:
        """All hands, or for a player all but their own, with the hints that each card has got."""
        rows = []
        for owner in range(self.num_players):
            cards = [card for card in state.hands[owner].tolist() if card >= 0]
            hints = [self._hint(state, owner, slot) for slot in range(len(cards))]
            held = [
                Card(hidden=True, badge=hint) if owner == seat else self._card(card, hint)
                for card, hint in zip(cards, hints, strict=True)
            ]
            rows.append(Cards(self.players[owner], tuple(held)))
        bars = (
            Bar("tokens", float(state.tokens), self.tokens, 6),
            Bar("lives", float(state.lives), self.lives, 0),
        )
        left = self.deck_size - int(state.drawn)
        score = f"Score {self.score(state)} of {self.full_score}"
        piles = Cards(
            "fireworks", tuple(self._top(state, colour) for colour in range(self.colours))
        )
        caption = f"{score}, {left} in the deck"
        return Scene(caption, bars=bars, parts=(piles, *rows, *self._discards(state)))

    def _hint(self, state: HanabiState, owner: int, slot: int) -> str:
        """What hints have named of a card: its colour, its rank, or both, as in "R3"."""
        card = int(state.hands[owner, slot])
        colour = COLOURS[card // self.ranks][0].upper() if state.told_colour[owner, slot] else ""
        rank = str(card % self.ranks + 1) if state.told_rank[owner, slot] else ""
        return colour + rank

    def _top(self, state: HanabiState, colour: int) -> Card:
        """The last card of a firework; before its first one, the colour."""
        height = int(state.fireworks[colour])
        if height:
            return self._card(colour * self.ranks + height - 1, "")
        letter, nothing = COLOURS[colour][0].upper(), f"no {COLOURS[colour]} card"
        return Card(letter, "firework", SHADES[colour], label=nothing)

    def _discards(self, state: HanabiState) -> tuple[Cards, ...]:
        """The discards by colour and rank, in as many rows as they need."""
        counts = enumerate(state.discards.tolist())
        gone = tuple(self._card(card, "") for card, count in counts for _ in range(count))
        starts = range(ABREAST, len(gone), ABREAST)
        more = (Cards("", gone[start : start + ABREAST]) for start in starts)
        return (Cards("discards", gone[:ABREAST]), *more)

    def _card(self, card: int, hint: str) -> Card:
        colour, name = card // self.ranks, card_name(self, card)
        glyph = f"{COLOURS[colour][0].upper()}{card % self.ranks + 1}"
        return Card(glyph, "firework", SHADES[colour], label=name, badge=hint)
