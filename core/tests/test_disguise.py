"""`disguise=`: another text, the same game, and nothing in the text that names it."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Vocabulary, specs
from palestra.kernel.registry import game, load_game, registry
from palestra.phrasing.disguise import DisguisedGame
from palestra.phrasing.extended import extend_game
from palestra.phrasing.translator import Translator

ARRAYS = [spec.id for spec in specs() if spec.array_game]


def texts(episode: Episode, seat: int) -> str:
    """All that a seat reads, without the frame that every question has."""
    told = [event.text for event in episode.transcript(seat)]
    return "\n".join([*told, episode.describe(seat), *episode.legal_texts(seat)])


def without_meanings(rules: str) -> str:
    """Rules without the line that says what new words mean."""
    return re.sub(r"\nIn this game “.*", "", rules)


def pairs(name: str, seed: int, steps: int = 6) -> Iterator[tuple[Episode, Episode]]:
    """The plain and the disguised game, before the same moves, drawn with the same numbers."""
    plain = Episode(game(name), seed, compiled=False)
    other = Episode(game(name, disguise=seed + 3), seed, compiled=False)
    rng = Rng.seeded(seed)
    for _ in range(steps):
        yield plain, other
        if plain.over:
            return
        moves = {seat: plain.sample(seat, rng) for seat in plain.to_act}
        plain.act(moves)
        other.act({s: other.parse(s, other.action_text(s, move)) for s, move in moves.items()})


@pytest.mark.parametrize("name", ARRAYS)
def test_a_disguised_game_is_the_same_game_in_other_words(name: str) -> None:
    for seed in (0, 5):
        for plain, other in pairs(name, seed):
            assert plain.to_act == other.to_act
            assert list(plain.rewards) == list(other.rewards)
            assert plain.state_key() == other.state_key()
            for seat in range(plain.game.num_players):
                assert np.array_equal(plain.observation(seat), other.observation(seat))
            for seat in plain.to_act:
                assert plain.legal_actions(seat) == other.legal_actions(seat)
                written = other.legal_texts(seat)
                assert len(set(written)) == len(set(plain.legal_texts(seat)))
        for seat in range(plain.game.num_players):
            assert plain.game.rules_for(seat) != other.game.rules_for(seat)
        assert (plain.outcome is None) == (other.outcome is None)
        if plain.outcome and other.outcome:
            assert plain.outcome.results == other.outcome.results


@pytest.mark.parametrize("name", ARRAYS)
def test_nothing_in_a_disguise_names_the_game(name: str) -> None:
    """Neither id nor class, nor a word that it declares or that its moves are written in."""
    disguised = game(name, disguise=1)
    words = set(disguised.translator.words)
    words.add(" ".join(re.findall(r"[A-Z][a-z]+|\d+", name.split("/")[1].split("-v")[0])).lower())
    found = re.compile(rf"(?<![\w_])({'|'.join(map(re.escape, words))})(?!\w)")
    for seat in range(disguised.num_players):
        assert not found.search(without_meanings(disguised.rules_for(seat)).casefold())
    for _, other in pairs(name, 1):
        for seat in other.to_act:
            assert not found.search(texts(other, seat).casefold())


# Words by which people know one of these games: none is in any disguise, of whatever game
TELLTALE = re.compile(
    r"\b(mate|mated|checkmate|stalemate|pawns?|knights?|rooks?|resign\w*|castl\w+|FEN|poker|bets?|"
    r"betting|blinds?|hole cards?|flop|river|showdown|suits?|aces?|jacks?|dealer|bids?|bidd\w+|"
    r"dice|liar|auction\w*|reserve price|buyers?|sellers?|order book|advertis\w+|fireworks?|"
    r"information tokens?|lives|boxes|push\w*|goals?|mines?|tiles?|stones?|discs?|captur\w+|"
    r"pursuers?|evaders?|landmarks?|adversar\w+|prey|onions?|soups?|cook\w*|serving|pedestrians?|"
    r"speakers?|listeners?|food|tokens?|pyramids?|defect\w*|cooperat\w*|punish\w*|stag|hare|slippery|"
    r"apples?|orchard|beams?)\b",
    re.IGNORECASE,
)


@pytest.mark.exhaustive(sample=20)
@pytest.mark.parametrize("name", ARRAYS)
def test_no_word_by_which_a_game_is_known_is_left(name: str) -> None:
    """In nothing that a seat reads up to the end of an episode, nor in what is said of its end."""
    plain = registry().environment(name)
    for options in ({}, *plain.splits.values()):
        disguised = load_game(plain, {**options, "disguise": 5})
        rules = {disguised.rules_for(seat) for seat in range(disguised.num_players)}
        assert not TELLTALE.findall("\n".join(map(without_meanings, rules)))
    other = Episode(game(name, disguise=5), 2, compiled=False)
    rng = Rng.seeded(2)
    for step in range(150):
        if other.over:
            break
        if step < 12:
            for seat in other.to_act:
                assert not TELLTALE.findall(other.prompt(seat))
        other.act({seat: other.sample(seat, rng) for seat in other.to_act})
    assert not TELLTALE.findall(texts(other, 0))
    assert not TELLTALE.findall(other.outcome.reason if other.outcome else "")


def test_bids_of_dice_are_written_otherwise() -> None:
    other = Episode(game("games/LiarsDice-v0", disguise=5), 0, compiled=False)
    seat = other.to_act[0]
    assert not re.search(r"\dx\d", other.game.rules_for(seat) + other.prompt(seat))
    assert re.fullmatch(r"1[a-z]1", other.legal_texts(seat)[0])


def test_a_map_is_drawn_in_the_signs_that_the_rules_explain() -> None:
    """Row numbers beside a map, walls in an unbroken line: every sign of it is replaced."""
    plain, other = (
        Episode(game("grid/Kitchen-v0", **more), 1, compiled=False)
        for more in ({}, {"disguise": 5})
    )
    assert isinstance(other.game, DisguisedGame)
    signs = other.game.translator.signs
    shown = [plain.describe(0), other.describe(0)]
    plain_map, other_map = (re.findall(r"^ \d ([A-Z.]+)$", text, re.M) for text in shown)
    assert len(plain_map) == 4
    assert other_map == ["".join(signs.get(s, s) for s in line) for line in plain_map]
    assert not set(signs) & set("".join(other_map))


@pytest.mark.parametrize("name", ARRAYS)
def test_what_is_told_apart_stays_told_apart(name: str) -> None:
    """Two different texts of the plain game never become one."""
    seen: dict[str, str] = {}
    for plain, other in pairs(name, 2):
        for seat in plain.to_act:
            for one, two in zip(
                [plain.describe(seat), *plain.legal_texts(seat)],
                [other.describe(seat), *other.legal_texts(seat)],
                strict=True,
            ):
                assert seen.setdefault(two, one) == one


def test_two_seeds_are_two_disguises_and_one_seed_is_one() -> None:
    rules = [game("games/LeducHoldem-v0", disguise=seed).rules_for(0) for seed in (1, 2, 1)]
    assert rules[0] == rules[2] != rules[1]
    assert game("games/Chess-v0", disguise=3) != game("games/Chess-v0", disguise=4)


def test_a_disguised_game_is_pickled_recorded_and_replayed() -> None:
    disguised = game("games/Othello-v0", disguise=9, wording="headings")
    assert pickle.loads(pickle.dumps(disguised)) == disguised
    record = palestra.play("games/Othello-v0", agents="first", disguise=9, max_episode_steps=6)[0]
    assert record.options["disguise"] == 9
    again = palestra.replay(record).game
    assert isinstance(again, DisguisedGame)
    assert again.disguise == 9
    assert palestra.verify(record)
    plain = palestra.play("games/Othello-v0", agents="first", max_episode_steps=6)[0]
    assert [t.action for t in plain.turns] == [t.action for t in record.turns]
    assert [t.text for t in plain.turns] != [t.text for t in record.turns]


def test_every_view_is_disguised() -> None:
    env = palestra.make("games/ConnectFour-v0", obs="text", disguise=4)
    seen, _ = env.reset(seed=1)
    assert "Connect" not in seen
    assert "1234567" not in seen
    env.close()


def test_the_notation_of_the_plain_game_is_not_read() -> None:
    """Standard algebraic notation would tell what the game is, and is no move of the disguise."""
    episode = Episode(game("games/Chess-v0", disguise=2), 0, compiled=False)
    for text in {"e4", "Nf3", "e2e4"} - set(episode.legal_texts(0)):
        with pytest.raises(InvalidAction):
            episode.parse(0, text)
    assert episode.parse(0, episode.legal_texts(0)[3]) == episode.legal_actions(0)[3]


def test_what_cannot_be_disguised_is_refused_by_name() -> None:
    with pytest.raises(InvalidOption, match="Negotiation is spoken"):
        game("text/Negotiation-v0", disguise=1)
    with pytest.raises(InvalidOption, match=r"disguise.*must be an integer at least 0, not -1"):
        game("games/Chess-v0", disguise=-1)
    bids = type("Bids", (type(game("markets/SealedAuction-v0")),), {"vocabulary": None})
    with pytest.raises(InvalidOption, match=r"Bids cannot be disguised.*vocabulary = Vocabulary"):
        extend_game(bids, DisguisedGame)(disguise=1)


def test_words_keep_their_endings_and_their_capitals() -> None:
    told = Translator(Vocabulary(), ["bet", "play card", "die", "city"], 3)
    bet, city = told.words["bet"], told.words["city"]
    assert told("Bet! An ace. He bets, betting. BET") == (
        f"{bet.capitalize()}! An ace. He {bet}s, {bet}ing. {bet.upper()}"
    )
    assert told("cities and a city; alphabet") == f"{city}s and a {city}; alphabet"
    assert told("an ace, an bet") == f"an ace, a {bet}"
