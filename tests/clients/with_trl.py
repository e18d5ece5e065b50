"""TRL 1.16: GRPOTrainer with whole games as its rollouts, with a tool to move, and our files."""

from __future__ import annotations

import contextlib
import json
import math
import random
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import palestra
import pytest
import torch
import trl
from datasets import Dataset, load_dataset
from page import PAGE, run
from palestra.cli import main as palestra_main
from palestra.records.trace import trace_seats
from palestra_training.export import read_traces
from palestra_training.text_rows import preference_rows, trajectories
from palestra_training.trl_environment import SeatEnvironment, environment_class
from palestra_training.trl_rollouts import SeatRollouts
from palestra_training.trl_score_dpo import ScoreDPOTrainer, answer_logprobs
from tiny_player import Sizes, in_template, player, taught
from transformers import AutoModelForCausalLM
from transformers.utils import get_json_schema
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

TRAINING = PAGE.parent / "training-llm.md"
TICTACTOE, COMMONS = "games/TicTacToe-v0", "text/Commons-v0"
LAKE = {"num_players": 3, "rounds": 3, "talk": False}  # unequal opponents at three seats
QWEN = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
OWN = {'report_to="none"': 'report_to="none", bf16=False, save_strategy="no"'}


@pytest.fixture(autouse=True)
def _quiet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@contextmanager
def watched(look: Callable[[Any, Any], Any]) -> Iterator[list[Any]]:
    """What `look(trainer, batch)` says of every batch that TRL generated, before it learns."""
    seen: list[Any] = []
    own = GRPOTrainer._generate_and_score_completions

    def generate(trainer: Any, inputs: Any) -> Any:
        batch = own(trainer, inputs)
        seen.append(look(trainer, batch))
        return batch

    with mock.patch.object(GRPOTrainer, "_generate_and_score_completions", generate):
        yield seen


def unpadded(batch: Any, name: str, mask: str) -> list[list[Any]]:
    return [row[kept.bool()].tolist() for row, kept in zip(batch[name], batch[mask], strict=True)]


def token_lists(trainer: Any, batch: Any) -> dict[str, Any]:
    """The rows that TRL is to learn from, and their log-probabilities by its own reckoning."""
    both = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    attended = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    with torch.no_grad():
        batch["again"] = trainer._get_per_token_logps_and_entropies(
            trainer.model, both, attended, batch["completion_ids"].shape[1], batch_size=8
        )[0]
    columns = {"prompt_ids": unpadded(batch, "prompt_ids", "prompt_mask")}
    for name in ("completion_ids", "tool_mask", "sampling_per_token_logps", "again"):
        columns[name] = unpadded(batch, name, "completion_mask")
    return columns


OTHERS = {
    TICTACTOE: {},
    COMMONS: {
        TICTACTOE: COMMONS,
        'opponents="random"': 'opponents=["random", "first"], num_players=3, rounds=3, talk=False',
    },
}


@pytest.mark.parametrize(("env", "options"), [(TICTACTOE, {}), (COMMONS, LAKE)])
def test_whole_games_are_trls_rows_to_the_token(tmp_path: Path, env: str, options: Sizes) -> None:
    model = player(tmp_path / "model", env, options)
    replaced = {"HuggingFaceTB/SmolLM2-135M-Instruct": str(model), **OWN, **OTHERS[env]}
    with watched(token_lists) as batches:
        names, ledger = run("TRL: whole games", TRAINING, replaced)
    assert len(batches) == len(names["played"]) == names["trainer"].state.global_step == 2
    assert ledger.games == {env.split("/")[1].removesuffix("-v0")}
    refused = sampled = 0
    seats = set()
    for batch, records in zip(batches, names["played"], strict=True):
        assert len(records) == len(batch["prompt_ids"]) == 8
        for place, record in enumerate(records):
            seat = record.agents.index("learner")
            traces = trace_seats(record, [seat])
            if not traces:  # another seat forfeited before this one was asked
                assert batch["tool_mask"][place] == [0]
                continue
            (trace,) = traces
            start = trace.turns[0].start
            assert batch["prompt_ids"][place] == trace.ids[:start]
            assert batch["completion_ids"][place] == trace.ids[start:]
            assert batch["tool_mask"][place] == [int(mark) for mark in trace.sampled[start:]]
            drawn = torch.tensor(batch["sampling_per_token_logps"][place])
            assert drawn.tolist() == pytest.approx(trace.logprobs[start:], abs=1e-6)
            own = torch.tensor(trace.sampled[start:])
            again = torch.tensor(batch["again"][place])
            assert torch.allclose(again[own], drawn[own], atol=1e-4)
            refused += sum(turn.refused for turn in trace.turns)
            sampled += int(own.sum())
            seats.add((record.seed, seat))
        groups = [records[:4], records[4:]]
        for group in groups:  # of one start and one seat, and yet not the same game
            assert len({(record.seed, record.agents) for record in group}) == 1
        assert any(len({str(record.turns) for record in group}) > 1 for group in groups)
    assert refused > 0
    assert sampled > 100
    assert len(seats) == 4
    paid = [
        sum(record.returns[record.agents.index("learner")] for record in records) / len(records)
        for records in names["played"]
    ]
    logged = [line["reward"] for line in names["trainer"].state.log_history if "reward" in line]
    assert logged == pytest.approx(paid)
    before = AutoModelForCausalLM.from_pretrained(model).state_dict()
    after = names["trainer"].model.state_dict()
    assert any(not torch.equal(before[name], value) for name, value in after.items())


@pytest.mark.parametrize("opponents", ["learner", "silent"])
def test_self_play_and_seats_that_are_never_asked(tmp_path: Path, opponents: str) -> None:
    """All seats are the learner's; or the first forfeits before the second has had a turn."""
    model = player(tmp_path / "model", TICTACTOE, {})
    silent = palestra.FunctionAgent(lambda _: palestra.Decision(text="?"), "silent")
    played: list[Any] = []
    rollouts = SeatRollouts(
        TICTACTOE,
        opponents=silent if opponents == "silent" else "learner",
        invalid="forfeit",
        max_tokens=16,
        told=played.append,
    )
    args = GRPOConfig(
        output_dir="out",
        max_steps=2,
        per_device_train_batch_size=8,
        num_generations=4,
        report_to="none",
        bf16=False,
        save_strategy="no",
    )
    data = rollouts.data(4, seats=[1])
    with watched(token_lists) as batches:
        trainer = GRPOTrainer(
            str(model),
            args=args,
            train_dataset=data,
            reward_funcs=rollouts.seat_return,
            rollout_func=rollouts,
        )
        trainer.train()
    assert trainer.state.global_step == len(batches) == 2
    rows = [
        (record, ids, mask)
        for records, batch in zip(played, batches, strict=True)
        for record, ids, mask in zip(
            records, batch["completion_ids"], batch["tool_mask"], strict=True
        )
    ]
    asked = 0
    for record, ids, mask in rows:
        traces = trace_seats(record, [1])
        asked += len(traces)
        if traces:
            assert ids == traces[0].ids[traces[0].turns[0].start :]
        else:
            assert mask == [0]
            assert record.returns[1] == 1.0
    if opponents == "silent":
        assert asked == 0
    else:
        assert {record.agents for record, _, _ in rows} == {("learner", "learner")}
        assert asked > 0


def test_what_rollouts_cannot_be_made_of_is_named() -> None:
    rollouts = SeatRollouts(COMMONS, opponents="learner", **LAKE)
    trainer = mock.Mock(use_vllm=True)
    with pytest.raises(palestra.InvalidOption, match="use_vllm=False"):
        rollouts(["text/Commons-v0 seed=1 seat=0"], trainer)
    trainer = mock.Mock(use_vllm=False, top_p=0.9, top_k=0)
    with pytest.raises(palestra.InvalidOption, match=r"leave out top_p=0\.9"):
        rollouts(["text/Commons-v0 seed=1 seat=0"], trainer)
    with pytest.raises(palestra.InvalidOption, match="has 2 other seats; got 1"):
        SeatRollouts(COMMONS, opponents=["random"], **LAKE)
    with pytest.raises(palestra.InvalidOption, match="names no start"):
        rollouts(["Play well."], mock.Mock(use_vllm=False, top_p=1.0, top_k=0))


def test_exported_files_are_read_by_datasets_and_learned_from(tmp_path: Path) -> None:
    """Every kind of file in both formats, and two steps of SFTTrainer and DPOTrainer on them."""
    model = player(tmp_path / "model", TICTACTOE, {})
    agent = f"llm:local:{model},keep_tokens=true,temperature=1,max_tokens=8"
    records = [
        record
        for seed in (1, 2, 3)
        for record in palestra.rollouts(
            TICTACTOE, agents=[agent, "first"], n=4, seed=seed, invalid="retry:4"
        )
    ]
    records += palestra.rollouts(TICTACTOE, agents=["random", "first"], n=6, seed=5)
    records += palestra.play(TICTACTOE, agents=[palestra.FunctionAgent(stumble), "random"], seed=6)
    palestra.write_records(tmp_path / "run" / "episode.jsonl", records)
    read = {}
    for kind in ("tokens", "imitate", "prefer", "correct"):
        for suffix, loader in (("parquet", "parquet"), ("arrow", "arrow")):
            file = tmp_path / f"{kind}.{suffix}"
            main("export-llm", tmp_path / "run", "--out", file, "--rows", kind, "--by", "grpo")
            loaded = load_dataset(loader, data_files=str(file), split="train")
            assert read.setdefault(kind, loaded).to_list() == loaded.to_list()
            assert len(loaded) > 0
    traces = read_traces(tmp_path / "tokens.parquet")
    assert read["tokens"]["ids"][:] == [trace.ids for trace in traces]
    assert read["tokens"]["logprobs"][:] == [trace.logprobs for trace in traces]
    assert read["tokens"]["turns"][0][0]["advantage"] == traces[0].turns[0].advantage
    settings = {"max_steps": 2, "report_to": "none", "bf16": False, "save_strategy": "no"}
    for kind in ("imitate", "correct"):
        args = SFTConfig(output_dir=str(tmp_path / kind), max_length=512, **settings)
        sft = SFTTrainer(str(model), args=args, train_dataset=read[kind])
        assert 0 < sft.train().training_loss < 20
    args = DPOConfig(output_dir=str(tmp_path / "dpo"), max_length=512, **settings)
    dpo = DPOTrainer(str(model), args=args, train_dataset=read["prefer"])
    assert 0 < dpo.train().training_loss < 2


def test_score_dpo_is_trl_s_dpo_of_half_of_beta_where_scores_are_equal(tmp_path: Path) -> None:
    """One batch of unequal lengths by both trainers; then the formula, and steps that learn."""
    model = player(tmp_path / "model", TICTACTOE, {})
    records = palestra.rollouts(TICTACTOE, agents=["random", "first"], n=6, seed=5)
    played = trajectories(list(records), agents=["random"])
    rows = list(preference_rows(played, draws=12, scores=(-1.0, 1.0)))
    equal = [{**row, "chosen_score": 0.5, "rejected_score": 0.5} for row in rows]
    common = {"max_length": 3072, "report_to": "none", "bf16": False, "save_strategy": "no"}
    common |= {"per_device_train_batch_size": 4, "learning_rate": 3e-3, "max_steps": 12}

    def trainer(kind: Any, data: Any, beta: float) -> Any:
        args = DPOConfig(output_dir=str(tmp_path / "dpo"), beta=beta, **common)
        made = kind(str(model), args=args, train_dataset=Dataset.from_list(data))
        torch.manual_seed(1)  # the same policy, apart from the reference
        with torch.no_grad():
            for weight in made.model.parameters():
                weight += 0.02 * torch.randn(weight.shape)
        return made

    losses = []
    for kind, beta in ((ScoreDPOTrainer, 0.4), (DPOTrainer, 0.2)):
        made = trainer(kind, equal, beta)
        batch = made.data_collator([made.train_dataset[place] for place in (0, 3, 7)])
        losses.append(made.compute_loss(made.model, batch).item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0] != pytest.approx(math.log(2), rel=1e-2)

    made = trainer(ScoreDPOTrainer, rows, 0.4)
    seen = [made.train_dataset[place] for place in (0, 3, 7)]
    batch = made.data_collator(seen)
    with torch.no_grad():
        now, before = (answer_logprobs(m, batch)[0] for m in (made.model, made.ref_model))
    better, worse = (now - before).chunk(2)
    pairs = zip(better.tolist(), worse.tolist(), rows[0:1] + rows[3:4] + rows[7:8], strict=True)
    apart = [r["chosen_score"] * a - (1 - r["rejected_score"]) * b for a, b, r in pairs]
    expected = sum(math.log1p(math.exp(-0.4 * one)) for one in apart) / 3
    assert made.compute_loss(made.model, batch).item() == pytest.approx(expected, rel=1e-5)
    made.train()
    logged = [line["loss"] for line in made.state.log_history if "loss" in line]
    with torch.no_grad():
        assert made.compute_loss(made.model, batch).item() < expected, logged


def test_score_dpo_of_an_adapter_has_the_model_without_it_as_reference(tmp_path: Path) -> None:
    """A new adapter changes nothing, so that the loss is log 2; then it learns."""
    model = player(tmp_path / "model", TICTACTOE, {})
    records = palestra.rollouts(TICTACTOE, agents=["random", "first"], n=6, seed=5)
    played = trajectories(list(records), agents=["random"])
    rows = list(preference_rows(played, draws=8, scores=(-1.0, 1.0)))
    common = {"report_to": "none", "bf16": False, "save_strategy": "no", "max_length": 3072}
    args = DPOConfig(str(tmp_path / "dpo"), beta=0.4, max_steps=3, learning_rate=1e-2, **common)
    adapter = pytest.importorskip("peft").LoraConfig(r=4, target_modules="all-linear")
    made = ScoreDPOTrainer(
        str(model), args=args, train_dataset=Dataset.from_list(rows), peft_config=adapter
    )
    batch = made.data_collator([made.train_dataset[place] for place in range(3)])
    assert made.compute_loss(made.model, batch).item() == pytest.approx(math.log(2), abs=1e-6)
    made.train()
    assert made.compute_loss(made.model, batch).item() < 0.65


def test_score_dpo_names_what_is_missing(tmp_path: Path) -> None:
    model = player(tmp_path / "model", TICTACTOE, {})
    row = {"prompt": "a", "chosen": "b", "rejected": "c"}
    common = {"max_steps": 1, "report_to": "none", "bf16": False, "save_strategy": "no"}
    data = Dataset.from_list([row] * 4)
    args = DPOConfig(output_dir=str(tmp_path / "dpo"), **common)
    with pytest.raises(palestra.InvalidOption, match="rows need 'chosen_score'"):
        ScoreDPOTrainer(str(model), args=args, train_dataset=data).train()
    args = DPOConfig(output_dir=str(tmp_path / "dpo"), loss_type=["hinge"], **common)
    with pytest.raises(palestra.InvalidOption, match="takes beta alone"):
        ScoreDPOTrainer(str(model), args=args, train_dataset=data)


def test_the_page_trains_with_score_dpo(tmp_path: Path) -> None:
    model = player(tmp_path / "model", TICTACTOE, {})
    replaced = OWN | {"HuggingFaceTB/SmolLM2-135M-Instruct": str(model)}
    names, _ = run("TRL: Score-DPO", TRAINING, replaced)
    assert names["trainer"].state.global_step == 2
    assert len(names["scored"]) == 16


def stumble(turn: Any) -> palestra.Decision:
    """An illegal answer first, then a legal one."""
    return palestra.Decision(text=turn.legal_texts[-1] if turn.error else "I cannot")


def test_the_page_writes_a_file_that_datasets_reads(tmp_path: Path) -> None:
    model = player(tmp_path / "model", TICTACTOE, {})
    names, _ = run("Files to learn from", TRAINING, {"llm:local:,": f"llm:local:{model},"})
    assert names["rows"].num_rows == len(names["traces"]) == 4
    assert read_traces("tokens.parquet") == names["traces"]
    given = names["rows"]["advantages"]
    assert {round(value, 6) for row in given for value in row} - {0.0}


def main(*arguments: object) -> None:
    with contextlib.suppress(SystemExit):
        palestra_main([str(argument) for argument in arguments])


def tool_lessons(made: type[SeatEnvironment], episodes: int, seats: int) -> list[list[Any]]:
    """Conversations in which somebody plays at random by calling the tool."""
    rng, env, talks = random.Random(3), made(), []
    for number in range(episodes):
        seat = number % seats
        talk: list[Any] = [{"role": "user", "content": env.reset(seed=500 + number, seat=seat)}]
        while not env._playing().episode.over:
            move = rng.choice(env._playing().episode.legal_texts(seat)[:24])
            call = {"name": "move", "arguments": {"text": move}}
            talk.append(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"type": "function", "function": call}],
                }
            )
            talk.append({"role": "tool", "name": "move", "content": env.move(move)})
        talks.append(talk)
    return talks


def caller(folder: Path, made: type[SeatEnvironment], seats: int) -> Path:
    """A tiny model that has read such conversations in Qwen's template."""
    template, tools = QWEN.read_text("utf-8"), [get_json_schema(made.move)]
    texts = [
        in_template(talk, template, folder / "words", tools=tools)
        for talk in tool_lessons(made, 30, seats)
    ]
    return taught(folder, [*texts, '{"error": "'], template, epochs=20)


def tool_calls(trainer: Any, batch: Any) -> list[dict[str, Any]]:
    """What each rollout's tokens say was asked, called and answered, and what our record says."""
    read = trainer.processing_class.decode
    found = []
    for place, env in enumerate(trainer.environments):
        kept = batch["completion_mask"][place].bool()
        ids, own = batch["completion_ids"][place][kept], batch["tool_mask"][place][kept].bool()
        found.append(
            {
                "prompt": read(batch["prompt_ids"][place][batch["prompt_mask"][place].bool()]),
                "said": read(ids[own]),
                "all": read(ids),
                "heard": read(ids[~own]),
                "record": env.record,
                "seat": env.seat,
            }
        )
    return found


TOOLS = {
    TICTACTOE: {},
    COMMONS: {
        TICTACTOE: COMMONS,
        "64, chat=True": "64, chat=True, num_players=3, rounds=3, talk=False",
        'opponents="random"': 'opponents=["random", "first"], num_players=3, rounds=3, talk=False',
    },
}


@pytest.mark.parametrize(("env", "options"), [(TICTACTOE, {}), (COMMONS, LAKE)])
def test_moves_by_a_tool_are_the_calls_in_trls_tokens(
    tmp_path: Path, env: str, options: Sizes
) -> None:
    made = environment_class(env, **options)
    seats = options.get("num_players", 2)
    model = caller(tmp_path / "model", made, seats)
    replaced = {"Qwen/Qwen3-0.6B": str(model), **OWN, **TOOLS[env]}
    with watched(tool_calls) as batches:
        names, _ = run("TRL: a tool to move with", TRAINING, replaced)
    assert names["trainer"].state.global_step == len(batches) == 2
    played = longest = 0
    for batch in batches:
        for row in batch:
            record, seat = row["record"], row["seat"]
            assert made().reset(seed=record.seed, seat=seat) in row["prompt"]
            own = [turn for turn in record.turns if turn.seat == seat]
            moves = [turn.text for turn in own if turn.status == "ok"]
            called = re.findall(r"<tool_call>\n(\{.*?\})\n</tool_call>", row["said"], re.DOTALL)
            assert moves == accepted(row["all"], called)
            played += len(moves)
            longest = max(longest, len(moves))
    assert played >= 6
    assert longest >= 2
    logged = [line["reward"] for line in names["trainer"].state.log_history if "reward" in line]
    paid = [sum(row["record"].returns[row["seat"]] for row in batch) / 8 for batch in batches]
    assert logged == pytest.approx(paid)


def accepted(text: str, calls: Sequence[str]) -> list[str]:
    """The moves of those calls that were answered by something else than an error."""
    parts = re.split(r"<tool_call>\n(\{.*?\})\n</tool_call>", text, flags=re.DOTALL)
    moves = []
    for call, answer in zip(parts[1::2], parts[2::2], strict=True):
        if "<tool_response>" in answer and "{'error'" not in answer:
            moves.append(json.loads(call)["arguments"]["text"].strip())
    return moves
