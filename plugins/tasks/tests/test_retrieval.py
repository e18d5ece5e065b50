"""Questions against joins in SQLite, scores against scikit-learn and published examples."""

from __future__ import annotations

import itertools
import re
import sqlite3
from contextlib import closing
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Rng
from palestra.records.metrics import measure
from palestra_tasks.retrieval.library import (
    REGISTER,
    RELATIONS,
    Page,
    draw_entities,
    draw_library,
    draw_question,
    read_question,
)
from palestra_tasks.retrieval.reranking import draw_query, read_answer
from palestra_tasks.retrieval.scoring import Index, exact, f1, ndcg
from palestra_tasks.retrieval.search import DeepSearch, Open, Search
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import ndcg_score

# what today's pages say, read without the generator
SENTENCES = {
    "birthplace": r"(.+) was born in (.+)",
    "employer": r"(.+) works for (.+)",
    "teacher": r"(.+) is a pupil of (.+)",
    "seat": r"(.+) has its seat in (.+)",
    "founder": r"(.+) was founded by (.+)",
    "rival": r"The main rival of (.+) is (.+)",
    "river": r"(.+) lies on (.+)",
    "mayor": r"The mayor of (.+) is (.+)",
    "twin": r"(.+) is the twin town of (.+)",
    "mouth": r"(.+) meets the sea at (.+)",
    "keeper": r"The keeper of (.+) is (.+)",
    "author": r"(.+) was written by (.+)",
    "setting": r"(.+) is set in (.+)",
}


def tables(pages: tuple[Page, ...]) -> sqlite3.Connection:
    """What pages of today say, as a table of facts."""
    base = sqlite3.connect(":memory:")
    base.execute("create table facts (relation, subject, object)")
    for page in pages:
        for sentence in page.text.removesuffix(".").split(". "):
            for name, pattern in SENTENCES.items():
                found = re.fullmatch(pattern, sentence)
                if found and not page.title.endswith(REGISTER):
                    base.execute("insert into facts values (?, ?, ?)", (name, *found.groups()))
    return base


@pytest.mark.parametrize(("hops", "size"), [(1, 20), (2, 40), (5, 120), (12, 300)])
def test_an_answer_is_that_of_joins_over_the_pages(hops: int, size: int) -> None:
    for seed in range(8):
        library = draw_library(seed, size, seed)
        question = draw_question(library, Rng.seeded(seed), hops, described=False)
        joins, where = ["facts as f0"], ["f0.subject = ?", "f0.relation = ?"]
        for n in range(1, hops):
            joins.append(f"join facts as f{n} on f{n}.subject = f{n - 1}.object")
            where.append(f"f{n}.relation = ?")
        start = library.entities[question.start].name
        names = [hop.name for hop in question.hops]
        query = f"select f{hops - 1}.object from {' '.join(joins)} where {' and '.join(where)}"
        with closing(tables(library.pages())) as facts:
            rows = facts.execute(query, (start, *names)).fetchall()
        assert rows == [(library.chain(question)[-1],)]


@pytest.mark.parametrize("seed", range(6))
def test_things_have_names_and_descriptions_of_their_own(seed: int) -> None:
    entities = draw_entities(seed, 400)
    assert len({e.name for e in entities}) == len({e.description for e in entities}) == 400
    assert {e.kind for e in entities} == set(RELATIONS)


def test_a_question_is_read_back() -> None:
    library = draw_library(5, 60, 5)
    for seed in range(20):
        question = draw_question(library, Rng.seeded(seed), 1 + seed % 6, described=seed % 2 == 0)
        start, hops = read_question(question.text)
        entity = library.entities[question.start]
        assert start == (entity.description if seed % 2 == 0 else entity.name)
        assert hops == question.hops


def test_search_is_bm25_over_the_counts_of_scikit_learn() -> None:
    texts = [f"{page.title} {page.text}" for page in draw_library(3, 30, 3).pages()]
    query, k1, b = "the river that is known for otters", 1.5, 0.75
    counter = CountVectorizer(token_pattern=r"[a-z0-9]+")
    counts = counter.fit_transform(texts).toarray().astype(float)
    lengths = counts.sum(axis=1, keepdims=True)
    scores = np.zeros(len(texts))
    for word in query.split():
        at = counter.vocabulary_.get(word)
        if at is not None:
            holders = (counts[:, at] > 0).sum()
            rarity = np.log(1 + (len(texts) - holders + 0.5) / (holders + 0.5))
            norm = k1 * (1 - b + b * lengths[:, 0] / lengths.mean())
            scores += rarity * counts[:, at] * (k1 + 1) / (counts[:, at] + norm)
    assert Index(texts).scores(query) == pytest.approx(scores)


@pytest.mark.parametrize(
    ("said", "true", "value"),
    [
        ("the Broncos", "Denver Broncos", 2 / 3),
        ("Denver Broncos!", "denver  broncos", 1.0),
        ("in Paris, France", "Paris", 0.5),
        ("London", "Paris", 0.0),
        ("", "Paris", 0.0),
    ],
)
def test_answers_are_compared_as_squad_does(said: str, true: str, value: float) -> None:
    assert f1(said, true) == pytest.approx(value)
    assert exact(said, true) == (value == 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_ndcg_is_that_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    relevant = rng.random(9) < 0.4
    relevant[rng.integers(9)] = True
    order = -np.arange(9.0)
    wanted = ndcg_score(relevant[None].astype(float), order[None])
    assert ndcg(relevant.tolist(), int(relevant.sum())) == pytest.approx(wanted)


def test_no_choice_of_passages_beats_those_that_are_needed() -> None:
    for seed in range(6):
        query = draw_query(Rng.seeded(seed), 2, 12, 1.0)
        texts = [p.text for p in query.passages]
        best = max(
            f1(read_answer(query.text, [texts[n] for n in chosen]), query.answer) - 0.02 * count
            for count in range(4)
            for chosen in itertools.permutations(range(12), count)
        )
        assert best == pytest.approx(1 - 2 * 0.02)
        assert sum(p.needed for p in query.passages) == 2


@pytest.mark.parametrize("hops", [1, 2, 4])
def test_rerankers_are_in_order(hops: int) -> None:
    found = []
    for agents in ("rerank-needed", "rerank-retriever"):
        records = palestra.play(
            "tasks/Reranking-v0", agents=agents, seed=2, episodes=4, hops=hops, queries=4
        )
        assert not any(record.error for record in records), records[0].error
        found.append(sum(record.returns[0] for record in records) / 16)
    assert found[0] == pytest.approx(1 - 0.02 * hops)
    assert found[1] < found[0]
    assert measure(records[0])["rerank-kept"] == 20


def test_a_second_player_reads_and_is_paid_the_same() -> None:
    record = palestra.play("tasks/Reranking-v0", agents="rerank-needed", seed=1, num_players=2)[0]
    assert record.returns == pytest.approx((4.8, 4.8))
    assert measure(record)["rerank-ndcg"] == pytest.approx(1.0)


def test_a_reader_does_not_imagine_which_numbers_passages_had() -> None:
    game = palestra.game("tasks/Reranking-v0", num_players=2)
    episode = palestra.Episode(game, seed=4)
    for text in ("Take(passage=3)", "Take(passage=11)", "Hand()"):
        episode.act({0: episode.parse(0, text)})
    taken = [episode.state.query.passages[n].text for n in (2, 10)]
    worlds = [game.determinize(episode.state, 1, palestra.Rng(n)) for n in range(40)]
    for world in worlds:
        assert [world.query.passages[n].text for n in world.taken] == taken
    assert len({world.taken for world in worlds}) > 20


@pytest.mark.parametrize(("hops", "turns"), [(1, 10), (6, 30), (20, 40)])
def test_a_search_takes_one_page_a_relation(hops: int, turns: int) -> None:
    record = palestra.play(
        "tasks/DeepSearch-v0", agents="search-follower", seed=3, hops=hops, turns=turns, size=200
    )[0]
    assert record.returns[0] == 1.0
    assert len(record.steps) == hops + 2
    assert measure(record)["search-evidence"] == 1.0


def test_the_register_is_out_of_date() -> None:
    records = palestra.play(
        "tasks/DeepSearch-v0", agents="search-register", seed=3, episodes=10, hops=5
    )
    assert sum(record.returns[0] for record in records) / 10 < 0.5


def test_pages_that_were_seen_keep_what_they_say() -> None:
    game = DeepSearch(hops=3, described=False)
    episode = palestra.Episode(game, 4)
    state = episode.state
    library = game.library(state)
    start = library.entities[state.question.start].name
    episode.act({0: Open(start)})
    state = episode.state
    copies = [game.determinize(state, 0, Rng.seeded(n)) for n in range(6)]
    again = [game.determinize(copy, 0, Rng.seeded(n)) for n, copy in enumerate(copies)]

    def told(copy: Any) -> tuple[str, ...]:
        found = game.library(copy)
        return found.facts(found.number(start), old=False)

    assert {told(copy) for copy in copies + again} == {told(state)}
    assert all(game.library(c).find(start) == library.find(start) for c in copies + again)
    assert len({game.library(copy).chain(copy.question)[-1] for copy in copies}) > 1


def test_names_that_nobody_read_are_drawn_anew() -> None:
    game = DeepSearch(hops=3, size=40)
    episode = palestra.Episode(game, 4)
    asked = episode.state.question
    episode.act({0: Search(asked.text)})
    (event,) = [e for e in episode.log[-1] if "titles" in e.data]
    true, state = game.library(episode.state), episode.state
    shown = {title.removesuffix(REGISTER) for title in event.data["titles"]}
    assert 1 <= len(shown) <= 5
    starts = set()
    for number in range(20):
        copy = game.determinize(state, 0, Rng(number))
        library = game.library(copy)
        names = {thing.name for thing in library.entities}
        assert len(names) == 40
        assert len({thing.description for thing in library.entities}) == 40
        assert [thing.kind for thing in library.entities] == [t.kind for t in true.entities]
        assert shown <= names
        assert names != {thing.name for thing in true.entities}
        for line in event.text.split("\n"):
            title, text = line.removesuffix("…").split(": ", 1)
            page = library.find(title)
            assert page is not None
            assert page.text.startswith(text)
        first = library.entities[copy.question.start]
        assert first.description == true.entities[asked.start].description
        starts.add(copy.question.start)
    assert len(starts) > 3  # numbers of things say nothing


def test_what_is_not_there_is_said() -> None:
    episode = palestra.Episode(DeepSearch(), 0)
    episode.act({0: Search("zzz qqq")})
    assert "No page" in episode.log[-1][0].text
    episode.act({0: Open("zzz")})
    assert "no page of this title" in episode.log[-1][0].text
