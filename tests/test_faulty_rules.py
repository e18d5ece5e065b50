"""Rules that raise once, at each of their calls in turn, in a tournament and in a batch.

`palestra play` is tested in test_faults.py, a server in plugins/server/tests.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faulty_rules import TALK, Bug, break_rules
from palestra.views.batch import make as make_batch
from palestra_arena import Settings, run_tournament

# Tournament


def essence(results: Any) -> list[tuple[Any, ...]]:
    return [(r.match, r.status, r.results, r.scores, r.steps) for r in results]


@pytest.mark.parametrize("together", [1, 2])
def test_a_fault_at_any_call_costs_a_tournament_at_most_its_game(
    together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an agent meets while it looks at its turn is charged to it: else it could void games."""
    fault = break_rules(TALK, monkeypatch)
    environments: Any = (TALK,)
    chosen = Settings(
        environments=environments,
        agents=("random", "first"),
        games=2,
        workers=0,
        together=together,
        max_episode_steps=2,
    )
    whole = essence(run_tournament(chosen).results)
    calls, failed = fault.calls, 0
    assert calls > 20
    for at in range(1, calls + 1):
        store = tmp_path / f"{at}.db"
        fault.arm(at)
        done = run_tournament(chosen, store=store)
        fault.arm(0)
        status: list[str] = [result.status for result in done.results]
        ended = "forfeit" if "_answers" in fault.within else "error"
        assert set(status) <= {"played", ended}, (at, fault.name, done.results)
        assert status.count(ended) <= together, (at, fault.name)
        for result in done.results:
            if result.status == ended:
                assert "Bug" in result.reason
                assert f"in {fault.name}" in result.reason
                assert (ended == "error") == result.reason.startswith("the environment failed")
        failed += "error" in status
        again = run_tournament(chosen, store=store)
        assert again.played == status.count("error")
        if "error" in status:
            assert essence(again.results) == whole, (at, fault.name)
    assert failed


# A batch


def test_a_fault_at_any_call_of_a_batch_reaches_its_caller_and_the_next_reset_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fault = break_rules(TALK, monkeypatch)

    def play(batch: Any) -> list[Any]:
        """Steps of first legal moves: what is seen, who acts, and what is paid."""
        seen = [batch.reset(seed=5).copy()]
        for _ in range(6):
            batch.step(batch.masks.argmax(axis=-1))
            parts = (batch.observations, batch.acting, batch.rewards, batch.finished)
            seen += [part.copy() for part in parts]
        return seen

    batch = make_batch(TALK, num_envs=3, max_episode_steps=4)
    fault.arm(0)
    whole = play(batch)
    calls = fault.calls
    assert calls > 50
    kept = set[bool]()
    for at in range(1, calls + 1):
        fault.arm(at)
        with suppress(Bug):
            play(batch)
            kept.add("advance" in fault.within)
        fault.arm(0)
        for one, other in zip(play(batch), whole, strict=True):
            assert np.array_equal(one, other), at
    assert kept == {True}, "a fault in a step is a mistake of whoever moves, as everywhere"
