"""Records: what they hold, exact replay, and files that are damaged."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import palestra
import pytest
from palestra import Divergence, Episode, InvalidOption, PalestraError, RecordError, Rng
from palestra.records.record import (
    iter_records,
    read_records,
    record_episode,
    replay,
    write_records,
)
from palestra_envs.text.commons.game import Commons, Harvest

AGENTS = {
    "games/ConnectFour-v0": ["random", "mcts:simulations=5"],
    "games/KuhnPoker-v0": ["random", "random"],
    "grid/Foraging-v0": ["random", "forager"],
    "text/Negotiation-v0": ["random", "negotiator"],
    "text/Commons-v0": ["random"] * 5,
}


def records(env: str, n: int = 3) -> list[palestra.EpisodeRecord]:
    return palestra.play(env, agents=AGENTS[env], episodes=n, seed=11)


@pytest.mark.parametrize("env", AGENTS)
def test_a_record_read_from_disk_replays_exactly(env: str, tmp_path: Path) -> None:
    made = records(env)
    read = read_records(write_records(tmp_path / "deep" / "episode.jsonl", made))
    assert read == made
    for record in read:
        episode = replay(record)
        assert tuple(map(float, episode.returns)) == record.returns
        assert record_episode(episode, record.agents, number=record.number).events == record.events


@pytest.mark.parametrize("env", ["games/ConnectFour-v0", "games/KuhnPoker-v0", "grid/Foraging-v0"])
@pytest.mark.parametrize("kind", [np.int64, np.int8, np.array], ids=["int64", "int8", "0-d array"])
def test_numbers_of_numpy_are_recorded_and_told_as_any(env: str, kind: Any, tmp_path: Path) -> None:
    plain, odd = Episode(palestra.game(env), 5), Episode(palestra.game(env), 5)
    _ = odd.log  # told step by step, while it is played
    while not plain.over:
        actions = {seat: int(plain.action_mask(seat).argmax()) for seat in plain.to_act}
        plain.act(actions)
        odd.act({seat: kind(action) for seat, action in actions.items()})
    made = record_episode(odd)
    assert made == record_episode(plain)
    (read,) = read_records(write_records(tmp_path / "episode.jsonl", [made]))
    assert read == made


def test_it_holds_what_was_seen_decided_and_paid() -> None:
    def speak(turn: palestra.Turn) -> palestra.Decision:
        usage = palestra.Usage(tokens_in=7, tokens_out=2, calls=1, cost=0.5)
        return palestra.Decision(
            text=f"I play the first.\n{turn.legal_text.split(', ')[0]}",
            usage=usage,
            logprob=-0.25,
            model="m",
        )

    (record,) = palestra.play("games/TicTacToe-v0", agents=[speak, "first"])
    turn = record.turns[0]
    assert turn.raw == "I play the first.\n1"
    assert (turn.action, turn.text, turn.status) == (0, "1", "ok")
    assert (turn.usage.tokens, turn.usage.cost, turn.logprob, turn.model) == (9, 0.5, -0.25, "m")
    assert turn.legal == list(range(9))
    assert bytes.fromhex(turn.state_key)
    assert record.versions["palestra"] == palestra.__version__
    assert record.versions["palestra_games"]
    assert record.outcome.results in (("win", "loss"), ("loss", "win"), ("draw", "draw"))
    assert sum(step.rewards.get(0, {}).get("payoff", 0) for step in record.steps) == sum(
        record.returns[:1]
    )


def test_seen_ranges_cover_the_transcript_once() -> None:
    (record,) = palestra.play("text/Negotiation-v0", agents=["negotiator:style=greedy"] * 2)
    assert len(record.turns) > 4
    for seat in (0, 1):
        ranges = [turn.seen for turn in record.turns if turn.seat == seat]
        assert ranges[0][0] == 0
        assert all(a[1] == b[0] for a, b in pairwise(ranges))
        assert ranges[-1][1] <= len(record.transcript(seat))


def test_a_changed_move_is_named_where_it_diverges() -> None:
    (record,) = records("games/ConnectFour-v0", 1)
    record.steps[2].turns[0].action = (record.steps[2].turns[0].action + 1) % 7
    with pytest.raises(Divergence) as caught:
        replay(record)
    assert caught.value.turn in (2, 3)


@pytest.mark.parametrize(("field", "value"), [("returns", (9.0, 9.0)), ("seed", 12)])
def test_other_changes_are_named_too(field: str, value: Any) -> None:
    (record,) = records("text/Negotiation-v0", 1)
    setattr(record, field, value)
    with pytest.raises(Divergence):
        replay(record)


def test_forfeits_and_truncations_replay() -> None:
    lost = Episode(Commons(num_players=2), 1, invalid="forfeit")
    lost.act({0: Harvest(3), 1: Harvest(-1)})
    cut = Episode(Commons(num_players=2), 1)
    cut.act({0: Harvest(3), 1: Harvest(4)})
    cut.truncate("power cut")
    for episode in (lost, cut):
        record = record_episode(episode)
        again = replay(record, episode.game)
        assert again.outcome == episode.outcome
        assert [e.text for e in again.events] == [e.text for e in episode.events]


def test_an_episode_from_a_loaded_state_is_not_recorded() -> None:
    episode = Episode(Commons(num_players=2), 1)
    episode.load(episode.game.initial_state(5))
    with pytest.raises(InvalidOption, match="loaded"):
        record_episode(episode)


def test_a_cut_line_names_itself_and_keeps_what_is_before(tmp_path: Path) -> None:
    path = write_records(tmp_path / "r.jsonl", records("games/KuhnPoker-v0"))
    path.write_bytes(path.read_bytes()[:-40])
    reader = iter_records(path)
    assert [next(reader).number, next(reader).number] == [0, 1]
    with pytest.raises(RecordError, match="line 3: the line is cut off") as caught:
        next(reader)
    assert (caught.value.line, caught.value.kept) == (3, 2)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b"not json\n", "not a record"),
        (b'{"env": 3}\n', "not a record"),
        (b'[{"env": "x"}]\n', "not a record"),
        (b"\xff\xfe\x00\n", "not a record"),
    ],
)
def test_foreign_lines_are_named(line: bytes, why: str, tmp_path: Path) -> None:
    path = write_records(tmp_path / "r.jsonl", records("games/KuhnPoker-v0", 1))
    with path.open("ab") as file:
        file.write(line)
    with pytest.raises(RecordError, match=f"line 2: {why}") as caught:
        read_records(path)
    assert caught.value.kept == 1


def test_a_later_format_is_not_guessed_at(tmp_path: Path) -> None:
    (record,) = records("games/KuhnPoker-v0", 1)
    data = json.loads(msgspec.json.encode(record)) | {"format": "palestra.episode/9"}
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(data) + "\n")
    with pytest.raises(RecordError, match="episode/9"):
        read_records(path)


def test_blank_lines_are_passed_over(tmp_path: Path) -> None:
    path = write_records(tmp_path / "r.jsonl", records("games/KuhnPoker-v0", 2))
    path.write_bytes(path.read_bytes().replace(b"\n", b"\n\n"))
    assert len(read_records(path)) == 2


def test_retrace_gives_every_position_once() -> None:
    (record,) = records("games/ConnectFour-v0", 1)
    turns = [episode.steps_played for episode in palestra.retrace(record)]
    assert turns == list(range(len(record.steps) + 1))


def test_siblings_share_their_start_and_are_told_apart() -> None:
    game = palestra.game("games/ConnectFour-v0")
    start = Episode(game, 3)
    start.act({0: 3})
    group = palestra.rollouts(game, agents=["random", "random"], seed=3, n=4, start=start)
    assert len({record.group for record in group}) == 1
    assert group[0].group.startswith("3@1-")
    assert {record.branched_at for record in group} == {1}
    assert all(record.turns[0].action == 3 for record in group)
    assert len({tuple(turn.action for turn in record.turns) for record in group}) > 1
    assert Rng(0) == Rng(0)


@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_every_environments_record_is_opened_again_by_its_id(env: str) -> None:
    seats = palestra.game(env).num_players
    (record,) = palestra.play(env, agents=["random"] * seats, max_episode_steps=3)
    assert replay(record).steps_played == len(record.steps)


@pytest.mark.parametrize("amount", [float("nan"), float("inf")])
def test_a_game_that_pays_no_number_is_named_and_no_record_holds_it(amount: float) -> None:
    class Generous(type(palestra.game("text/Negotiation-v0"))):  # type: ignore[misc]
        def step(self, state: Any, actions: Any) -> Any:
            return msgspec.structs.replace(
                super().step(state, actions), rewards={0: {"deal": amount}}
            )

    with pytest.raises(PalestraError, match=rf"the returns are \({amount}, 0\.0\), and must be"):
        palestra.play(Generous(), agents="random", episodes=1)


@pytest.mark.parametrize("spent", ["9" * 4300, "-1"])
def test_a_record_that_says_to_have_spent_what_nobody_can_add_is_refused(
    tmp_path: Path, spent: str
) -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents="random", episodes=1, seed=1)
    path = tmp_path / "spent.jsonl"
    line = msgspec.json.decode(msgspec.json.encode(record))
    line["steps"][0]["turns"][0]["usage"] = {"tokens_in": msgspec.Raw(spent.encode())}
    path.write_bytes(msgspec.json.encode(line) + b"\n")
    with pytest.raises(RecordError, match=r"line 1.*usage\.tokens_in"):
        read_records(path)


def test_a_line_without_end_is_not_read(tmp_path):
    path = tmp_path / "zeros.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordError, match=r"line 1.* more than 100000000 bytes"):
        list(iter_records(path))
