"""LLM Economist: what each seat reads, and the order of planners, with scripted models."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last
from palestra import EpisodeRecord
from palestra.agents.models import Request
from palestra_adapters.taxes.economist import Economist, tax_years

ID = "markets/TaxEconomy-v0"
WORKERS = ["rational-worker"] * 5
TRIED = (0, 20, 40, 60, 80)
YEAR = re.compile(r"^year \d+, rates (\d+), .*: mean utility (\S+)$", re.MULTILINE)
STEP = re.compile(r"you worked (\d+) hours: .* utility (-?[\d.]+)\.$", re.MULTILINE)


def flat(rate: int) -> str:
    return f"Rates({', '.join(f'b{i}={rate}' for i in range(1, 8))})"


def planning(request: Request) -> str:
    """Tries flat rates one after another, then keeps the best that the prompt lists."""
    seen = YEAR.findall(last(request).partition("Years so far")[2].partition("The best was")[0])
    if len(seen) < len(TRIED):
        return f"I try.\n{flat(TRIED[len(seen)])}"
    return f"I know.\n{flat(int(max(seen, key=lambda year: float(year[1]))[0]))}"


def working(request: Request) -> str:
    """Tries some hours, then works those that were worth most."""
    steps = STEP.findall(last(request).partition("last steps of work")[2].partition("best step")[0])
    tried = (10, 25, 40, 55, 70)
    if len(steps) < len(tried):
        return f"Work(hours={tried[len(steps)]})"
    return f"Work(hours={max(steps, key=lambda step: float(step[1]))[0]})"


def run(planner: Any, workers: Any = WORKERS, **options: Any) -> list[EpisodeRecord]:
    return list(palestra.play(ID, agents=[planner, *workers], **options))


def last_year(record: EpisodeRecord) -> float:
    """The mean utility of the last year."""
    return tax_years(record.events, ())[-1].mean


def test_a_planner_that_learns_in_context_ranks_between_fixed_rates_and_the_optimum() -> None:
    """The paper's order: free market, federal rates, model as planner, Stackelberg."""
    planners = ["fixed-planner:rate=0", "fixed-planner", Economist(model=Free(planning))]
    planners.append("stackelberg-planner:step=20")
    found = [
        float(np.mean([last_year(r) for r in run(planner, episodes=4, years=7, steps=2)]))
        for planner in planners
    ]
    assert found == sorted(found)
    assert found[2] > found[1]


def test_it_learns_nothing_without_memory() -> None:
    """Every year looks like the first, and the first try is repeated."""
    (record,) = run(Economist(model=Free(planning), memory=0), years=4, steps=1)
    assert {year.rates for year in tax_years(record.events, ())} == {(0,) * 7}


def test_the_planner_reads_its_years_and_no_workers_slip() -> None:
    model = Free(planning)
    (record,) = run(Economist(model=model), years=3, steps=2)
    prompt = last(model.requests[-1])
    years = tax_years(record.events, ())
    assert [float(mean) for _, mean in YEAR.findall(prompt)][:2] == [
        pytest.approx(year.mean, abs=1e-4) for year in years[:2]
    ]
    assert "The best was year" in prompt
    assert "you worked" not in prompt
    assert "earn $" not in prompt


def test_workers_repeat_the_hours_that_were_worth_most_and_read_only_their_own() -> None:
    model = Free(working)
    (record,) = run("fixed-planner", [Economist(model=model)] * 2, years=1, steps=8, num_players=3)
    skills = [event.data["skill"] for event in record.opening if event.kind == "worker"]
    for worker in (0, 1):
        slips = [e for e in record.events if e.kind == "slip" and e.audience == [worker + 1]]
        utilities = [slip.data["utility"] for slip in slips]
        assert len(skills) == 2
        assert [slip.data["hours"] for slip in slips][:5] == [10, 25, 40, 55, 70]
        hours = {slip.data["hours"] for slip in slips[5:]}
        assert hours == {slips[int(np.argmax(utilities[:5]))].data["hours"]}
    for request in model.requests:
        said = last(request)
        other = "player_2" if "You are player_1" in said else "player_1"
        assert f"{other}, you worked" not in said


def test_before_an_election_workers_read_who_set_the_rates_and_what_they_got() -> None:
    def voting(request: Request) -> str:
        text = last(request)
        if "An election comes" in text:
            return "Speak(text='I would tax less.')"
        if "\nVote:" in text:
            return "Vote(player='player_1')"
        return flat(10) if "You set the rates" in text else "Work(hours=40)"

    model = Free(voting)
    (record,) = palestra.play(
        ID, agents=[Economist(model=model)] * 3, elections=True, num_players=3, years=2, steps=1
    )
    assert not record.mistakes or not any(record.mistakes)
    votes = [last(r) for r in model.requests if "\nVote:" in last(r)]
    assert len(votes) == 6
    assert 'player_2: "I would tax less."' in votes[0]
    assert "worth to you:\nnone" in votes[0]
    assert "year 1, rates 10, 10, 10, 10, 10, 10, 10 percent set by player_1: " in votes[-1]
    assert votes[-1].count("I would tax less.") == 3  # of this election alone
    # each reads what the year was worth to itself
    own = {re.findall(r"set by player_1: (\S+)", text)[0] for text in votes[3:]}
    assert len(own) == 3
