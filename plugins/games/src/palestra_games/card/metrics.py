"""Measures of card games, and of liar's dice."""

from __future__ import annotations

from palestra import EpisodeRecord, metric
from palestra.records.shared_measures import data_of, share_of, term_count

HANABI = ("games/Hanabi-v0", "games/MiniHanabi-v0", "games/SimpleHanabi-v0")
BETTING = ("games/LeducHoldem-v0", "games/Holdem-v0")
KUHN_CARDS = ("jack", "queen", "king")


@metric("opening-bet", measures=("games/KuhnPoker-v0",), bounds=(0.0, 1.0))
def opening_bet(record: EpisodeRecord) -> dict[str, float]:
    """1 if the first player opened with a bet, else 0, by the card they held.

    Its means are that player's strategy: in equilibrium a from 0 to 1/3 with the jack, 0 with the
    queen and 3 a with the king (Kuhn 1950).
    """
    if not record.turns or record.turns[0].action is None:
        return {}
    card = KUHN_CARDS[data_of(record, "deal")[0]["card"]]
    return {card: float(record.turns[0].action == 1)}


@metric("showdown", measures=("games/KuhnPoker-v0", *BETTING), bounds=(0.0, 1.0))
def showdown(record: EpisodeRecord) -> float | None:
    """1 if cards were compared at the end, else 0; undefined if the game was cut short."""
    if record.outcome is None or "truncated" in record.outcome.results:
        return None
    return float(any("cards" in data for data in data_of(record, "reveal")))


@metric("aggression", measures=BETTING, bounds=(0.0, 1.0))
def aggression(record: EpisodeRecord) -> float | None:
    """The share of raises among all raises, calls and folds: the aggression frequency.

    Checks do not count; nothing without any of the others.
    """
    moves = [turn.text for turn in record.turns if turn.action is not None]
    return share_of(text.startswith("raise") for text in moves if text != "check")


@metric("big-blinds-a-hand", measures=("games/Holdem-v0",), unit="big blinds a hand")
def big_blinds_a_hand(record: EpisodeRecord) -> dict[str, float]:
    """What a player won or lost per hand, in big blinds; undefined before a hand is over."""
    hands = len(data_of(record, "payment"))
    if not hands:
        return {}
    unit = hands * float(record.options["big_blind"])
    return {p: paid / unit for p, paid in zip(record.players, record.returns, strict=True)}


@metric("bust", measures=("games/Blackjack-v0",), bounds=(0.0, 1.0), better="lower")
def bust(record: EpisodeRecord) -> float:
    """1 if the player's cards exceeded 21, else 0."""
    cards: list[int] = list(data_of(record, "deal")[0]["cards"])
    cards += [data["card"] for data in data_of(record, "reveal") if "card" in data]
    return float(sum(min(10, card + 1) for card in cards) > 21)  # an ace counts 1


@metric("cards-played", measures=HANABI, unit="cards", bounds=(0.0, 25.0), better="higher")
def cards_played(record: EpisodeRecord) -> float:
    """Cards in the fireworks at the end, also if the last life was lost."""
    return float(term_count(record, "firework", seat=0))


@metric("misplays", measures=HANABI, unit="cards", bounds=(0.0, None), better="lower")
def misplays(record: EpisodeRecord) -> float:
    """Cards that were played and did not fit; each costs a life."""
    played = sum(turn.text.startswith("play") for turn in record.turns)
    return played - cards_played(record)


@metric("hint-share", measures=HANABI, bounds=(0.0, 1.0))
def hint_share(record: EpisodeRecord) -> float | None:
    """The share of moves that were hints; undefined without a move."""
    return share_of(turn.text.startswith("tell") for turn in record.turns if turn.text)


@metric("perfect", measures=HANABI, bounds=(0.0, 1.0), better="higher")
def perfect(record: EpisodeRecord) -> float:
    """1 if all fireworks were completed, else 0."""
    full = int(record.options["colours"]) * int(record.options["ranks"])
    return float(cards_played(record) == full)


@metric("challenges-right", measures=("games/LiarsDice-v0",), bounds=(0.0, 1.0), better="higher")
def challenges_right(record: EpisodeRecord) -> float | None:
    """The share of challenges that met a false bid; undefined without a challenge."""
    return share_of(not data["true"] for data in data_of(record, "reveal") if "true" in data)
