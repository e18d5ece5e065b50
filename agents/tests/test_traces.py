"""Exact tokens of a seat: nothing is put into tokens twice, whatever the model writes."""

import itertools

import palestra
import pytest
from palestra import EpisodeRecord, Usage
from palestra.agents.models import Tokens
from palestra.records.record import StepRecord, TurnRecord
from palestra.records.trace import trace_seats
from palestra_agents.models.local import LocalModel


@pytest.fixture(scope="module")
def model():
    return LocalModel()


def play(model, env, invalid="random", **options):
    from palestra_agents.llm.agent import LLMAgent

    agent = LLMAgent(model=model, keep_tokens=True, temperature=1.0, seed=3, **options)
    game = palestra.game(env)
    seats = [agent, *["random"] * (game.num_players - 1)]
    return palestra.play(
        env, agents=seats, episodes=1, seed=1, invalid=invalid, max_episode_steps=7
    )


@pytest.mark.parametrize(("prompt", "mode"), [("chat", "free"), ("raw", "choice"), ("raw", "free")])
def test_every_turn_goes_on_from_the_exact_tokens_of_the_one_before(model, prompt, mode):
    for record in play(model, "games/TicTacToe-v0", prompt=prompt, mode=mode, max_tokens=9):
        (trace,) = trace_seats(record)
        said = []
        for turn in record.turns:
            if turn.seat == 0:
                said += [attempt.tokens for attempt in turn.refused]
                said += [turn.tokens] if turn.status in ("ok", "retried") else []
        assert len(trace.turns) == len(said) > 2
        known = ()
        for tokens in said:
            assert tokens.prompt[: len(known)] == known
            known = (*tokens.prompt, *tokens.reply)
        assert tuple(trace.ids) == known
        text = model._claim.loaded.tokenizer.decode(trace.ids)
        if prompt == "chat":
            assert text.count("<|im_start|>assistant\n") == len(trace.turns)
            assert "<|im_end|><|im_end|>" not in text
            assert text.count("<|im_end|>") + (text.endswith("<|im_end|>") is False) == text.count(
                "<|im_start|>"
            )


def test_a_trace_holds_what_each_turn_was_paid_and_what_was_refused(model):
    records = play(model, "games/TicTacToe-v0", invalid="retry:1", max_tokens=4)
    for record in records:
        (trace,) = trace_seats(record)
        assert sum(turn.reward for turn in trace.turns) == pytest.approx(record.returns[0])
        assert all(turn.reward == 0 for turn in trace.turns[:-1])
        assert [turn.refused for turn in trace.turns].count(True) == record.mistakes[0]


def test_a_conversation_that_is_cut_forks_and_says_so():
    model = LocalModel(context=260)
    (record,) = play(model, "games/TicTacToe-v0", mode="choice")
    traces = trace_seats(record)
    assert len(traces) > 1
    assert [trace.fork for trace in traces] == list(range(len(traces)))
    assert all(0 < trace.common < len(before) for before, trace in itertools.pairwise(traces))


def test_log_probabilities_equal_a_fresh_forward_pass(model):
    import torch

    (record,) = play(model, "games/TicTacToe-v0", max_tokens=6)
    (trace,) = trace_seats(record)
    with torch.inference_mode():
        logits = model._claim.loaded.net(torch.tensor([trace.ids])).logits[0].float()
    fresh = torch.log_softmax(logits, -1)
    for place, (token, sampled) in enumerate(zip(trace.ids, trace.sampled, strict=True)):
        if sampled:
            assert float(fresh[place - 1, token]) == pytest.approx(trace.logprobs[place], abs=1e-3)


def test_replies_before_the_last_are_unpaid_and_a_move_without_a_reply_pays_the_one_before():
    first, second = Tokens((1, 2), (3,), (-1.0,)), Tokens((1, 2, 3, 4), (5,), (-2.0,))
    asked = Usage(calls=2)
    turns = [
        TurnRecord(0, 0, earlier=(first,), tokens=second, usage=asked),
        TurnRecord(0, 0),  # a step of the plan that the reply before made
        TurnRecord(0, 0, tokens=Tokens((7,), (8, 9), (-1.0, -1.0)), usage=asked),
    ]
    steps = [
        StepRecord([turn], {0: {"payoff": paid}})
        for turn, paid in zip(turns, (1.0, 2.0, 4.0), strict=True)
    ]
    record = EpisodeRecord("games/X-v0", 1, ("a", "b"), steps=steps)
    one, other = trace_seats(record)
    assert one.ids == [1, 2, 3, 4, 5]
    assert one.sampled == [False, False, True, False, True]
    assert [(turn.step, turn.reward) for turn in one.turns] == [(0, 0.0), (0, 3.0)]
    assert [(turn.step, turn.reward) for turn in other.turns] == [(2, 4.0)]
    assert (other.fork, other.common) == (1, 0)
    turns[1].usage = asked  # a model was asked, and its tokens were not kept
    with pytest.raises(palestra.InvalidOption, match="tokens in some answers only"):
        trace_seats(record)
