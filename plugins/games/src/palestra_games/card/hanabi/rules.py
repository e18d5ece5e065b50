"""The rules of Hanabi, as plain functions that compile; see `palestra.kernel.array_game`.

A card is colour * ranks + rank, both from 0, and -1 where there is none. Hands are in order, oldest
card first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from palestra.rules import shuffle

from palestra_games.card.hanabi.state import HanabiState

if TYPE_CHECKING:
    from palestra_games.card.hanabi.game import Hanabi

# What the last move was: `last_kind`.
NOTHING, PLAYED, DISCARDED, TOLD_COLOUR, TOLD_RANK = -1, 0, 1, 2, 3


def copies(ranks: int, rank: int) -> int:
    """Copies of each card of a rank: three of the lowest, one of the highest, two of others."""
    if rank == 0:
        return 3
    return 1 if rank == ranks - 1 else 2


def deal(config: Hanabi, state: HanabiState) -> None:
    """Shuffle the deck and deal every hand from its start."""
    at = 0
    for card in range(config.colours * config.ranks):
        for _ in range(copies(config.ranks, card % config.ranks)):
            state.deck[at] = card
            at += 1
    shuffle(state, state.deck)
    for seat in range(config.num_players):
        for slot in range(config.hand_size):
            state.hands[seat, slot] = -1
        for _ in range(config.hand_size):
            draw_card(config, state, seat)
        note_knowledge(config, state, seat)


def draw_card(config: Hanabi, state: HanabiState, seat: int) -> None:
    """Take the next card of the deck, if there is one, as the newest of a hand that has room."""
    if state.drawn == config.deck_size:
        return
    slot = 0
    while state.hands[seat, slot] >= 0:
        slot += 1
    state.hands[seat, slot] = state.deck[state.drawn]
    state.could_colour[seat, slot] = (1 << config.colours) - 1
    state.could_rank[seat, slot] = (1 << config.ranks) - 1
    state.deck[state.drawn] = -1
    state.drawn += 1


def take_card(config: Hanabi, state: HanabiState, seat: int, slot: int) -> int:
    """Take a card out of a hand and close the gap; returns the card."""
    card = int(state.hands[seat, slot])
    newest = config.hand_size - 1
    for at in range(slot, newest):
        state.hands[seat, at] = state.hands[seat, at + 1]
        state.could_colour[seat, at] = state.could_colour[seat, at + 1]
        state.could_rank[seat, at] = state.could_rank[seat, at + 1]
        state.told_colour[seat, at] = state.told_colour[seat, at + 1]
        state.told_rank[seat, at] = state.told_rank[seat, at + 1]
    state.hands[seat, newest] = -1
    state.could_colour[seat, newest] = 0
    state.could_rank[seat, newest] = 0
    state.told_colour[seat, newest] = 0
    state.told_rank[seat, newest] = 0
    return card


def note_move(state: HanabiState, seat: int, kind: int) -> None:
    """Begin the record of the last move, which everybody sees."""
    state.last_kind, state.last_player = kind, seat
    state.last_target, state.last_value, state.last_touched = -1, -1, 0
    state.last_slot, state.last_card = -1, -1
    state.last_fitted, state.last_gained = 0, 0


def discard(config: Hanabi, state: HanabiState, seat: int, slot: int) -> None:
    """Put a card on the discard pile for an information token."""
    note_move(state, seat, DISCARDED)
    card = take_card(config, state, seat, slot)
    state.last_slot, state.last_card = slot, card
    state.discards[card] += 1
    state.tokens += 1


def play(config: Hanabi, state: HanabiState, seat: int, slot: int) -> bool:
    """Add a card to its firework, or discard it and lose a life; return whether it fitted."""
    note_move(state, seat, PLAYED)
    card = take_card(config, state, seat, slot)
    state.last_slot, state.last_card = slot, card
    colour, rank = card // config.ranks, card % config.ranks
    if state.fireworks[colour] != rank:
        state.discards[card] += 1
        state.lives -= 1
        return False
    state.fireworks[colour] += 1
    state.last_fitted = 1
    if state.fireworks[colour] == config.ranks and state.tokens < config.tokens:
        state.tokens += 1
        state.last_gained = 1
    return True


def give_hint(config: Hanabi, state: HanabiState, seat: int, number: int) -> None:
    """Tell another player which of their cards have a colour or rank; `number` counts the hints."""
    target, kind, value = read_hint(config, seat, number)
    note_move(state, seat, kind)
    state.last_target, state.last_value = target, value
    state.tokens -= 1
    for slot in range(config.hand_size):
        card = state.hands[target, slot]
        if card < 0:
            continue
        touched = has_value(config, card, kind, value)
        if touched:
            state.last_touched |= 1 << slot
        if kind == TOLD_COLOUR:
            state.could_colour[target, slot] &= 1 << value if touched else ~(1 << value)
            state.told_colour[target, slot] |= touched
        else:
            state.could_rank[target, slot] &= 1 << value if touched else ~(1 << value)
            state.told_rank[target, slot] |= touched
    note_knowledge(config, state, target)


def note_knowledge(config: Hanabi, state: HanabiState, seat: int) -> None:
    """Write what the hints so far have told a player about their own cards, as all observe it.

    A move changes one hand at most, and every player observes all hands: written into each
    observation anew, they took half of the time of a step.
    """
    known, at = state.known[seat], 0
    for slot in range(config.hand_size):
        colours, ranks = int(state.could_colour[seat, slot]), int(state.could_rank[seat, slot])
        for colour in range(config.colours):
            for rank in range(config.ranks):
                known[at + rank] = colours >> colour & ranks >> rank & 1
            at += config.ranks
        for colour in range(config.colours):
            known[at + colour] = colours >> colour & state.told_colour[seat, slot]
        at += config.colours
        for rank in range(config.ranks):
            known[at + rank] = ranks >> rank & state.told_rank[seat, slot]
        at += config.ranks


def read_hint(config: Hanabi, seat: int, number: int) -> tuple[int, int, int]:
    """Whom hint `number` tells, its kind, and the colour or rank: all colours, then all ranks."""
    others = config.num_players - 1
    colours = others * config.colours
    if number < colours:
        ahead, kind, value = number // config.colours, TOLD_COLOUR, number % config.colours
    else:
        number -= colours
        ahead, kind, value = number // config.ranks, TOLD_RANK, number % config.ranks
    return (seat + 1 + ahead) % config.num_players, kind, value


def has_value(config: Hanabi, card: int, kind: int, value: int) -> bool:
    """Whether a card has a colour or a rank, by the kind of hint."""
    own = card // config.ranks if kind == TOLD_COLOUR else card % config.ranks
    return own == value


def write_hints(config: Hanabi, state: HanabiState, seat: int, mask: Any) -> None:
    """Allow the hints that point at a card, numbered as `read_hint` reads them."""
    others, first = config.num_players - 1, 2 * config.hand_size
    for ahead in range(others):
        target = (seat + 1 + ahead) % config.num_players
        for slot in range(config.hand_size):
            card = state.hands[target, slot]
            if card >= 0:
                colour, rank = card // config.ranks, card % config.ranks
                mask[first + ahead * config.colours + colour] = 1
                mask[first + others * config.colours + ahead * config.ranks + rank] = 1


def total_height(config: Hanabi, state: HanabiState) -> int:
    """How many cards the fireworks have."""
    height = 0
    for colour in range(config.colours):
        height += state.fireworks[colour]
    return height


# The observation, part by part; each part is written from `at` on and returns where it ends.


def write_hands(config: Hanabi, state: HanabiState, observer: int, obs: Any) -> int:
    """The cards of the others, then whose hands are short of a card."""
    kinds = config.colours * config.ranks
    at = 0
    for ahead in range(1, config.num_players):
        seat = (observer + ahead) % config.num_players
        for slot in range(config.hand_size):
            card = state.hands[seat, slot]
            if card >= 0:
                obs[at + card] = 1
            at += kinds
    for ahead in range(config.num_players):
        seat = (observer + ahead) % config.num_players
        obs[at] = state.hands[seat, config.hand_size - 1] < 0
        at += 1
    return at


def write_table(config: Hanabi, state: HanabiState, obs: Any, at: int) -> int:
    """Cards in the deck, fireworks, tokens, lives and discards."""
    at = write_count(obs, at, config.deck_size - state.drawn, config.talon)
    for colour in range(config.colours):
        height = state.fireworks[colour]
        if height > 0:
            obs[at + height - 1] = 1
        at += config.ranks
    at = write_count(obs, at, state.tokens, config.tokens)
    at = write_count(obs, at, state.lives, config.lives)
    for colour in range(config.colours):
        for rank in range(config.ranks):
            count = state.discards[colour * config.ranks + rank]
            for place in range(copies(config.ranks, rank)):
                obs[at + place] = place < count
            at += copies(config.ranks, rank)
    return at


def write_count(obs: Any, at: int, count: int, most: int) -> int:
    """`count` ones in the first of `most` places."""
    for place in range(most):
        obs[at + place] = place < count
    return int(at + most)


def write_last_move(config: Hanabi, state: HanabiState, seat: int, obs: Any, at: int) -> int:
    """The last move, with players counted from the observer on."""
    seats, kinds = config.num_players, config.colours * config.ranks
    kind = state.last_kind
    target, colour = at + seats + 4, at + 2 * seats + 4
    rank = colour + config.colours
    touched = rank + config.ranks
    slot = touched + config.hand_size
    card = slot + config.hand_size
    end = card + kinds + 2
    if kind == NOTHING:
        return int(end)
    obs[at + (state.last_player - seat) % seats] = 1
    obs[at + seats + kind] = 1
    if kind in (TOLD_COLOUR, TOLD_RANK):
        obs[target + (state.last_target - seat) % seats] = 1
        obs[(colour if kind == TOLD_COLOUR else rank) + state.last_value] = 1
        for place in range(config.hand_size):
            obs[touched + place] = state.last_touched >> place & 1
    else:
        obs[slot + state.last_slot] = 1
        obs[card + state.last_card] = 1
        if kind == PLAYED:
            obs[end - 2] = state.last_fitted
            obs[end - 1] = state.last_gained
    return int(end)


def write_knowledge(config: Hanabi, state: HanabiState, observer: int, obs: Any, at: int) -> int:
    """What the hints so far have told every player about their own cards."""
    for ahead in range(config.num_players):
        seat = (observer + ahead) % config.num_players
        known = state.known[seat]
        part = obs[at : at + config.hand_knowledge]  # counted from 0, which halves a step's time
        for place in range(config.hand_knowledge):
            part[place] = known[place]
        at += config.hand_knowledge
    return int(at)
