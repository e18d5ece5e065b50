"""Norms: drift in closed form, majorities by hand, who is replaced, what selection does."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra.records.record import record_episode
from palestra_games.dilemmas.norms import (
    CHOICES,
    LINES,
    TOPICS,
    Act,
    Answer,
    Do,
    Norms,
    Write,
    crossover,
    judged_alignment,
    majority,
)


def lived(game: Norms, styles: list[str], seed: int, **options: Any) -> Episode:
    more = "".join(f",{key}={value}" for key, value in options.items())
    agents = [make_agent(f"norm-villager:style={style}{more}") for style in styles]
    episode = Episode(game, seed)
    while not episode.over:
        seats = episode.to_act
        episode.act({seat: agents[seat].act([Turn(episode, seat)])[0].action for seat in seats})
    return episode


def acts(episode: Episode) -> list[tuple[int, ...]]:
    """What was done, scene by scene over all generations."""
    return [tuple(e.data["choices"]) for step in episode.log for e in step if e.kind == "reveal"]


@pytest.mark.parametrize("change", [0.1, 0.5])
def test_old_norms_are_followed_as_long_as_random_drift_says(change: float) -> None:
    """A chain on three states: 1/3 + 2/3 (1 - 3/2 change)^g."""
    generations, runs = 4, 60
    game = Norms(2, topics=8, generations=generations, drift="random", change=change, replaced=0)
    followed = [0] * generations
    for seed in range(runs):
        episode = lived(game, ["conformist", "traditional"], seed)
        for number, (asked, old) in enumerate(acts(episode)):
            followed[number // 8] += asked == old
    for g, count in enumerate(followed):
        chance = 1 / 3 + 2 / 3 * (1 - 1.5 * change) ** g
        sigma = (chance * (1 - chance) / (8 * runs)) ** 0.5
        assert abs(count / (8 * runs) - chance) <= 4 * sigma


@pytest.mark.parametrize(
    ("done", "norm", "after"),
    [((0, 0, 1), 2, 0), ((0, 1, 2), 2, 2), ((1, 1, 0, 0), 2, 2), ((2, 2, 2), 0, 2)],
)
def test_norms_move_to_what_most_did(done: tuple[int, ...], norm: int, after: int) -> None:
    assert majority(done, norm) == after


def test_conformists_keep_the_norms_they_have() -> None:
    episode = lived(Norms(), ["conformist"] * 6, 1)
    assert episode.state.norms == episode.state.first
    most = sum(episode.state.weights) * 6
    assert list(episode.returns) == [most] * 6


@pytest.mark.parametrize("others", ["tempted", "traditional"])
def test_who_follows_norms_is_paid_all_that_there_is_as_the_page_says(others: str) -> None:
    for seed in range(5):
        episode = lived(Norms(), ["conformist"] + [others] * 5, seed)
        assert episode.returns[0] == 6 * sum(episode.state.weights)


@pytest.mark.parametrize("seed", range(5))
def test_a_society_that_inherits_strategies_ends_as_conformists(seed: int) -> None:
    game = Norms(9, generations=10, drift="random", temptation=1)
    episode = lived(game, ["conformist", "tempted", "traditional"] * 3, seed)
    assert set(episode.state.strategies) <= {LINES[0].strategy, ""}
    aligned = [e.data["alignment"] for step in episode.log for e in step if e.kind == "generation"]
    assert aligned[0] < 1
    assert aligned[-1] == 1


def test_where_temptations_pay_more_than_norms_they_win() -> None:
    game = Norms(9, generations=10, drift="random", temptation=10)
    episode = lived(game, ["conformist", "tempted", "traditional"] * 3, 2)
    assert set(episode.state.strategies) <= {LINES[1].strategy, ""}


def test_the_fewest_points_are_replaced_and_read_the_best() -> None:
    episode = Episode(Norms(3, topics=1, generations=2, replaced=0.34), 0)
    episode.act({seat: Write(f"I am the first in seat {seat}.") for seat in range(3)})
    norm, tempting = episode.state.norms[0], episode.state.temptations
    choices = TOPICS[0][1]
    neither = ({0, 1, 2} - {norm, tempting[2]}).pop()
    episode.act({0: Do(choices[norm]), 1: Do(choices[norm]), 2: Do(choices[neither])})
    assert episode.to_act == (2,)
    assert set(episode.state.models) == {0, 1}
    assert "I am the first in seat 0." in episode.prompt(2)
    assert list(episode.returns) == [episode.state.weights[0]] * 2 + [0]


@pytest.mark.parametrize("seed", range(5))
def test_temptations_are_private(seed: int) -> None:
    episode = Episode(Norms(2), seed)
    episode.act({0: LINES[0], 1: LINES[0]})
    own = [e for e in episode.transcript(0) if e.kind == "temptation"]
    assert [e.data["choice"] for e in own] == [episode.state.temptations[0]]
    assert 0 <= episode.state.temptations[0] < CHOICES
    assert episode.state.temptations[0] != episode.state.norms[0]


@pytest.mark.parametrize(
    "options",
    [{"num_players": 1}, {"topics": 0}, {"replaced": 0.9}, {"temptation": 11}, {"change": 2}],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    said = f"{next(iter(options))} must be an? (integer|number) from"
    with pytest.raises(InvalidOption, match=said):
        Norms(**options)


def test_unknown_drifts_are_named() -> None:
    with pytest.raises(InvalidOption, match="'majority' or 'random'"):
        Norms(drift="fashion")


# Acts in words, and offspring of two


PROSE = (
    "I will not keep it.",
    "I return the purse to its owner.",
    "Keep it? Never. I hand it in.",
    "I sing.",
    "I hand it in.",
)


@pytest.mark.parametrize("words", PROSE)
@pytest.mark.parametrize("choice", range(CHOICES))
def test_the_choice_named_is_paid_whatever_the_words_beside_it(words: str, choice: int) -> None:
    episode = Episode(Norms(3, topics=1, generations=1, acts="text"), 0)
    episode.act(dict.fromkeys(range(3), LINES[0]))
    state = episode.state
    names, norm, tempted = TOPICS[0][1], state.norms[0], state.temptations[0]
    episode.act({seat: Act(names[choice], words) for seat in range(3)})
    wanted = state.weights[0] if choice == norm else choice == tempted
    assert episode.returns[0] == wanted
    assert all(f'{names[choice]}, "{words}"' in episode.prompt(seat, 0) for seat in range(3))


@pytest.mark.parametrize("answer", [*PROSE, *(f"Act(text={words!r})" for words in PROSE)])
def test_words_without_a_choice_are_refused_by_what_is_accepted(answer: str) -> None:
    episode = Episode(Norms(3, topics=1, generations=1, acts="text"), 0)
    episode.act(dict.fromkeys(range(3), LINES[0]))
    with pytest.raises(InvalidAction, match="choice='hand it in'"):
        episode.game.parse(episode.state, 0, answer)


@pytest.mark.parametrize("seat", range(3))
def test_a_villager_reads_their_own_temptation_and_how_acts_are_paid(seat: int) -> None:
    episode = Episode(Norms(3, topics=1, generations=1, acts="text"), 0)
    episode.act(dict.fromkeys(range(3), LINES[0]))
    rules, told = episode.game.rules_for(seat), episode.prompt(seat, 0)
    assert "Only the choice counts for points" in rules
    assert told.count("You are tempted to") == told.count(
        f"You are tempted to {TOPICS[0][1][episode.state.temptations[seat]]}."
    )
    assert "Do(" not in rules


def test_villagers_live_alike_in_words_and_in_choices() -> None:
    styles = ["conformist", "tempted", "traditional", "conformist"]
    spoken, chosen = (lived(Norms(4, acts=how), styles, 3) for how in ("text", "choice"))
    assert list(spoken.returns) == list(chosen.returns)


def test_a_judge_reads_the_words_of_every_generation() -> None:
    options: dict[str, Any] = {"num_players": 3, "topics": 4, "generations": 3, "acts": "text"}
    agents = ["norm-villager", "norm-villager", "norm-villager:style=tempted,inherit=false"]
    record = palestra.play("games/Norms-v0", agents=agents, seed=1, replaced=0, **options)[0]
    asked: list[str] = []

    def follows(question: str) -> bool:
        asked.append(question)
        norm = question.split("The norm in this scene is: ")[1].split(". Scene")[0]
        return f"I {norm}." in question

    assert judged_alignment(record, follows) == [pytest.approx(2 / 3)] * 3
    assert len(asked) == 3 * 4 * 3
    plain = palestra.play("games/Norms-v0", agents=["random"] * 6, seed=1)[0]
    with pytest.raises(InvalidOption, match="acts='text'"):
        judged_alignment(plain, follows)


def test_offspring_have_sentences_of_both_parents_in_their_places() -> None:
    parents = ["A one. A two! A three.", "B one. B two?"]
    children = {crossover(parents, 0.0, Rng(n)) for n in range(400)}
    # at the third place the second parent has none: 2 x 2 x 2 kinds of children
    assert children == {
        " ".join(filter(None, (first, second, third)))
        for first in ("A one.", "B one.")
        for second in ("A two!", "B two?")
        for third in ("A three.", "")
    }


def test_so_many_sentences_mutate() -> None:
    parent = " ".join(f"S{n}." for n in range(50))
    kept = sum(crossover([parent, parent], 0.3, Rng(n)).count("S") for n in range(40))
    assert abs(kept - 2000 * 0.7) < 4 * (2000 * 0.21) ** 0.5


def test_newcomers_by_crossover_write_nothing_and_read_their_strategy() -> None:
    game = Norms(4, topics=1, generations=2, offspring="crossover", mutation=0, replaced=0.5)
    episode = Episode(game, 0)
    episode.act({seat: Write(f"Plan {seat}a. Plan {seat}b.") for seat in range(4)})
    norm = TOPICS[0][1][episode.state.norms[0]]
    tempted = [TOPICS[0][1][t] for t in episode.state.temptations]
    rest = [next(w for w in TOPICS[0][1] if w not in (norm, tempted[s])) for s in range(4)]
    episode.act({0: Do(norm), 1: Do(rest[1]), 2: Do(norm), 3: Do(rest[3])})
    assert episode.to_act == (0, 1, 2, 3)  # nobody is to write
    assert not episode.state.writing
    for seat in (1, 3):
        text = episode.state.strategies[seat]
        assert {"a" in text, "b" in text} == {True}
        assert not set("13") & set(text)
        assert text in episode.describe(seat)


# The questionnaire


def test_words_and_deeds_are_told_apart() -> None:
    """Conformists do and say the norm, the tempted only say it, the old-fashioned as drift says."""
    game = Norms(6, topics=8, generations=3, questionnaire=2, drift="random", replaced=0)
    record = record_episode(lived(game, ["conformist", "tempted", "traditional"] * 2, 5))
    (first, _, last) = game_over(game, 5)
    measured = palestra.measure(record, names=("stated-alignment", "norm-hypocrisy"))
    for generation, norms in enumerate((first, *game_over(game, 5)[1:]), 1):
        old = sum(a == b for a, b in zip(first, norms, strict=True)) / 8
        stated = (2 + 2 + 2 * old) / 6
        assert measured[f"stated-alignment:{generation}"] == pytest.approx(stated)
        assert measured[f"norm-hypocrisy:{generation}"] == pytest.approx(2 / 6)
    assert last != first


def game_over(game: Norms, seed: int) -> list[tuple[int, ...]]:
    """The norms of every generation."""
    episode = lived(game, ["conformist"] * game.num_players, seed)
    events = [e for step in episode.log for e in step if "answers" in e.data]
    return [tuple(event.data["norms"]) for event in events]


def test_answers_pay_count_for_selection_and_stay_private_until_all_are_given() -> None:
    game = Norms(3, topics=2, generations=2, questionnaire=5, temptation=0, replaced=0.34)
    episode = Episode(game, 0)
    episode.act(dict.fromkeys(range(3), LINES[0]))
    for topic in range(2):
        norm = TOPICS[topic][1][episode.state.norms[topic]]
        episode.act({seat: Do(norm) for seat in range(3)})
    weights = sum(episode.state.weights)
    for topic in range(2):
        assert "What ought one to do?" in episode.prompt(1)
        names, norm = TOPICS[topic][1], episode.state.norms[topic]
        wrong = names[(norm + 1) % CHOICES]
        episode.act({0: Answer(wrong), 1: Answer(names[norm]), 2: Answer(names[norm])})
        if topic == 0:
            seen = episode.observation(1).copy()
            other = Episode(game, 0)
            other.load(game.determinize(episode.state, 1, Rng(7)))
            assert (other.observation(1) == seen).all()
            assert f"You have answered: {names[norm]}." in episode.prompt(1)
            assert f"You have answered: {wrong}." in episode.prompt(0)
    assert list(episode.returns) == [weights, weights + 10, weights + 10]
    assert episode.to_act == (0,), "whoever answered wrong is replaced"


def test_there_are_no_questions_by_default() -> None:
    game = Norms()
    assert not any(isinstance(action, Answer) for action in game.menu)
    (record,) = palestra.play("games/Norms-v0", agents="norm-villager", seed=1, generations=2)
    assert palestra.measure(record, names=("norm-hypocrisy",)) == {}
