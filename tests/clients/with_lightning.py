"""Agent Lightning 0.3.0: its trainer's `dev`, runners, store, proxy, tracers and adapter.

The trainer behind it is verl, which needs GPUs. The endpoint here has vLLM's answers, over a small
model.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import agentlightning as agl
import pytest
from model_service import Served, serving
from page import PAGE, block
from palestra import InvalidOption, play
from palestra_training.lightning_seats import SeatAgent
from tiny_player import player
from transformers import AutoTokenizer

LAKE = {"env": "text/Commons-v0", "num_players": 3, "rounds": 3, "talk": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    options = {name: value for name, value in LAKE.items() if name != "env"}
    return player(tmp_path_factory.mktemp("player") / "model", str(LAKE["env"]), options)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """AgentOps writes a log into the working folder."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    with serving(folder) as service:
        yield service


def run_rows(
    rows: list[Any], url: str, tracer: agl.Tracer | None = None, **asking: Any
) -> list[tuple[Any, list[agl.Span]]]:
    """Every row's attempt and spans, as one runner plays them at an endpoint without a proxy."""

    async def main() -> list[tuple[Any, list[agl.Span]]]:
        store, kept = agl.InMemoryLightningStore(), []
        runner = agl.LitAgentRunner[Any](tracer=tracer or agl.OtelTracer())
        llm = agl.LLM(endpoint=url, model="tiny", sampling_parameters={"max_tokens": 16})
        with runner.run_context(agent=SeatAgent(**asking), store=store):
            for row in rows:
                rollout = await runner.step(row, resources={"main_llm": llm})
                (attempt,) = await store.query_attempts(rollout.rollout_id)
                kept.append((attempt, list(await store.query_spans(rollout.rollout_id))))
        return kept

    return asyncio.run(main())


def test_the_page_keeps_the_tokens_and_pay_of_each_rows_seat(folder: Path, served: Served) -> None:
    replaced = {
        "http://127.0.0.1:8000/v1": served.url,
        "range(64)": "range(2)",
        '["learner", "first"]': '["first", "random"]',
    }
    code = block("Agent Lightning", PAGE.parent / "training-llm.md", replaced)
    names: dict[str, Any] = {"__name__": "__main__"}
    with mock.patch.dict(os.environ, {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}):
        exec(compile(code, "training-llm.md", "exec"), names)
    store = names["trainer"].store

    async def kept() -> list[Any]:
        rollouts = await store.query_rollouts()
        return [(one, list(await store.query_spans(one.rollout_id))) for one in rollouts]

    tokenizer, found = AutoTokenizer.from_pretrained(folder), Counter[Any]()
    rollouts = asyncio.run(kept())
    starts = Counter((one.input["seed"], one.input["seat"]) for one, _ in rollouts)
    assert starts == Counter((seed, seat) for seed in range(2) for seat in range(3))
    for rollout, spans in rollouts:
        assert rollout.status == "succeeded"
        triplets = agl.LlmProxyTraceToTriplet().adapt(spans)
        found.update(
            (tuple(one.prompt["token_ids"]), tuple(one.response["token_ids"])) for one in triplets
        )
        said = [
            tokenizer.decode(one.response["token_ids"], skip_special_tokens=True)
            for one in triplets
        ]
        row = dict(rollout.input)
        seat, texts = row.pop("seat"), iter(said)
        agents: list[Any] = row.pop("opponents")
        agents.insert(seat, lambda turn, texts=texts: next(texts))
        (record,) = play(row.pop("env"), agents=agents, **row)  # the match, by what was kept
        assert next(texts, None) is None
        assert agl.find_final_reward(spans) == pytest.approx(record.returns[seat])
    drawn = Counter((tuple(one.prompt), tuple(one.ids)) for one in served.exchanges)
    assert found == drawn


def test_calls_of_the_model_in_other_seats_stay_out_of_the_trace(served: Served) -> None:
    rows = [
        {**LAKE, "seed": seed, "seat": seat, "opponents": "learner"}
        for seed in range(2)
        for seat in range(3)
    ]
    kept = run_rows(rows, served.url, agl.AgentOpsTracer())
    own = 0
    for attempt, spans in kept:
        assert attempt.status == "succeeded"
        triplets = agl.TracerTraceToTriplet().adapt(spans)
        calls = [span for span in spans if span.name == "openai.chat.completion"]
        assert len(triplets) == len(calls)
        own += len(triplets)
        assert isinstance(agl.find_final_reward(spans), float)
    drawn = [tuple(one.ids) for one in served.exchanges]
    assert 0 < own < len(drawn)


def test_people_at_one_seat_are_rollouts_of_their_own(served: Served) -> None:
    lake = {**LAKE, "rounds": 6, "newcomer": 2, "invalid": "random", "seed": 5}
    rows = [
        {**lake, "seat": seat, "person": person, "opponents": "first"}
        for seat in range(3)
        for person in range(4)
    ]
    kept = run_rows(rows, served.url, agl.AgentOpsTracer())
    paid = [agl.find_final_reward(spans) for _, spans in kept]
    asked = [len(agl.TracerTraceToTriplet().adapt(spans)) for _, spans in kept]
    assert any(asked[4 * seat + 1] for seat in range(3))
    for reward, calls in zip(paid, asked, strict=True):
        assert reward is not None or not calls  # who never came has neither
    assert None in paid


def test_a_match_that_failed_has_no_reward() -> None:
    row = {**LAKE, "seed": 1, "seat": 0}
    agent = SeatAgent()

    async def main() -> list[Any]:
        store = agl.InMemoryLightningStore()
        runner = agl.LitAgentRunner[Any](tracer=agl.OtelTracer())
        llm = agl.LLM(endpoint="http://127.0.0.1:9/v1", model="tiny")
        with (
            runner.run_context(agent=agent, store=store),
            pytest.raises(Exception, match="Connection error"),
        ):
            await runner.step(row, resources={"main_llm": llm})
        (rollout,) = await store.query_rollouts()
        spans = list(await store.query_spans(rollout.rollout_id))
        return [rollout.status, agl.find_final_reward(spans)]

    assert asyncio.run(main()) == ["failed", None]


@pytest.mark.parametrize(
    ("row", "asking", "message"),
    [
        ({"env": LAKE["env"]}, {}, "a row needs"),
        ({**LAKE, "seed": 1, "seat": 3}, {}, "seats 0 to 2, not 3"),
        ({**LAKE, "seed": 1, "seat": 0, "opponents": ["first"]}, {}, "2 other seats; got 1"),
        ({**LAKE, "seed": 1, "seat": 0}, {"resource": "big"}, "choose from: main_llm"),
    ],
)
def test_what_cannot_be_played_is_named(row: Any, asking: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        run_rows([row], "http://127.0.0.1:9/v1", **asking)
