"""Rounds of play and learning with a small real model."""

import shutil
import signal
import subprocess
import sys

import palestra
import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption
from palestra.agents.making import make_agent
from palestra.agents.models import Model, Reply
from palestra.records.trace import SeatTrace, TraceTurn
from palestra_training.batch import token_batch
from palestra_training.checkpoint import STATE
from palestra_training.curves import read_curve
from palestra_training.learner import Learner, _pick
from palestra_training.plan import Evaluation, TinyModel, TrainPlan, WarmUp, read_plan
from palestra_training.stopping import TrainingStopped
from palestra_training.trainer import Trainer
from palestra_training.update import logprobs_of
from palestra_training.warm_up import rows

SMALL = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=3,
    groups=4,
    group_size=3,
    self_play=0.5,
    opponents=("random",),
    past=1,
    past_every=1,
    tiny=TinyModel(layers=1, width=32, heads=2, context=128),
    warm_up=WarmUp(episodes=30, epochs=1),
    evaluation=Evaluation(every=2, episodes=6),
    max_tokens=4,
)

LEGAL = WarmUp(episodes=60, epochs=60, learning_rate=3e-3)  # enough to write legal moves


def weights(trainer):
    return {name: value.clone() for name, value in trainer.model.net.state_dict().items()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing interrupted."""
    trainer = Trainer(SMALL, tmp_path_factory.mktemp("whole") / "run")
    trainer.run()
    return trainer


def test_a_run_that_is_resumed_is_the_run_that_never_stopped(whole, tmp_path):
    first = Trainer(replace(SMALL, rounds=2), tmp_path / "run")
    first.run()
    again = Trainer(SMALL, tmp_path / "run", resume=True)
    assert again.round == 2
    again.run()
    assert again.curve[-1].loss == whole.curve[-1].loss
    for name, value in weights(whole).items():
        assert torch.equal(value, weights(again)[name]), name


def test_a_folder_keeps_its_run(whole):
    with pytest.raises(InvalidOption, match="holds a run already; continue it with --resume"):
        Trainer(SMALL, whole.out)
    with pytest.raises(InvalidOption, match="was started with credit = 'grpo', not 'rloo'"):
        Trainer(replace(SMALL, credit="rloo"), whole.out, resume=True)


def test_a_run_of_other_versions_is_resumed_only_if_that_is_wanted(whole, tmp_path):
    shutil.copytree(whole.out, tmp_path / "run")
    state = torch.load(tmp_path / "run" / STATE, weights_only=True)
    assert state["software"].keys() >= {"palestra", "palestra_games", "palestra_training", "torch"}
    torch.save(state | {"software": state["software"] | {"torch": "0.4"}}, tmp_path / "run" / STATE)
    with pytest.raises(InvalidOption, match=r"torch 0\.4 \(installed"):
        Trainer(SMALL, tmp_path / "run", resume=True)
    again = Trainer(SMALL, tmp_path / "run", resume=True, other_versions=True)
    assert again.round == whole.round


def test_the_curve_and_the_model_are_there(whole):
    lines = read_curve(whole.out / "curve.csv")
    assert [line["round"] for line in lines] == ["1", "2", "3"]
    assert lines[1]["opponent"] == "random"
    assert 0 <= float(lines[1]["low"]) <= float(lines[1]["unlost"]) <= float(lines[1]["high"])
    agent = f"llm:local:{whole.out / 'model'},prompt=raw,history=bare,max_tokens=4"
    records = palestra.play(SMALL.env, agents=[agent, "random"], episodes=2, invalid="random")
    assert records[0].turns


def test_every_turn_of_the_learner_has_its_credit(whole):
    records = whole.rollouts()
    assert len(records) == SMALL.groups * SMALL.group_size
    assert len({record.group for record in records}) == SMALL.groups
    traces = whole.credited(records)
    own = sum(agent == "learner" for record in records for agent in record.agents)
    assert {(trace.number, trace.seat) for trace in traces} <= {
        (record.number, seat)
        for record in records
        for seat, agent in enumerate(record.agents)
        if agent == "learner"
    }
    assert 0 < len({(trace.number, trace.seat) for trace in traces}) <= own
    assert all(turn.advantage is not None for trace in traces for turn in trace.turns)


def test_log_probabilities_of_a_rollout_equal_a_fresh_forward_pass(whole):
    for trace in whole.credited(whole.rollouts())[:6]:
        with torch.inference_mode():
            logits = whole.model.net(torch.tensor([trace.ids])).logits[0].float()
        fresh = torch.log_softmax(logits / SMALL.temperature, -1)
        for place, sampled in enumerate(trace.sampled):
            if sampled:
                found = float(fresh[place - 1, trace.ids[place]])
                assert found == pytest.approx(trace.logprobs[place], abs=1e-3)


def test_a_reply_does_not_depend_on_what_it_is_batched_with(whole):
    from palestra.agents.models import Message, Request

    model = whole.model
    requests = [
        Request((Message("user", text),), raw=True, max_tokens=4, temperature=1.0, seed=seed)
        for text, seed in [("You hold", 1), ("You hold J\nMove:", 2), ("Move:", 3)]
    ]
    together = [reply.text for reply in model.chat(requests)]
    assert together == [model.chat([request])[0].text for request in requests]


def test_listed_choices_hold_a_reply(whole):
    from palestra.agents.models import Message, Request

    choices = (" bet", " pass", " bet pass")
    for seed in range(12):
        request = Request(
            (Message("user", "Move:"),),
            raw=True,
            choices=choices,
            temperature=2.0,
            seed=seed,
            max_tokens=6,
        )
        assert whole.model.chat([request])[0].text in choices


def test_plans_are_read_strictly(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('env = "games/KuhnPoker-v0"\ngroups = 0\n')
    with pytest.raises(InvalidOption, match=r"run\.toml: .*>= 1.* at `\$\.groups`"):
        read_plan(file)
    file.write_text('env = "games/KuhnPoker-v0"\nlerning_rate = 1\n')
    with pytest.raises(InvalidOption, match="lerning_rate"):
        read_plan(file)
    with pytest.raises(InvalidOption, match="cannot read"):
        read_plan(tmp_path / "none.toml")


def test_no_model_folder_is_said_plainly(tmp_path):
    from palestra import ModelError

    with pytest.raises(ModelError, match=r"is not a model: there is no config\.json"):
        Learner(tmp_path)


def test_before_the_first_step_every_ratio_is_one(whole):
    """What the gradient reads is what was drawn, streams of unlike lengths in one batch."""
    batch = token_batch(whole.credited(whole.rollouts()))
    assert len(set(batch.attended.sum(1).tolist())) > 1
    with torch.no_grad():
        found, _ = logprobs_of(whole.model, batch, SMALL.temperature)
    apart = (found - batch.logprobs[:, 1:])[batch.sampled[:, 1:]]
    assert float(apart.abs().max()) < 1e-5


def test_seats_against_opponents_take_turns_and_self_play_takes_all(whole):
    records = whole.rollouts()
    starts = records[:: SMALL.group_size]
    assert [r.group for r in records] == [r.group for r in starts for _ in range(SMALL.group_size)]
    for number, record in enumerate(starts):
        own = [seat for seat, name in enumerate(record.agents) if name == "learner"]
        assert own in ([0, 1], [number % 2])


def test_siblings_that_tie_teach_nothing(tmp_path):
    trainer = Trainer(replace(SMALL, warm_up=LEGAL), tmp_path / "run")
    records = trainer.rollouts()
    for record in records:
        record.returns = (0.0, 0.0)
        for step in record.steps:
            step.rewards = {}
        for turn in record.turns:
            if turn.status != "forfeit":
                turn.refused = []
    advantages = {
        turn.advantage
        for trace in trainer.credited(records)
        for turn in trace.turns
        if not turn.refused
    }
    assert advantages == {0.0}


def test_an_answer_that_is_asked_for_again_has_the_price_of_a_refusal(tmp_path):
    plan = replace(SMALL, invalid="retry:2", refused=-0.75, warm_up=WarmUp(), self_play=1.0, seed=3)
    trainer = Trainer(plan, tmp_path / "run")  # a model that has learned nothing writes nonsense
    traces = trainer.credited(trainer.rollouts())
    refused = [turn for trace in traces for turn in trace.turns if turn.refused]
    assert any(turn.rewards for turn in refused)  # the last refusal lost the game
    unpaid = [turn for turn in refused if not turn.rewards]
    assert unpaid
    assert {turn.advantage for turn in unpaid} == {-0.75}


class Asked(Model):
    """Always bets, and keeps what it was asked."""

    name, abilities = "asked", frozenset({"raw"})

    def __init__(self):
        self.prompts = []

    def chat(self, requests):
        self.prompts += ["".join(m.content for m in request.messages) for request in requests]
        return [Reply(" bet") for _ in requests]


@pytest.mark.parametrize("history", ["bare", "position", "conversation"])
def test_a_warm_up_shows_the_prompts_that_a_learner_is_asked(history):
    model = Asked()
    agent = make_agent("llm", model=model, prompt="raw", history=history)
    records = palestra.play(SMALL.env, agents=[agent, agent], episodes=4, live=1)
    shown = list(rows(records, replace(SMALL, history=history)))
    assert ["".join(row.texts[:-1]) for row in shown] == model.prompts
    assert {row.reply for row in shown} == {" bet\n\n"}


def test_words_are_drawn_in_their_shares():
    chances = torch.log(torch.tensor([0.125, 0.0, 0.5, 0.375])).expand(800, 4)
    drawn = (torch.arange(800, dtype=torch.float64) + 0.5) / 800
    assert torch.bincount(_pick(chances, drawn), minlength=4).tolist() == [100, 0, 400, 300]


def test_a_penalty_is_for_leaving_the_policy_that_learning_began_from(tmp_path):
    plan = replace(SMALL, beta=0.1, learning_rate=3e-3, minibatch=7, warm_up=LEGAL)
    trainer = Trainer(plan, tmp_path / "run")
    began = trainer.model.weights()
    trainer.run()
    batch = token_batch(trainer.credited(trainer.rollouts()))
    found = trainer.updates[0].reference_logprobs(batch)
    sampled = batch.sampled[:, 1:]
    with torch.no_grad():
        now, _ = logprobs_of(trainer.model, batch, plan.temperature)
        trainer.model.load(began)
        then, _ = logprobs_of(trainer.model, batch, plan.temperature)
    assert torch.allclose(found[sampled], then[sampled], atol=1e-5)
    assert not torch.allclose(found[sampled], now[sampled], atol=1e-3)
    again = Trainer(plan, tmp_path / "run", resume=True)
    assert all(
        torch.equal(value, began[name]) for name, value in again.updates[0].reference.items()
    )
    assert again.updates[0].reference.keys() == began.keys()


def test_a_loss_that_is_not_a_number_stops_and_can_be_resumed_more_slowly(tmp_path):
    plan = replace(SMALL, past=0)
    trainer = Trainer(plan, tmp_path / "run")
    good = weights(trainer)
    with pytest.raises(TrainingStopped, match=r"the loss is nan at update 1 .*round 1; resume"):
        trainer.updates[0].learn(token_batch([broken()]), 0)
    again = Trainer(replace(plan, learning_rate=1e-5), tmp_path / "run", resume=True)
    assert all(torch.equal(value, good[name]) for name, value in weights(again).items())
    again.run()
    assert again.updates[0].optimiser.param_groups[0]["lr"] == 1e-5


def broken():
    """A trace whose credit no estimator should have given."""
    made = SeatTrace("games/X-v0", 1, 0, 0, "learner")
    made.ids, made.sampled, made.turn = [1, 2, 3], [False, True, True], [0, 0, 0]
    made.logprobs = [0.0, -0.5, -0.5]
    made.turns.append(TraceTurn(0, 1, 3, advantage=float("nan")))
    return made


def test_a_saved_model_is_the_model_and_leaves_no_drafts(whole, tmp_path):
    whole.model.save(tmp_path / "model")
    assert [file.name for file in tmp_path.iterdir()] == ["model"]
    again = Learner(tmp_path / "model")
    for name, value in weights(whole).items():
        assert torch.equal(value, again.net.state_dict()[name]), name


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on(tmp_path):
    """kill -9 in the middle of a run loses at most the rounds since the last checkpoint."""
    file = tmp_path / "run.toml"
    file.write_text(
        'env = "games/KuhnPoker-v0"\nrounds = 200\ngroups = 2\ngroup_size = 2\nmax_tokens = 4\n'
        "[tiny]\nlayers = 1\nwidth = 32\nheads = 2\ncontext = 128\n"
        "[evaluation]\nevery = 1\nepisodes = 2\n"
    )
    command = [sys.executable, "-m", "palestra", "train-llm", str(file), "--out", "run"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("round 3"):
            process.send_signal(signal.SIGKILL)
            break
    process.wait()
    process.stdout.close()
    trainer = Trainer(read_plan(file, rounds=5), tmp_path / "run", resume=True)
    assert trainer.round >= 2
    trainer.run()
    assert trainer.round == 5
    rounds = [int(line["round"]) for line in read_curve(tmp_path / "run" / "curve.csv")]
    assert rounds == [1, 2, 3, 4, 5]


def test_importance_weights_change_nothing_where_engine_and_trainer_agree(whole, tmp_path):
    trainer = Trainer(replace(SMALL, tis_cap=2.0), tmp_path / "run")
    trainer.run()
    assert [line.truncated for line in trainer.curve] == [0.0] * len(trainer.curve)
    assert whole.curve[-1].truncated is None
    for name, value in weights(whole).items():
        assert torch.allclose(value, weights(trainer)[name], atol=1e-4), name


def test_tokens_that_the_engine_drew_too_rarely_are_cut_to_the_cap(tmp_path):
    plan = replace(SMALL, tis_cap=2.0, warm_up=LEGAL, average="bnpo", epochs=1)
    (update,) = (trainer := Trainer(plan, tmp_path / "run")).updates
    batch = token_batch(trainer.credited(trainer.rollouts()))
    batch.logprobs[::2] -= 1.0  # its engine gave every other stream's tokens a share 1/e of ours
    cut = int(batch.sampled[::2].sum())
    sampled, found = update._sampled(batch)
    marks = batch.sampled[:, 1:]
    assert found == cut < int(marks.sum())
    assert torch.allclose(sampled.weights[::2][marks[::2]], torch.tensor(2.0))
    assert torch.allclose(sampled.weights[1::2][marks[1::2]], torch.tensor(1.0), atol=1e-3)
    learned = update.learn(batch, 0)
    assert (learned.tokens, learned.truncated) == (int(marks.sum()), cut)


def test_a_round_whose_games_end_before_the_learners_turn_teaches_nothing(tmp_path):
    plan = replace(
        SMALL,
        env="games/LiarsDice-v0",
        options={"num_players": 5, "dice": 1},  # the last seats often have no turn
        rounds=12,
        groups=1,
        group_size=1,
        self_play=0.0,
        past=0,
        tiny=TinyModel(layers=1, width=32, heads=2, context=1024),
    )
    trainer = Trainer(plan, tmp_path / "run")
    silent = [one for one in trainer.run() if one.tokens == 0]
    assert silent
    assert [(one.episodes, one.loss, one.ratio) for one in silent] == [(1, 0.0, 1.0)] * len(silent)
