"""The fishery: closed-form runs of GovSim's rules, allocation, talk, and metrics."""

from __future__ import annotations

from string import Formatter
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_envs.text.commons.game import Commons, Harvest, words_in
from palestra_envs.text.metrics import gini
from palestra_envs.text.sharing import Pass, Say, proportional_shares

LANGUAGES = ("en", "de", "ja")
SCENARIOS = ("fishery", "pasture", "pollution")


def harvest(episode: Episode, *amounts: int) -> None:
    episode.act({seat: Harvest(n) for seat, n in enumerate(amounts)})


def test_all_harvest_ten_of_a_hundred_for_twelve_rounds() -> None:
    (record,) = palestra.play("text/Commons-v0", agents=["harvester:policy=fixed,amount=10"] * 5)
    assert list(record.returns) == [120.0] * 5
    assert sum(event.kind == "catch" for event in record.events) == 12
    assert record.outcome.scores == (120.0,) * 5


def test_all_harvest_twenty_kills_the_lake_at_once() -> None:
    (record,) = palestra.play("text/Commons-v0", agents=["harvester:policy=fixed,amount=20"] * 5)
    assert list(record.returns) == [20.0] * 5
    assert sum(event.kind == "catch" for event in record.events) == 1
    assert "collapsed in round 1" in record.outcome.reason


def test_one_greedy_player_dooms_everybody() -> None:
    agents = ["harvester:policy=fixed,amount=60", *["harvester"] * 4]
    (record,) = palestra.play("text/Commons-v0", agents=agents)
    # 100 - 60 - 40 = 0: dead in the first round
    assert sum(event.kind == "catch" for event in record.events) == 1


@pytest.mark.parametrize(
    ("amounts", "left", "next_stock"),
    [((10,) * 5, 50, 100), ((15,) * 5, 25, 50), ((2,) * 5, 90, 100), ((19,) * 5, 5, 10)],
)
def test_what_is_left_doubles_up_to_capacity(
    amounts: tuple[int, ...], left: int, next_stock: int
) -> None:
    episode = Episode(Commons(talk=False), seed=0)
    harvest(episode, *amounts)
    assert episode.log[-1][0].data["left"] == left
    assert episode.state.stock == next_stock


def test_below_five_tons_it_collapses() -> None:
    episode = Episode(Commons(talk=False), seed=0)
    harvest(episode, 20, 19, 19, 19, 19)
    assert episode.over
    assert "collapsed" in episode.outcome.reason


def test_proportional_shares_by_largest_remainder() -> None:
    assert proportional_shares([50, 50, 50], 100) == [34, 33, 33]
    assert proportional_shares([100, 50, 0], 90) == [60, 30, 0]
    assert proportional_shares([1, 1, 1], 2) == [1, 1, 0]


def test_random_allocation_gives_out_everything_and_no_more_than_asked() -> None:
    game = Commons()
    for seed in range(50):
        asked = [Rng(seed + 100 * k).between(0, 100) for k in range(5)]
        got = game.allocate(asked, 100, Rng(seed))
        assert sum(got) == min(100, sum(asked))
        assert all(g <= a for g, a in zip(got, asked, strict=True))


def test_random_allocation_is_even_between_equal_wishes() -> None:
    game = Commons(num_players=2)
    mean = sum(game.allocate([100, 100], 100, Rng(s))[0] for s in range(200)) / 200
    # a fair coin thrown 100 times: standard error of the mean is 5 / sqrt(200) = 0.35
    assert mean == pytest.approx(50, abs=1.5)


def test_phases_harvest_together_then_talk_in_turn() -> None:
    episode = Episode(Commons(num_players=3, utterances=3), seed=0)
    assert episode.to_act == (0, 1, 2)
    harvest(episode, 5, 5, 5)
    speakers = []
    for _ in range(3):
        (speaker,) = episode.to_act
        speakers.append(speaker)
        episode.act({speaker: Pass()})
    assert sorted(speakers) == [0, 1, 2]
    assert episode.to_act == (0, 1, 2)


def test_whispers_reach_one_player_only() -> None:
    episode = Episode(Commons(num_players=3), seed=0)
    harvest(episode, 5, 5, 5)
    (speaker,) = episode.to_act
    hearer, stranger = (p for p in range(3) if p != speaker)
    episode.act({speaker: Say(text="Between us.", to=f"player_{hearer}")})
    assert "Between us." in episode.prompt(hearer)
    assert "Between us." not in episode.prompt(stranger)


def test_nobody_whispers_to_himself_or_to_strangers() -> None:
    episode = Episode(Commons(num_players=3), seed=0)
    harvest(episode, 5, 5, 5)
    (speaker,) = episode.to_act
    for name in (f"player_{speaker}", "player_9"):
        with pytest.raises(InvalidAction, match="everybody"):
            episode.act({speaker: Say(text="Hello.", to=name)})


def test_universalisation_names_the_sustainable_share() -> None:
    episode = Episode(Commons(universalise=True), seed=0)
    assert "more than 10 tons" in episode.describe(0)
    assert "more than" not in Episode(Commons(), seed=0).describe(0)


@pytest.mark.parametrize("players", range(2, 11))
def test_sustainable_harvesters_survive_at_any_size(players: int) -> None:
    (record,) = palestra.play("text/Commons-v0", agents=["harvester"] * players)
    assert sum(event.kind == "catch" for event in record.events) == 12
    assert list(record.returns) == [12.0 * (50 // players)] * players


@pytest.mark.parametrize(
    ("scenario", "resource", "unit"),
    [
        ("fishery", "lake", "tons"),
        ("pasture", "pasture", "hectares"),
        ("pollution", "river", "percent"),
    ],
)
def test_scenarios_are_the_same_rules_in_other_words(
    scenario: str, resource: str, unit: str
) -> None:
    agents = ["harvester:policy=fixed,amount=12"] * 5
    (plain,) = palestra.play("text/Commons-v0", agents=agents)
    (record,) = palestra.play("text/Commons-v0", agents=agents, scenario=scenario)
    assert record.returns == plain.returns
    episode = Episode(Commons(scenario=scenario, universalise=True), 0)
    text = episode.game.rules_for(0) + episode.prompt(0) + record.outcome.reason
    assert resource in text
    assert unit in text
    others = {"lake", "pasture", "river", "fish", "flock", "pallet"} - {resource}
    words = {"fishery": "fish", "pasture": "flock", "pollution": "pallet"}
    assert not any(word in text.lower() for word in others - {words[scenario]})


def stocks(taken: list[list[int]], *, capacity: int = 100, collapse: int = 5) -> list[int]:
    """The stock before every harvest, by the recursion s' = min(capacity, 2 (s - taken))."""
    found = [capacity]
    for amounts in taken:
        left = found[-1] - sum(amounts)
        if left < collapse:
            break
        found.append(min(capacity, 2 * left))
    return found


@pytest.mark.parametrize(("joins", "greed"), [(3, 60), (3, 20), (1, 11), (6, 2)])
def test_a_newcomer_joins_late_and_the_stock_follows_the_recursion(joins: int, greed: int) -> None:
    agents = ["harvester:policy=fixed,amount=12"] * 4 + [f"harvester:policy=fixed,amount={greed}"]
    (record,) = palestra.play("text/Commons-v0", agents=agents, newcomer=joins)
    taken = [[12] * 4 + [greed * (number >= joins)] for number in range(12)]
    expected = stocks(taken)
    seen = [event.data["stock"] for event in record.events if event.kind in ("stock", "regrowth")]
    assert seen == expected[: len(seen)]
    caught = [event.data["caught"] for event in record.events if event.kind == "catch"]
    assert len(caught) == min(len(expected), 12)
    assert all(catch[4] == 0 for catch in caught[:joins])
    assert sum(event.kind == "newcomer" for event in record.events) == 1


def test_who_is_still_to_come_is_not_asked() -> None:
    episode = Episode(Commons(num_players=3, newcomer=1, utterances=4), 0)
    assert episode.to_act == (0, 1)
    episode.act({0: Harvest(1), 1: Harvest(1)})
    speakers = set()
    while len(episode.to_act) == 1:
        speakers.add(episode.to_act[0])
        episode.act({episode.to_act[0]: Pass()})
    assert speakers == {0, 1}
    assert episode.to_act == (0, 1, 2)


def test_sustainable_harvesters_make_room_for_a_newcomer() -> None:
    (record,) = palestra.play("text/Commons-v0", agents=["harvester"] * 5, newcomer=4)
    assert list(record.returns) == [4 * 12 + 8 * 10] * 4 + [8 * 10]


def test_gini_of_known_distributions() -> None:
    assert gini([1, 1, 1, 1]) == pytest.approx(0)
    assert gini([0, 0, 0, 1]) == pytest.approx(3 / 4)
    assert gini([1, 2, 3, 4]) == pytest.approx(0.25)
    assert gini([0, 0]) == 0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"num_players": 1}, "num_players"),
        ({"allocation": "fair"}, "pro-rata"),
        ({"rounds": 0}, "rounds"),
        ({"scenario": "mine"}, "'fishery' or 'pasture' or 'pollution'"),
        ({"newcomer": 12}, "newcomer"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, object], word: str) -> None:
    with pytest.raises(InvalidOption, match=word):
        Commons(**options)


def shape(words: dict[str, Any]) -> dict[str, Any]:
    """What must be the same in all languages: sentences, and what is put into them."""
    found: dict[str, Any] = {}
    for name, text in words.items():
        if isinstance(text, dict):
            found[name] = shape(text)
        elif isinstance(text, str):
            found[name] = {field for _, field, _, _ in Formatter().parse(text) if field}
        else:
            found[name] = len(text)
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_says_the_same(language: str) -> None:
    own, english = shape(words_in(language)), shape(words_in("en"))
    own.pop("rules", None)
    needed = {"resource"}  # of the scenario, named or not as the grammar of a language has it
    for name, fields in english.items():
        if isinstance(fields, set):
            assert fields - needed - {"unit"} <= own[name] | needed, name
            assert own[name] <= fields | needed | {"unit", "taken", "takes"}, name
        else:
            assert own[name] == fields, name
    assert set(own) == set(english)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("language", ["de", "ja"])
def test_another_language_changes_words_and_nothing_else(language: str, scenario: str) -> None:
    options = {"scenario": scenario, "universalise": True, "newcomer": 2}
    one = Episode(Commons(**options), seed=3)
    other = Episode(Commons(**options, language=language), seed=3)
    rng = Rng(3)
    english = ("You", "Round", "Harvest of", "left", "says", "joins")
    while not one.over:
        rules = other.game.rules_for(0).replace("Harvest(", "").replace("Say(", "")
        text = other.describe(0) + rules
        assert not any(word in text for word in english)
        actions = {p: one.game.sample(one.state, p, rng) for p in one.to_act}
        one.act(actions)
        other.act(actions)
        assert one.observation(0).tolist() == other.observation(0).tolist()
    assert one.returns == other.returns


def test_unknown_languages_are_named() -> None:
    with pytest.raises(InvalidOption, match="'en' or 'de' or 'ja'"):
        Commons(language="xx")
