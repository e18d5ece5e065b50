"""RAFA: a plan in an imagined world, and a buffer that makes it true."""

from __future__ import annotations

import re

import numpy as np
import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import InvalidOption, Rng
from palestra.agents.models import Request
from palestra_adapters.memory.rafa import OVER, RAFA, Follows, read_prediction


def hopeful(request: Request) -> str:
    """Thinks that whatever it has not seen pays best; proposes what it has not tried."""
    text = last(request)
    if "Predict what follows" in text:
        return "Paid: 1\nNext: over"
    if "from 0 (the" in text:
        return "0"
    moves = re.findall(r"'(\w+)'", text.rpartition("you may play")[2])
    return f"Go(to='{moves[0]}')" if moves else ""


def regrets(buffer: int, seed: int, episodes: int = 12) -> list[float]:
    """What was missed in each episode of one small unknown world of six ends."""
    rng = Rng.seeded(seed)
    ends = {f"{a}{b}": rng.random() for a in "xyz" for b in "pq"}
    edges = {"start": dict.fromkeys("xyz", 0.0)}
    edges |= {a: {f"{a}{b}": ends[f"{a}{b}"] for b in "pq"} for a in "xyz"}
    agent = RAFA(model=Free(hopeful), width=3, depth=1, buffer=buffer)
    records = palestra.play(trail(edges, top=1.0), agents=[agent], episodes=episodes, live=1)
    return [max(ends.values()) - r.outcome.scores[0] for r in records if r.outcome]


def test_regret_falls_with_episodes_and_does_not_without_the_buffer() -> None:
    learns = np.mean([regrets(100, seed) for seed in range(6)], axis=0)
    stays = np.mean([regrets(0, seed) for seed in range(6)], axis=0)
    assert learns[-4:].mean() < 0.75 * stays[-4:].mean()
    assert stays[0] == pytest.approx(stays[-1])


def test_what_has_been_seen_is_not_asked_for() -> None:
    game = trail({"start": {"end": 1.0}})
    model = Free(hopeful)
    agent = RAFA(model=model, depth=1)
    palestra.play(game, agents=[agent], episodes=2, live=1)
    assert sum("Predict" in last(request) for request in model.requests) == 1
    ((_, end),) = next(iter(agent.known.values())).items()
    assert end == Follows(OVER, 1.0)
    agent.clear()
    assert not agent.known


def test_a_plan_goes_on_while_what_was_imagined_comes_true() -> None:
    edges = {"start": {"a": 0.0}, "a": {"b": 1.0}}
    game = trail(edges)
    there = palestra.Episode(game, 0)
    there.act({0: there.parse(0, "Go(to='a')")})

    def exact(request: Request) -> str:
        text = last(request)
        if "Predict" in text:
            at_start = "at start," in text.partition("Your move")[0].rpartition("The position")[2]
            return f"Paid: 0\nNext: {there.prompt(0, 99)}" if at_start else "Paid: 1\nNext: over"
        return "Go(to='b')"

    record = palestra.play(game, agents=[RAFA(model=Free(exact), depth=2)])[0]
    assert record.turns[1].thought == "as imagined"
    assert record.turns[1].usage.calls == 0


def test_predictions_are_read() -> None:
    assert read_prediction("Paid: -2.5\nNext: You are at a.\nGo.") == ("You are at a.\nGo.", -2.5)
    assert read_prediction("Next: Over.") == (OVER, 0.0)
    assert read_prediction("") == (OVER, 0.0)
    with pytest.raises(InvalidOption, match="depth"):
        palestra.make_agent("rafa:echo:,depth=0")
