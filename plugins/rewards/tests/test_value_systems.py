"""Value systems found in the two cases of the paper: who works or drives there, and for what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord
from palestra_rewards.episodes.turns import named_terms
from palestra_rewards.tabular import Mdp, alike, counts_of, ground, grounding_accuracy, value_system
from palestra_rewards.tabular.mdp import action_key

CITY: tuple[str, dict[str, Any]] = ("text/CityRoutes-v0", {"rows": 3, "columns": 3, "turns": 25})
TOWER: tuple[str, dict[str, Any]] = ("text/Firefighters-v0", {"floors": 2, "turns": 12})


def rollouts(case: Any, agent: str, n: int, seed: int) -> list[EpisodeRecord]:
    env, options = case
    return palestra.rollouts(env, agents=agent, n=n, seed=seed, **options)


def term_tables(mdp: Mdp, records: list[EpisodeRecord], terms: tuple[str, ...]) -> np.ndarray:
    """What each decision pays by term: the true groundings, shape (states, actions, terms)."""
    table = np.zeros((*mdp.open.shape, len(terms)))
    for record in records:
        names, paid = named_terms(record)
        for turn, row in zip(record.turns, paid, strict=True):
            cell = mdp.states.index(turn.anchor), mdp.actions.index(action_key(turn.action))
            table[cell] = [row[names.index(one)] if one in names else 0.0 for one in terms]
    return table


@pytest.mark.parametrize(
    ("case", "agents", "terms"),
    [
        (
            CITY,
            {
                "city-router:sustainability=1,comfort=0,time=0": 0,
                "city-router:sustainability=0,comfort=1,time=0": 1,
                "city-router:sustainability=0,comfort=0,time=1": 2,
            },
            ("sustainability", "comfort", "time"),
        ),
        (
            TOWER,
            {"firefighter:duty=0.95": 0, "firefighter:duty=0.05": 1},
            ("professionalism", "safety"),
        ),
    ],
)
def test_what_agents_value_is_read_off_what_they_do(
    case: Any, agents: dict[str, int], terms: tuple[str, ...]
) -> None:
    """Everybody's greatest weight is on the one value that they act for, in both cases."""
    seed = 4
    random = rollouts(case, "random", 100, seed)
    shown = {agent: rollouts(case, agent, 1, seed) for agent in agents}
    everybody = [*random, *(record for records in shown.values() for record in records)]
    mdp = Mdp.seen(everybody, gamma=0.95)
    tables = term_tables(mdp, everybody, terms)
    systems = []
    for agent, value in agents.items():
        visits = counts_of(mdp, shown[agent]).mean(axis=0).reshape(mdp.open.shape)
        systems.append(value_system(mdp, tables, visits, temperature=0.1))
        assert systems[-1].argmax() == value, (agent, systems[-1])
        assert systems[-1].sum() == pytest.approx(1)
        policy, _ = mdp.best(tables @ systems[-1])
        own, _ = mdp.evaluate(policy, tables[..., value])
        best, _ = mdp.evaluate(mdp.best(tables[..., value])[0], tables[..., value])
        assert mdp.start @ own == pytest.approx(mdp.start @ best, abs=0.05)
    assert alike(systems) == [[n] for n in range(len(agents))]


def test_the_grounding_of_a_value_is_learnt_from_comparisons_by_it_alone() -> None:
    records = rollouts(CITY, "random", 80, 4)
    mdp = Mdp.seen(records, gamma=0.95)
    tables = term_tables(mdp, records, ("sustainability", "comfort", "time"))
    counts = counts_of(mdp, records)
    half = len(records) // 2
    for value in range(3):
        worth = counts @ tables[..., value].ravel()
        pairs = [(a, b) for a in range(80) for b in range(80) if worth[a] > worth[b]]
        learn = [p for p in pairs if max(p) < half]
        held_out = [p for p in pairs if min(p) >= half]
        weights = ground(counts, learn)
        assert grounding_accuracy(counts, weights, held_out) > 0.85


def test_tables_know_a_state_again_whenever_it_comes(tmp_path: Path) -> None:
    """Eight junctions to decide at, whatever the step; the table pays what the game does."""
    records = rollouts(CITY, "random", 60, 4)
    mdp = Mdp.seen(records, gamma=0.95)
    assert len(mdp.states) == 8
    table = tmp_path / "table.json"
    table.write_text(json.dumps(mdp.table(mdp.rewards)))
    env, options = CITY
    own = rollouts(CITY, "random", 3, 4)
    paid = palestra.rollouts(
        env, agents="random", n=3, seed=4, rewards=[f"mamql:table={table}"], **options
    )
    assert [r.returns for r in paid] == [pytest.approx(r.returns) for r in own]
