"""`wording=`: the same game asked for in other words."""

from __future__ import annotations

import pickle
import re

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, UnknownName, specs
from palestra.kernel.registry import game, load_game
from palestra.phrasing.extended import extend_game
from palestra.phrasing.wording import PARAPHRASES, WORDINGS, RewordedGame, answer_form, wordings_of

ONE_OF_EACH = ("games/Catan-v0", "games/KuhnPoker-v0", "grid/Harvest-v0", "text/Negotiation-v0")


def episode(name: str, wording: object, seed: int = 1) -> Episode:
    return Episode(game(name, wording=wording), seed, compiled=False if "Kuhn" in name else None)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


@pytest.mark.parametrize("name", sorted(spec.id for spec in specs()))
def test_every_game_can_be_worded_in_every_way_and_says_the_same(name: str) -> None:
    """Rules, position and moves are all in each wording, and no two wordings are alike."""
    spec = next(spec for spec in specs() if spec.id == name)
    plain = Episode(load_game(spec, {}), 1, compiled=spec.array_game and False)
    seat = plain.to_act[0]
    asked = {"plain": plain.prompt(seat)}
    for wording in (*PARAPHRASES, "null"):
        worded = load_game(spec, {"wording": wording})
        other = Episode(worded, 1, compiled=spec.array_game and False)
        asked[wording] = other.prompt(seat)
        for part in (plain.describe(seat), plain.legal_text(seat)):
            assert part in asked[wording]
        assert set(words(plain.game.rules_for(seat))) <= set(words(other.game.rules_for(seat)))
        assert plain.state_key() == other.state_key()
    assert asked.pop("null") == plain.prompt(seat)
    assert len(set(asked.values())) == len(PARAPHRASES) + 1 >= 6


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_shuffled_moves_are_the_same_moves_in_an_order_that_does_not_change(name: str) -> None:
    plain, other = episode(name, "plain"), episode(name, "legal-shuffled")
    seat = plain.to_act[0]
    assert sorted(words(other.prompt(seat))) == sorted(words(plain.prompt(seat)))
    assert other.prompt(seat) == episode(name, "legal-shuffled").prompt(seat)
    assert plain.legal_texts(seat) == other.legal_texts(seat), "numbers stay where they are"


def test_the_order_of_moves_is_another_in_other_positions() -> None:
    asked = {
        Episode(game("games/ConnectFour-v0", wording="legal-shuffled"), 1, compiled=False)
        .fork()
        .prompt(0)
    }
    other = Episode(game("games/ConnectFour-v0", wording="legal-shuffled"), 1, compiled=False)
    for move in (3, 2, 4, 4):
        other.act({other.to_act[0]: move})
        asked.add(other.prompt(other.to_act[0]).rpartition("play: ")[2])
    assert len(asked) == 5


def test_hidden_moves_are_in_no_question_and_in_no_refusal() -> None:
    hidden = episode("games/KuhnPoker-v0", "legal-hidden")
    assert "bet" not in hidden.prompt(0)
    assert "it is your turn" in hidden.prompt(0)
    with pytest.raises(InvalidAction) as refused:
        hidden.parse(0, "raise")
    assert "bet," not in str(refused.value)
    assert hidden.parse(0, "bet") == 1


def test_one_seat_alone_is_asked_in_other_words() -> None:
    first, plain = episode("games/KuhnPoker-v0", "tags@0"), episode("games/KuhnPoker-v0", "plain")
    assert first.game.rules_for(0) != first.game.rules_for(1) == plain.game.rules_for(1)
    assert "<position>" in first.prompt(0)
    assert first.prompt(1) == plain.prompt(1)


def test_a_callers_own_wording_is_recorded_and_replayed_without_its_file() -> None:
    own = {"name": "short@1", "rules": "Short. {rules}", "question": "{player}? {legal}"}
    record = palestra.play("games/KuhnPoker-v0", agents=["first", "first"], wording=own)[0]
    assert record.options["wording"] == own
    again = palestra.replay(record)
    assert again.game.rules_for(1).startswith("Short. You play Kuhn")
    assert "Short" not in again.game.rules_for(0)
    assert pickle.loads(pickle.dumps(again.game)) == again.game
    for_all = episode("games/KuhnPoker-v0", own | {"name": ""})
    assert for_all.prompt(0).endswith("player_0? pass, bet")


@pytest.mark.parametrize(
    ("wording", "error", "says"),
    [
        ("heading", UnknownName, "did you mean 'headings'"),
        ("tags@7", InvalidOption, "there is no seat '7'"),
        ({"question": "play!"}, InvalidOption, "must say {legal}"),
        ({"text": "play!"}, InvalidOption, "'rules', 'question' or 'answer'"),
        ({"name": "nothing"}, InvalidOption, "'rules', 'question' or 'answer'"),
        (3, InvalidOption, "wording must be"),
    ],
)
def test_what_is_no_wording_is_refused(wording: object, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        game("games/KuhnPoker-v0", wording=wording)


def test_every_paraphrase_has_its_own_words_for_what_an_answer_is() -> None:
    """All that a model reads is reworded, and no form of answer is read otherwise."""
    forms = {name: WORDINGS[name].answer for name in ("plain", *PARAPHRASES)}
    assert len(set(forms.values())) == len(forms)
    assert {forms["plain"], WORDINGS["null"].answer} == {"Answer with your move only."}
    worded = game("games/KuhnPoker-v0", wording="tags@1")
    assert [answer_form(worded, seat) for seat in (0, 1)] == [forms["plain"], forms["tags"]]
    assert answer_form(game("games/KuhnPoker-v0"), 0) == forms["plain"]
    own = game("games/KuhnPoker-v0", wording={"answer": "One word."})
    assert answer_form(own, 0) == "One word."
    assert own.rules_for(0) == game("games/KuhnPoker-v0").rules_for(0)


def test_every_wording_says_what_it_changes() -> None:
    assert all(wording.changes for wording in WORDINGS.values())
    assert len(PARAPHRASES) >= 5


def test_a_game_offers_wordings_of_its_own() -> None:
    own = {"short": {"rules": "Kuhn.", "question": "{player}: {legal}?"}}
    kind = type("Own", (type(game("games/KuhnPoker-v0")),), {"wordings": own})
    made = extend_game(kind, RewordedGame)(wording="short@1")
    assert wordings_of(made) == own
    assert (made.rules_for(1), made.rules_for(0)[:8]) == ("Kuhn.", "You play")
    with pytest.raises(UnknownName, match="did you mean 'short'"):
        extend_game(kind, RewordedGame)(wording="shorts")
