"""verifiers 0.4.0: its evaluation command, its train and eval clients, one agent a seat."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from model_service import Served, serving
from page import PAGE, block
from palestra import EpisodeRecord
from palestra.records.record import Attempt, replay
from palestra.records.trace import trace_seats
from tiny_player import player
from verifiers.v1.cli.eval.main import main

TRAINING = PAGE.parent / "training-llm.md"
LAKE = {"num_players": 3, "rounds": 3, "talk": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return player(tmp_path_factory.mktemp("player") / "model", "text/Commons-v0", LAKE)


@pytest.fixture(autouse=True)
def _package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's package, where Python finds it."""
    (tmp_path / "palestra_commons.py").write_text(block("verifiers and prime-rl", TRAINING))
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "palestra_commons", raising=False)


def evaluate(served: Served, model: str, *more: str) -> list[dict[str, Any]]:
    """The episodes that `vf-eval` writes."""
    where = ("--client.base-url", served.url, "--run.dir", "run")
    main(["palestra_commons", "--model", model, *where, "--no-push", "--no-rich", *more])
    lines = Path("outputs/run/traces.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def record_of(trace: dict[str, Any]) -> EpisodeRecord:
    return msgspec.json.decode(trace["info"]["palestra"]["record"], type=EpisodeRecord)


def unplayed(record: EpisodeRecord, seat: int) -> list[Attempt]:
    """The answers of a seat that another seat's forfeit in the same step left unplayed."""
    return [attempt for step in record.steps for attempt in step.unplayed.get(seat, ())]


def test_every_seat_is_an_agent_with_its_exact_tokens(folder: Path) -> None:
    with serving(folder) as served:
        episodes = evaluate(served, str(folder), "-n", "2", "-r", "2", "--client.type", "train")
    assert len(episodes) == 4
    drawn = {tuple(one.prompt + one.ids): one for one in served.exchanges}
    replies = 0
    for episode in episodes:
        assert episode["ok"], episode["errors"]
        assert [trace["agent"]["name"] for trace in episode["traces"]] == [
            f"player_{trace['info']['palestra']['seat']}" for trace in episode["traces"]
        ]
        assert len({trace["info"]["palestra"]["seat"] for trace in episode["traces"]}) == 3
        for trace in episode["traces"]:
            record, seat = record_of(trace), trace["info"]["palestra"]["seat"]
            assert tuple(replay(record).returns) == record.returns
            assert sum(r["score"] for r in trace["rewards"].values()) == record.returns[seat]
            nodes = trace["nodes"]
            parents = [node.get("parent") for node in nodes]
            assert parents == [None, *range(len(nodes) - 1)][: len(nodes)]  # never rewritten
            ids = [token for node in nodes for token in node["token_ids"]]
            mask = [mark for node in nodes for mark in node["mask"]]
            answers = []
            for stream in trace_seats(record, [seat]):
                answers += [
                    (
                        turn.end,
                        stream.ids[turn.start : turn.end],
                        stream.logprobs[turn.start : turn.end],
                    )
                    for turn in stream.turns
                ]
                assert ids[: len(stream)] == stream.ids
                assert mask[: len(stream)] == stream.sampled
            for attempt in unplayed(record, seat):
                tokens = attempt.tokens
                assert tokens is not None
                end = len(tokens.prompt) + len(tokens.reply)
                answers.append((end, list(tokens.reply), list(tokens.logprobs)))
            for end, words, logprobs in answers:
                said = drawn[tuple(ids[:end])]
                assert words == said.ids
                assert logprobs == pytest.approx(said.logprobs)
            assert [end for end, _, _ in answers][-1:] == ([len(ids)] if nodes else [])
            replies += len(answers)
    assert replies == len(served.exchanges) >= 4
    seeds = [record_of(episode["traces"][0]).seed for episode in episodes]
    assert sorted(seeds) == [0, 0, 1, 1]


def test_seats_may_be_agents_of_ours_and_chat_alone_gives_no_tokens(folder: Path) -> None:
    with serving(folder) as served:
        (episode,) = evaluate(
            served,
            "tiny",
            *("-n", "1", "--env.taskset.seed", "7", "--env.opponents", '{"player_1": "first"}'),
        )
    assert [trace["agent"]["name"] for trace in episode["traces"]] in (
        ["player_0", "player_2"],
        ["player_2", "player_0"],
    )
    record = record_of(episode["traces"][0])
    assert record.seed == 7
    assert record.agents == ("player_0", "first", "player_2")
    assert not trace_seats(record)
    said = [node for trace in episode["traces"] for node in trace["nodes"] if node.get("sampled")]
    assert [node["message"]["content"] for node in said] != []
    assert len(said) == len(served.exchanges)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--env.opponents", '{"player_9": "first"}'], "no seat 'player_9'"),
        (["--client.base-url", "http://127.0.0.1:9/v1"], "onnect"),
    ],
)
def test_what_goes_wrong_is_the_episodes_error(folder: Path, more: list[str], told: str) -> None:
    with serving(folder) as served:
        (episode,) = evaluate(served, "tiny", "-n", "1", *more)
    assert not episode["ok"]
    assert told in json.dumps(episode["errors"]) + json.dumps(episode["traces"])


def test_a_seat_without_turns_left_has_no_move(folder: Path) -> None:
    fixed = '{"player_0": "first", "player_1": "first"}'
    with serving(folder) as served:
        episodes = evaluate(
            served,
            *("tiny", "-n", "4", "--env.opponents", fixed, "--env.invalid", "random"),
            *("--env.player_2.max-turns", "1"),
        )
    assert all(episode["ok"] for episode in episodes)
    records = [record_of(episode["traces"][0]) for episode in episodes]
    turns = [[turn for turn in record.turns if turn.seat == 2] for record in records]
    assert max(map(len, turns)) >= 2
    for record, own in zip(records, turns, strict=True):
        assert record.mistakes[2] >= len(own) - 1
        assert all(turn.status == "replaced" for turn in own[1:])
