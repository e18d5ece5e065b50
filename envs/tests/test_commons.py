"""The fishery: closed-form runs of GovSim's rules, allocation, talk, and metrics."""

from __future__ import annotations

from string import Formatter
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra.records.shared_measures import gini
from palestra_envs.text.commons.game import Address, Commons, Harvest, words_in
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


# Options of the study


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("options", "written", "unwritten"),
    [
        ({}, "to='player_1'", "Address("),
        ({"whispers": False}, "Say(text=", "to='player_1'"),
        ({"speakers": "named"}, "next='player_1'", "Say("),
    ],
)
def test_the_rules_name_the_way_to_talk(
    language: Any, options: dict[str, Any], written: str, unwritten: str
) -> None:
    rules = Commons(language=language, **options).rules_for(0)
    assert written in rules
    assert unwritten not in rules


def test_without_whispers_all_hear_everything() -> None:
    episode = Episode(Commons(whispers=False), seed=0)
    harvest(episode, 5, 5, 5, 5, 5)
    speaker = episode.to_act[0]
    with pytest.raises(InvalidAction):
        episode.parse(speaker, "Say(text='Psst.', to='player_3')")
    episode.act({speaker: episode.parse(speaker, "Say(text='Hello.')")})
    assert all("Hello." in episode.prompt(seat, 0) for seat in range(5))


def test_the_named_speaker_is_next_and_nobody_ends_the_talk() -> None:
    episode = Episode(Commons(speakers="named", utterances=6), seed=0)
    harvest(episode, 10, 10, 10, 10, 10)
    assert episode.to_act == (1,)
    episode.act({1: Address("And you?", "player_4")})
    assert episode.to_act == (4,)
    episode.act({4: Pass()})  # the word goes to the next seat
    assert episode.to_act == (0,)
    with pytest.raises(InvalidAction):
        episode.parse(0, "Address(text='Me.', next='player_0')")
    episode.act({0: Address("Enough.", "nobody")})
    assert episode.state.stock == 100  # it has regrown
    assert episode.to_act == (0, 1, 2, 3, 4)
    assert "And you?" in episode.prompt(2, 0)


def test_a_talk_of_named_speakers_ends_after_its_utterances() -> None:
    episode = Episode(Commons(speakers="named", utterances=3), seed=0)
    harvest(episode, 10, 10, 10, 10, 10)
    for _ in range(3):
        (speaker,) = episode.to_act
        episode.act({speaker: Address("Go on.", f"player_{(speaker + 2) % 5}")})
    assert not episode.state.talking


def test_only_a_newcomer_reads_of_their_aim() -> None:
    game = Commons(newcomer=3)
    aims = ["Your only aim" in game.rules_for(seat) for seat in range(5)]
    assert aims == [False] * 4 + [True]
    assert "Your only aim" not in Commons(newcomer=3, newcomer_aim="none").rules_for(4)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("seats", [3, 4])
@pytest.mark.parametrize("joins", [1, 2])
def test_nobody_reads_of_a_newcomer_before_they_join(
    joins: int, seats: int, scenario: str, language: str
) -> None:
    options: dict[str, Any] = {"newcomer": joins, "scenario": scenario, "language": language}
    episode = Episode(Commons(num_players=seats, utterances=2, universalise=True, **options), 0)
    plain = Commons(num_players=seats, scenario=scenario, language=language)
    last = episode.game.players[-1]
    assert [episode.game.rules_for(seat) for seat in range(seats - 1)] == [plain.rules_for(0)] * (
        seats - 1
    )
    while seats - 1 not in episode.to_act:
        for seat in range(seats - 1):
            assert last not in episode.prompt(seat, 0)
            assert last not in repr(episode.game.scene(episode.state, seat))
        action = Harvest(1) if len(episode.to_act) > 1 else Pass()
        episode.act(dict.fromkeys(episode.to_act, action))
    assert all(last in episode.prompt(seat, 0) for seat in range(seats))
    told = Commons(newcomer=joins, announced=True, language=language)
    assert all(told.players[-1] in told.rules_for(seat) for seat in range(5))


def measured(*amounts: int, **options: Any) -> dict[str, float]:
    """The metrics of a game in which seats take fixed amounts."""
    agents = [f"harvester:policy=fixed,amount={n}" for n in amounts]
    settings: dict[str, Any] = {"talk": False, "num_players": len(amounts), **options}
    (record,) = palestra.play("text/Commons-v0", agents=agents, **settings)
    return palestra.measure(record)


def test_efficiency_is_at_most_one() -> None:
    # GovSim: 1 - max(0, T f(0) - R) / (T f(0)), with T = 12, f(0) = 50
    assert measured(10, 10, 10, 10, 10)["efficiency"] == 1
    assert measured(9, 9, 9, 9, 9)["efficiency"] == pytest.approx(540 / 600)
    assert measured(60, 40, rounds=1)["efficiency"] == 1  # 100 of 50
    assert measured(20, 20, 20, 20, 20)["efficiency"] == pytest.approx(100 / 600)


def test_over_usage_is_the_share_of_harvests_beyond_the_threshold() -> None:
    # threshold floor(floor(100 / 2) / 5) = 10 in each round: two of five are above it
    assert measured(8, 8, 8, 12, 14)["over-usage"] == pytest.approx(2 / 5)
    # 100 -> 12 left -> 24: thresholds 16 and 4, and 30, 14 and 44 are asked for in both rounds
    found = measured(30, 14, 44, rounds=5, allocation="pro-rata")
    assert found["over-usage"] == pytest.approx((2 + 3) / 6)
    assert measured(10, 10, 10, 10, 10)["over-usage"] == 0


def test_over_usage_counts_a_newcomer_from_when_they_join() -> None:
    # two players, threshold 25, then three, threshold 16: 20 is over it for all three
    found = measured(20, 20, 20, newcomer=1, rounds=2)
    assert found["over-usage"] == pytest.approx(3 / 5)
