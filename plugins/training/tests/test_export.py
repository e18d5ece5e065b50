"""Tokens, imitation, preferences and corrections as files."""

import json
from collections import Counter

import numpy as np
import palestra
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from palestra import InvalidOption
from palestra.agents.models import Model, Reply
from palestra.cli import main
from palestra.records.trace import SeatTrace, TraceTurn, check_trace, trace_seats
from palestra.testing import ScriptedModel
from palestra_training.batch import token_batch
from palestra_training.crediting import credited_traces, open_credit
from palestra_training.exchanges import exchanges
from palestra_training.export import read_traces, token_table, write_rows, write_traces
from palestra_training.learner import Learner
from palestra_training.plan import TrainPlan
from palestra_training.play import open_env, play_groups, seat_learner
from palestra_training.text_rows import (
    correction_rows,
    imitation_rows,
    preference_rows,
    trajectories,
)
from palestra_training.tiny import make_tiny
from palestra_training.warm_up import rows
from scipy.stats import chisquare

KUHN = "games/KuhnPoker-v0"
PLAN = TrainPlan(env=KUHN, history="conversation", max_tokens=4, invalid="retry:2")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Four rollouts of each of five starts by a model that knows the words, and no more."""
    records = palestra.play(KUHN, agents=["random", "random"], episodes=30, seed=50)
    words = [text for row in rows(records, PLAN) for text in row.texts]
    folder = make_tiny(
        tmp_path_factory.mktemp("tiny") / "model", words, layers=1, width=32, heads=2, context=512
    )
    learner = seat_learner(Learner(folder, name="learner"), PLAN, 1.0, keep=True)
    spec, game = open_env(PLAN)
    rival = palestra.make_agent("random")
    line_ups = [[learner, rival], [rival, learner], [learner, learner]]
    return play_groups(game, spec, PLAN, line_ups, [3, 3, 2**63 + 5], 4)


@pytest.fixture(scope="module")
def traces(played):
    return credited_traces(played, open_credit("grpo"), ["learner"], refused=-0.75)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_traces_come_back_to_the_bit(traces, suffix, tmp_path):
    made = SeatTrace("games/X-v0", 2**64 - 1, 7, 3, "ünï", group="g", fork=2, common=5, life=1)
    made.ids, made.sampled = [1, 2**31 - 1, 3], [False, True, True]
    made.logprobs, made.turn = [0.0, -0.1 - 1e-16, -1 / 3], [0, 0, 0]
    terms = {"win": 0.1, "cost": -0.2}
    made.turns = [TraceTurn(4, 1, 3, "end", "12", "sampling", False, terms, None)]
    check_trace(made)
    wanted = [*traces, made]
    assert sum(turn.refused for trace in traces for turn in trace.turns) > 0
    file = write_traces(tmp_path / f"tokens{suffix}", wanted)
    assert read_traces(file) == wanted
    assert list(tmp_path.iterdir()) == [file]


def test_columns_are_those_of_a_batch(traces):
    table, batch = token_table(traces), token_batch(traces)
    assert table.num_rows == len(batch) == len(traces) > 8
    for name in ("ids", "sampled", "advantages", "turn", "logprobs"):
        for row, (one, kept) in enumerate(
            zip(table[name].to_pylist(), batch.attended, strict=True)
        ):
            found = getattr(batch, name)[row][kept].tolist()
            assert one == pytest.approx(found, rel=1e-6)
    assert table["seat"].to_pylist() == batch.seat.tolist()
    assert set(table["seat"].to_pylist()) == {0, 1}
    assert table["version"].to_pylist() == batch.version.tolist()
    assert Counter(table["group"].to_pylist()).keys() == {trace.group for trace in traces}
    paid = [sum(turn.reward for turn in trace.turns) for trace in traces]
    assert [sum(t["value"] for t in row) for row in table["rewards"].to_pylist()] == paid
    bare = token_table([SeatTrace("x", 1, 0, 0, "a", turns=[TraceTurn(0, 0, 0)])])
    assert bare["advantages"].to_pylist() == [None]


def test_files_that_are_not_ours_are_named(tmp_path, traces):
    parquet.write_table(pa.table({"ids": [[1]]}), tmp_path / "other.parquet")
    (tmp_path / "torn.arrow").write_bytes(b"no")
    for name, message in [
        ("other.parquet", "does not hold palestra.tokens/1"),
        ("torn.arrow", "cannot read tokens"),
        ("gone.parquet", "cannot read tokens"),
    ]:
        with pytest.raises(InvalidOption, match=message):
            read_traces(tmp_path / name)
    with pytest.raises(InvalidOption, match=r"as \.parquet or \.arrow"):
        write_traces(tmp_path / "tokens.jsonl", traces)
    with pytest.raises(InvalidOption, match="must end in one of"):
        write_traces(tmp_path / "tokens.csv", traces)
    with pytest.raises(InvalidOption, match="no such rows"):
        write_rows(tmp_path / "rows.jsonl", [])


class Stumbler(Model):
    """A model that says something illegal before every other answer, and remembers what it read."""

    name = "stumbler"

    def __init__(self):
        self.read = []

    def chat(self, requests):
        replies = []
        for request in requests:
            place = len(self.read)
            self.read.append(request.messages)
            replies.append(Reply("I cannot" if place % 3 == 0 else str(1 + place % 9)))
        return replies


@pytest.mark.parametrize("history", ["conversation", "position", "bare"])
def test_exchanges_are_what_the_model_was_asked(history):
    model = Stumbler()
    agent = palestra.make_agent("llm", model=model, history=history)
    (record,) = palestra.play(
        "games/TicTacToe-v0", agents=[agent, "random"], seed=4, invalid="retry:20"
    )
    found = [
        e for e in exchanges(record, history=history, as_said=True, refused=True) if not e.seat
    ]
    assert [one.messages for one in found] == model.read
    assert any(one.refused for one in found)


def test_prompts_of_thoughts_ask_for_them():
    model = ScriptedModel(lambda _: "Thought: why not.\nAction: bet", held=False)
    agent = palestra.make_agent("llm", model=model, mode="free")
    (record,) = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"], seed=1)
    for thoughts in (False, True):
        (one,) = trajectories([record], agents=record.agents[:1], thoughts=thoughts)
        (row,) = imitation_rows([one])
        asked, answered = row["messages"][0]["content"], row["messages"][-1]["content"]
        assert asked.endswith("Action: your move" if thoughts else "Answer with your move only.")
        assert answered == "Thought: why not.\nAction: bet"


def test_the_best_of_every_start_is_imitated():
    records = [
        record
        for seed in (1, 2)
        for record in palestra.rollouts(
            "games/TicTacToe-v0", agents=["random", "first"], n=6, seed=seed
        )
    ]
    played = trajectories(records, agents=["random"])
    assert len(played) == 12
    chosen = list(imitation_rows(played, keep=2))
    assert len(chosen) == 4
    for seed in (1, 2):
        returns = sorted(r.returns[0] for r in records if r.seed == seed)
        assert sorted(row["worth"] for row in chosen if row["seed"] == seed) == returns[-2:]
    for row in chosen:
        (record,) = [r for r in records if (r.seed, r.number) == (row["seed"], row["episode"])]
        replies = [m["content"] for m in row["messages"] if m["role"] == "assistant"]
        assert replies == [turn.text for turn in record.turns if turn.seat == 0]
        assert row["messages"][0]["role"] == "system"
    assert all(row["worth"] == 1.0 for row in imitation_rows(played, keep=6, least=1.0))
    turnwise = list(imitation_rows(trajectories(records, agents=["random"], history="position")))
    assert {len(row["prompt"]) for row in turnwise} == {2}
    assert all(row["completion"][0]["role"] == "assistant" for row in turnwise)


def test_pairs_part_at_an_answer_of_their_own():
    records = list(palestra.rollouts("games/TicTacToe-v0", agents=["random", "first"], n=8, seed=5))
    played = trajectories(records, agents=["random"])
    pairs = list(preference_rows(played))
    assert pairs
    for pair in pairs:
        better, worse = pair["chosen"], pair["rejected"]
        assert pair["gap"] > 0
        assert pair["prompt"][-1]["role"] == "user"
        assert better[0]["role"] == worse[0]["role"] == "assistant"
        assert better[0] != worse[0]
        whole = [[*pair["prompt"], *rest] for rest in (better, worse)]
        everything = [[{"role": m.role, "content": m.content} for m in t.messages] for t in played]
        assert all(one in everything for one in whole)
        worth = [played[everything.index(one)].worth for one in whole]
        assert worth[0] - worth[1] == pair["gap"]
    assert len(list(preference_rows(played, most=1))) == 1
    assert list(preference_rows(played, gap=2.0)) == []
    single = list(preference_rows(played, whole=False))
    assert {len(pair["chosen"]) for pair in single} == {1}


def test_pairs_have_the_scores_of_both_sides():
    records = list(palestra.rollouts("games/TicTacToe-v0", agents=["random", "first"], n=8, seed=5))
    played = trajectories(records, agents=["random"])
    for whole in (True, False):
        pairs = list(preference_rows(played, scores=(-1.0, 1.0), whole=whole))
        assert pairs
        for pair in pairs:
            assert 0 <= pair["rejected_score"] < pair["chosen_score"] <= 1
            assert 2 * (pair["chosen_score"] - pair["rejected_score"]) == pytest.approx(pair["gap"])
    for wrong in ({"scores": (1.0, 1.0)}, {"draws": 0}, {"draws": 2, "most": 2}):
        with pytest.raises(InvalidOption):
            list(preference_rows(played, **wrong))


def test_pairs_are_drawn_in_proportion_to_the_cube_of_their_gap():
    """Chi-squared against the shares that follow from the worths of all rollouts alone."""
    records = list(palestra.rollouts("games/TicTacToe-v0", agents=["random", "first"], n=6, seed=5))
    credit = [
        {(turn.seat, n): float(int(turn.text)) for n, s in enumerate(r.steps) for turn in s.turns}
        for r in records
    ]
    played = trajectories(records, agents=["random"], credit=credit)
    gaps = np.array([pair["gap"] for pair in preference_rows(played)])
    assert len(set(gaps)) > 3
    drawn = list(preference_rows(played, draws=4000, seed=3))
    assert len(drawn) == 4000
    values, seen = np.unique([pair["gap"] for pair in drawn], return_counts=True)
    shares = {gap: (gaps[gaps == gap] ** 3).sum() / (gaps**3).sum() for gap in set(gaps)}
    assert set(values) <= set(shares)
    expected = np.array([shares[gap] for gap in values]) * 4000
    kept = expected >= 5
    assert chisquare(seen[kept], expected[kept] * seen[kept].sum() / expected[kept].sum())[1] > 0.01
    assert list(preference_rows(played, draws=5, seed=3)) == drawn[:5]
    assert list(preference_rows(played, draws=50, seed=4)) != drawn[:50]
    assert list(preference_rows(played, draws=5, gap=max(gaps))) == []


def test_an_expert_is_preferred_to_what_was_explored():
    records = []
    for name, n in (("minimax", 1), ("random", 5)):
        records += palestra.rollouts("games/TicTacToe-v0", agents=[name, "first"], n=n, seed=5)
    played = trajectories(records, agents=["minimax", "random"])
    pairs = list(preference_rows(played, expert=["minimax"]))
    assert pairs
    assert {(p["agent"], p["rejected_agent"]) for p in pairs} == {("minimax", "random")}


def test_single_answers_are_worth_what_their_turn_is():
    records = list(palestra.rollouts("games/TicTacToe-v0", agents=["random", "first"], n=8, seed=5))
    credit = [
        {(turn.seat, n): float(int(turn.text)) for n, s in enumerate(r.steps) for turn in s.turns}
        for r in records
    ]
    pairs = list(preference_rows(trajectories(records, credit=credit), whole=False))
    assert pairs
    for pair in pairs:
        worth = [int(pair[side][0]["content"]) for side in ("chosen", "rejected")]
        assert worth[0] - worth[1] == pair["gap"] > 0
    keys = [
        (repr(p["prompt"]), p["chosen"][0]["content"], p["rejected"][0]["content"]) for p in pairs
    ]
    assert len(set(keys)) == len(keys)  # however many rollouts gave those answers
    assert not {(prompt, bad, good) for prompt, good, bad in keys} & set(keys)


def test_corrections_keep_the_mistake_in_the_prompt():
    agent = palestra.make_agent("llm", model=Stumbler())
    records = palestra.play(
        "games/TicTacToe-v0", agents=[agent, "first"], episodes=1, seed=4, invalid="retry:20"
    )
    made = list(correction_rows(trajectories(records, agents=[agent.name], refused=True)))
    own = [turn for turn in records[0].turns if turn.seat == 0 and turn.status != "forfeit"]
    assert len(made) == len(own)  # the very first answer is refused
    for row, turn in zip(made, own, strict=True):
        assert row["completion"] == [{"role": "assistant", "content": turn.raw or turn.text}]
        assert row["corrected"] == bool(turn.refused)
        if turn.refused:
            *_, wrong, refusal = row["prompt"]
            assert wrong == {"role": "assistant", "content": "I cannot"}
            assert refusal["content"].startswith(f"That was refused: {turn.errors[-1]}")
    assert list(correction_rows(trajectories(records, agents=["first"], refused=True))) == []


def export(*arguments):
    try:
        main(["export-llm", *map(str, arguments)])
    except SystemExit as done:
        return done.code
    return 0


def test_the_command_writes_every_kind(played, tmp_path, capsys):
    palestra.write_records(tmp_path / "run" / "episode.jsonl", played)
    out = tmp_path / "tokens.parquet"
    assert export(tmp_path / "run", "--out", out, "--by", "grpo", "--refused", "-0.75") == 0
    wanted = credited_traces(played, open_credit("grpo"), ["learner"], refused=-0.75)
    assert read_traces(out) == wanted
    assert f"wrote {len(wanted)} rows" in capsys.readouterr().out
    assert export(tmp_path / "run", "--out", tmp_path / "plain.arrow", "--agents", "learner") == 0
    assert read_traces(tmp_path / "plain.arrow") == [
        trace
        for record in played
        for trace in trace_seats(
            record, [s for s, name in enumerate(record.agents) if name == "learner"]
        )
    ]


def test_the_command_writes_rows_of_messages(tmp_path, capsys):
    agents = [palestra.make_agent("llm", model=Stumbler()), "random"]
    records = [
        record
        for seed in (1, 2)
        for record in palestra.rollouts(
            "games/TicTacToe-v0", agents=agents, n=4, seed=seed, invalid="retry:20"
        )
    ]
    records += palestra.rollouts("games/TicTacToe-v0", agents=["random", "first"], n=6, seed=5)
    palestra.write_records(tmp_path / "episode.jsonl", records)
    for kind, key, *more in [
        ("imitate", "messages", "--keep", "2"),
        ("prefer", "chosen", "--by", "grpo", "--by-turn", "--agents", "random"),
        ("prefer", "chosen", "--draws", "7", "--seed", "2", "--scores=-1,1"),
        ("correct", "completion"),
    ]:
        for suffix in ("jsonl", "parquet"):
            file = tmp_path / f"{kind}.{suffix}"
            assert export(tmp_path, "--out", file, "--rows", kind, *more) == 0
        found = [
            json.loads(line)
            for line in (tmp_path / f"{kind}.jsonl").read_text("utf-8").splitlines()
        ]
        assert f"wrote {len(found)} rows" in capsys.readouterr().out
        assert all(row[key][-1]["role"] == "assistant" for row in found)
        assert parquet.read_table(tmp_path / f"{kind}.parquet").to_pylist() == found


def test_the_command_names_what_is_wrong(played, tmp_path, capsys):
    palestra.write_records(tmp_path / "episode.jsonl", played)
    for arguments, message in [
        (["--rows", "sft"], "kind of rows 'sft'"),
        (["--agents", "lerner"], "did you mean 'learner'"),
        (["--agents", "random"], "no tokens"),
        (["--agents", "random", "--by", "grpo"], "no tokens"),
        (["--rows", "correct", "--history", "bare"], "leave --history out"),
        (["--rows", "prefer", "--scores", "1"], "write two numbers"),
        (["--rows", "prefer", "--draws", "3", "--most", "2"], "not both"),
    ]:
        assert export(tmp_path, "--out", tmp_path / "x.parquet", *arguments) == 2
        assert message in capsys.readouterr().err
    assert export(tmp_path / "nowhere", "--out", tmp_path / "x.parquet") == 2
    assert "there are no records at" in capsys.readouterr().err
    assert not (tmp_path / "x.parquet").exists()
