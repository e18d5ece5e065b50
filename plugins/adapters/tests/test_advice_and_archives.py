"""EPO's advisor, SE-Agent's phases, AgentRxiv's shared archive: by hand, with scripted models."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last
from optimiser_worlds import doors
from palestra import Agent, RecordError
from palestra.agents.models import Request
from palestra_adapters.memory.agent_rxiv import AgentRxiv, PaperStore, Report
from palestra_adapters.memory.se_agent import SEAgent
from palestra_adapters.teams.advisor import Advisor, discounted_sums, strategy_rows


def paid(agent: Agent, episodes: int, seed: int = 0) -> list[float]:
    """Returns of repeated episodes of one start."""
    return [
        palestra.play(doors(), agents=[agent], seed=seed)[0].returns[0] for _ in range(episodes)
    ]


def goes(request: Request) -> str:
    """Goes where what it reads says, else left."""
    told = re.findall(r"[Gg]o (left|middle|right)", "\n".join(m.content for m in request.messages))
    return f"Go(to='{told[-1] if told else 'left'}')"


# EPO


def test_the_actor_acts_on_the_advisors_strategy_and_only_that() -> None:
    actor, adviser = Free(goes, "actor"), Free("go right\nfor it pays", "adviser")
    agent = Advisor(model=[actor, adviser])
    (record,) = palestra.play(doors(), agents=[agent])
    assert record.returns[0] == 1.0
    (asked,), (advised,) = actor.requests, adviser.requests
    assert 'Your adviser\'s strategy: "go right for it pays"' in last(asked)
    assert "You advise a player" in last(advised)
    assert "You advise" not in last(asked)
    (turn,) = record.turns
    assert turn.facts["strategy"] == "go right for it pays"
    assert turn.facts["asked"].endswith(last(advised))


def test_a_strategy_holds_for_some_decisions_and_is_known_to_the_advisor() -> None:
    count = iter(range(9))
    adviser = Free(lambda request: f"plan {next(count)}")
    agent = Advisor(model=[Free(lambda _: "no such move"), adviser], every=2)
    palestra.play("games/TicTacToe-v0", agents=[agent, "first"], invalid="random")
    assert len(adviser.requests) == 2
    assert 'Your strategies so far:\n- "plan 0"' in last(adviser.requests[1])


def test_rows_for_training_by_hand() -> None:
    """Two games of one strategy: returns 1 and 0, process 0.5 and 0; so 1.5 and 0, then +-1."""
    assert discounted_sums([1.0, 2.0, 4.0], 0.5) == [3.0, 4.0, 4.0]
    records = []
    for side, score in (("right", "5"), ("left", "0")):

        def answer(request: Request, side: str = side, score: str = score) -> str:
            return score if "from 0 (not at all)" in last(request) else f"go {side}"

        agent = Advisor(model=[Free(goes), Free(answer)], judged=True)
        records += palestra.play(doors(), agents=[agent])
    rows = strategy_rows(records)
    assert [row.reward for row in rows] == [1.5, 0.0]
    assert [row.advantage for row in rows] == pytest.approx([1.0, -1.0])
    assert [row.strategy for row in rows] == ["go right", "go left"]
    assert strategy_rows([]) == []


# SE-Agent


def writer(*approaches: str, asked: list[str]) -> Free:
    left: Iterator[str] = chain(approaches, repeat("go left"))

    def answer(request: Request) -> str:
        if "Write " in last(request) or "Write an approach" in last(request):
            asked.append(last(request))
            return next(left)
        return goes(request)

    return Free(answer)


def test_trials_differ_are_revised_joined_refined_and_the_best_is_kept() -> None:
    asked: list[str] = []
    # trials: as it comes 0; differ 1/2; revise 0; revise 1; join 0; refine 1/2; then the best
    agent = SEAgent(
        model=writer("go middle", "go left", "go right", "go left", "go middle", asked=asked),
        pool=2,
        joins=1,
    )
    assert paid(agent, 9) == [0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 1.0, 1.0, 1.0]
    assert [agent.phase(n) for n in range(7)] == [
        "differ", "differ", "revise", "revise", "recombine", "refine", "best",
    ]  # fmt: skip
    differ, first, second, join, refine = asked
    assert "- as it comes" in differ
    assert "paid 0, with the approach ''" in first
    assert "paid 0.5, with the approach 'go middle'" in second
    assert "One was paid 1" in join
    assert "The other was paid 0.5" in join
    assert "the best try of the task above, paid 1" in refine
    assert all("You are at start" in prompt for prompt in asked)


def test_another_start_has_trials_of_its_own(tmp_path: Path) -> None:
    asked: list[str] = []
    file = str(tmp_path / "trials.json")
    agent = SEAgent(model=writer("go right", asked=asked), pool=1, joins=0, memory=file)
    assert paid(agent, 2, seed=0) == [0.0, 1.0]
    assert paid(agent, 1, seed=1) == [0.0]
    agent.close()
    again = SEAgent(model=writer(asked=asked), pool=1, joins=0, memory=file)
    assert again.lines == agent.lines


# AgentRxiv


def lab(
    archive: PaperStore, name: str, *plans: str, asked: list[str], runs: int, methods: int
) -> AgentRxiv:
    left: Iterator[str] = chain(plans, repeat("go left"))

    def answer(request: Request) -> str:
        text = last(request)
        if "Write a report of it" in text:
            return f"It was paid {text.partition('Its results: ')[2][0]}."
        if "the method that you will try next" in text:
            asked.append(text)
            best = re.search(r'- 1: "(.*?)"', text)
            return best[1] if best else next(left)
        return goes(request)

    return AgentRxiv(model=Free(answer), store=archive, lab=name, runs=runs, methods=methods)


def test_labs_that_share_an_archive_find_the_method_that_one_of_them_found() -> None:
    asked: list[str] = []
    shared = PaperStore()
    first = lab(shared, "a", "go right", asked=asked, runs=2, methods=4)
    assert paid(first, 5) == [0.0, 0.0, 1.0, 1.0, 1.0]  # its report is written before the fifth
    second = lab(shared, "b", asked=asked, runs=1, methods=4)
    assert paid(second, 3) == [0.0, 1.0, 1.0]  # it reads the other's report after one method
    alone = lab(PaperStore(), "c", asked=asked, runs=1, methods=4)
    assert paid(alone, 6) == [0.0] * 6
    assert any('- 1: "go right"\n  "a" writes: "It was paid 1."' in text for text in asked)


def test_a_report_is_written_from_the_episodes_and_its_result_is_what_was_measured() -> None:
    asked: list[str] = []

    def answer(request: Request) -> str:
        text = last(request)
        if "Write a report of it" in text:
            asked.append(text)
            return "I was paid 100,\nas nobody before."
        return "go right" if "try next" in text else goes(request)

    store = PaperStore()
    agent = AgentRxiv(model=Free(answer), store=store, lab="a", runs=2, methods=2)
    paid(agent, 5)
    assert asked[0].count("left") > asked[1].count("left")  # the episode
    assert 'this method:\n"no method"\nIts results: 0, 0.' in asked[0]
    assert 'this method:\n"go right"\nIts results: 1, 1.' in asked[1]
    assert [(one.mean, one.text) for one in store.reports] == [
        (mean, "I was paid 100, as nobody before.") for mean in (0.0, 1.0)
    ]


def test_results_of_one_method_are_one_mean_and_the_best_near_reports_are_read() -> None:
    store = PaperStore()
    for method, result in (("go left", 0.0), ("go right", 1.0), ("go right", 0.0)):
        store.submit(Report("a", "doors", method, [result]))
    store.submit(Report("b", "other task", "go right", [9.0]))
    assert [(one.method, one.mean) for one in store.search("doors", "", 9)] == [
        ("go right", 0.5),
        ("go left", 0.0),
    ]
    assert store.best("doors").results == [1.0, 0.0]
    near = store.search("doors", "go left", 1)
    assert [one.method for one in near] == ["go right"]  # the better one of the two nearest


def test_an_archive_is_a_file_that_other_labs_open(tmp_path: Path) -> None:
    file = tmp_path / "archive.json"
    PaperStore(file).submit(Report("a", "t", "m", [1.0]))
    assert PaperStore(file).best("t") == Report("a", "t", "m", [1.0])
    file.write_text("{}", encoding="utf-8")
    with pytest.raises(RecordError, match="not an archive"):
        PaperStore(file)


def test_a_lab_that_is_through_plays_the_best_method_of_its_archive() -> None:
    store = PaperStore()
    asked: list[str] = []
    one = lab(store, "a", "go middle", asked=asked, runs=1, methods=2)
    assert paid(one, 4) == [0.0, 0.5, 0.5, 0.5]
    assert np.mean([report.mean for report in store.reports]) == 0.25
