"""ART 0.5.18: its trajectories, groups and the tokenization of its trainer, with a model of ours.

Its trainers need a GPU or a service. The endpoint here has vLLM's answers, over a small model.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import art
import httpx
import openai
import pytest
from art.preprocessing.tokenize import tokenize_trajectory_groups
from model_service import Served, serving
from page import PAGE, block
from palestra import InvalidOption, play
from palestra_rewards.people import people_of
from palestra_training.art_groups import seat_groups
from palestra_training.completion_seats import paid_people
from tiny_player import player
from transformers import AutoTokenizer

LAKE = {"num_players": 3, "rounds": 3, "talk": False}
COMMONS = "text/Commons-v0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return player(tmp_path_factory.mktemp("player") / "model", COMMONS, LAKE)


@pytest.fixture
def served(folder: Path) -> Iterator[Served]:
    with serving(folder) as service:
        yield service


def endpoint(url: str) -> art.Model:
    return art.Model(name="tiny", project="games", inference_base_url=url, inference_api_key="none")


def groups_of(served: Served, env: str = COMMONS, **settings: Any) -> list[art.TrajectoryGroup]:
    return asyncio.run(seat_groups(endpoint(served.url), env, **settings))


def choices(trajectory: art.Trajectory) -> list[Any]:
    histories = [trajectory, *trajectory.additional_histories]
    return [one for h in histories for one in h.messages_and_choices if not isinstance(one, dict)]


def test_the_page_gives_a_group_for_every_seat_of_every_start(served: Served) -> None:
    names: dict[str, Any] = {}
    code = block("ART", PAGE.parent / "training-llm.md")
    exec(compile(code, "training-llm.md", "exec"), names)
    groups = asyncio.run(names["groups_of"](endpoint(served.url), range(2)))
    starts = [(group.metadata["seed"], group.metadata["seat"]) for group in groups]
    assert starts == [(0, 0), (0, 2), (1, 0), (1, 2)]
    assert {len(group) for group in groups} == {8}


@pytest.mark.parametrize("history", ["conversation", "position"])
def test_every_answer_is_in_one_trajectory_after_what_was_asked(
    served: Served, history: str
) -> None:
    groups = groups_of(served, seed=3, matches=5, history=history, **LAKE)
    assert [len(group) for group in groups] == [5, 5, 5]
    trajectories = [trajectory for group in groups for trajectory in group]
    found, refused = Counter[str](), 0
    for trajectory in trajectories:
        refused += trajectory.metrics["refused"]
        histories = [trajectory, *trajectory.additional_histories]
        assert history == "position" or len(histories) == 1
        for talk in histories:
            for place, one in enumerate(talk.messages_and_choices):
                if not isinstance(one, dict):
                    found[repr((talk.messages()[:place], tokens(one)))] += 1
    assert refused > 0
    asked = [(one.body["messages"], one.ids, one.logprobs) for one in served.exchanges]
    wanted = [(said, [*zip(ids, values, strict=True)]) for said, ids, values in asked]
    assert found == Counter(map(repr, wanted))


def tokens(choice: Any) -> list[tuple[int, float]]:
    """The ids and log-probabilities of a choice."""
    found = choice.logprobs.content
    return [(int(one.token.removeprefix("token_id:")), one.logprob) for one in found]


def test_a_conversation_that_was_cut_goes_on_in_another_history() -> None:
    asked: list[Any] = []
    groups = asyncio.run(
        seat_groups(
            Endpoint([scripted(asked, most=5)]),
            COMMONS,
            matches=1,
            opponents={"player_0": "first", "player_2": "first"},
            invalid="random",
            **LAKE | {"rounds": 6},
        )
    )
    ((trajectory,),) = groups
    histories = [trajectory, *trajectory.additional_histories]
    assert len(histories) > 1
    found = [
        talk.messages()[:place]
        for talk in histories
        for place, one in enumerate(talk.messages_and_choices)
        if not isinstance(one, dict)
    ]
    assert found == asked


def scripted(asked: list[Any], most: int = 1000) -> openai.AsyncOpenAI:
    """A client whose server notes every request and refuses those of more than `most` messages."""

    def answer(request: httpx.Request) -> httpx.Response:
        messages = json.loads(request.content)["messages"]
        if len(messages) > most:
            error = {"message": "the maximum context length is exceeded", "code": 400}
            return httpx.Response(400, json={"error": error})
        asked.append(messages)
        message = {"role": "assistant", "content": f"Harvest(amount={len(asked) % 3})"}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        about = {"id": f"{len(asked)}", "object": "chat.completion", "created": 0, "model": "tiny"}
        return httpx.Response(200, json={**about, "choices": [choice]})

    return openai.AsyncOpenAI(
        base_url="http://127.0.0.1:9/v1",
        api_key="none",
        http_client=httpx.AsyncClient(transport=httpx.MockTransport(answer)),
    )


class Endpoint:
    """What `seat_groups` needs of an `art.Model`; each match has the next client."""

    def __init__(self, clients: list[openai.AsyncOpenAI]) -> None:
        self._clients = iter(clients)

    def openai_client(self) -> openai.AsyncOpenAI:
        return next(self._clients)

    def get_inference_name(self) -> str:
        return "tiny"


def test_matches_that_failed_are_exceptions_beside_the_others(served: Served) -> None:
    live, dead = (
        openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0)
        for url in (served.url, "http://127.0.0.1:9/v1")
    )
    model = Endpoint([live, dead, live, dead, live])
    groups = asyncio.run(seat_groups(model, COMMONS, matches=5, **LAKE))
    assert [(len(group), len(group.exceptions)) for group in groups] == [(3, 2)] * 3
    assert sum(len(choices(t)) for g in groups for t in g) == len(served.exchanges)


def test_arts_own_tokens_are_those_that_were_drawn(folder: Path, served: Served) -> None:
    groups = groups_of(served, seed=1, matches=6, **LAKE)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = list(
        tokenize_trajectory_groups(
            tokenizer, groups, allow_training_without_logprobs=False, scale_rewards=True
        )
    )
    assert rows
    learned = 0
    for row in rows:
        marked = [
            (token, value)
            for token, value, mark in zip(
                row.token_ids, row.logprobs, row.assistant_mask, strict=True
            )
            if mark
        ]
        learned += len(marked)
        assert not any(math.isnan(value) for _, value in marked)
    for group in groups:
        rewards = [trajectory.reward for trajectory in group]
        if len(set(rewards)) == 1:
            continue
        mean = sum(rewards) / len(rewards)
        spread = math.sqrt(sum((one - mean) ** 2 for one in rewards) / len(rewards))
        for row in rows:
            if any(row.trajectory is one for one in group):
                wanted = (row.trajectory.reward - mean) / (spread + 1e-6)
                assert row.advantage == pytest.approx(wanted)
    drawn = sum(
        len(choice.logprobs.content)
        for group in groups
        for trajectory in group
        for choice in choices(trajectory)
        if trajectory.reward != sum(one.reward for one in group) / len(group)
    )
    assert learned == drawn


def test_people_have_groups_of_their_own_and_their_own_pay() -> None:
    asked: list[Any] = []
    model = Endpoint([scripted(asked) for _ in range(3)])
    lake = {"num_players": 4, "rounds": 7, "newcomer": 2, "talk": False, "invalid": "random"}
    groups = asyncio.run(
        seat_groups(model, COMMONS, matches=3, opponents={"player_1": "first"}, **lake)
    )
    people = {(group.metadata["seat"], group.metadata["person"]): group for group in groups}
    assert {seat for seat, _ in people} == {0, 2, 3}
    assert any(person for _, person in people)
    assert sum(len(choices(t)) for group in groups for t in group) == len(asked)
    for trajectory in (t for group in groups for t in group if choices(t)):
        assert sum(message["role"] == "system" for message in trajectory.messages()) <= 1
        assert not trajectory.additional_histories  # each person has one conversation
        caught = [re.findall(r"\d+", one.message.content) for one in choices(trajectory)]
        assert trajectory.reward == sum(int(tons) for (tons,) in caught)  # the lake has enough


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("newcomer", [0, 1, 3])
def test_pay_of_people_is_that_of_the_credit_plugin(seed: int, newcomer: int) -> None:
    (record,) = play(
        COMMONS, agents="random", seed=seed, num_players=4, rounds=5, newcomer=newcomer
    )
    paid = paid_people(record)
    for person in people_of(record):
        assert paid[person.seat, person.life] == pytest.approx(person.paid)
    for seat, whole in enumerate(record.returns):
        assert sum(one for (at, _), one in paid.items() if at == seat) == pytest.approx(whole)


def test_a_seat_that_was_never_asked_keeps_its_reward(served: Served) -> None:
    first, second = groups_of(served, "games/TicTacToe-v0", matches=3, invalid="forfeit")
    assert len(first) == len(second) == 3
    for one, other in zip(first, second, strict=True):  # no answer is a move of this game
        assert len(choices(one)) == 1
        assert other.messages_and_choices == []
        assert (one.reward, other.reward, other.metrics["turns"]) == (-1, 1, 0)


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ({"player_3": "random"}, "no seat 'player_3'"),
        (
            dict.fromkeys(("player_0", "player_1", "player_2"), "random"),
            "every seat has an opponent",
        ),
    ],
)
def test_opponents_that_do_not_fit_are_named(opponents: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        asyncio.run(
            seat_groups(endpoint("http://127.0.0.1:9/v1"), COMMONS, opponents=opponents, **LAKE)
        )
