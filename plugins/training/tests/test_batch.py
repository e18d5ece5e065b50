"""Traces as tensors, and what traces are refused."""

import pytest
from palestra import InvalidOption
from palestra.records.trace import SeatTrace, TraceTurn, check_trace
from palestra_training.batch import token_batch


def trace(seat, prompt, *replies, advantages=None):
    """A stream of a prompt and then replies, two tokens of question between them."""
    made = SeatTrace("games/X-v0", 1, 0, seat, "learner")
    for place, reply in enumerate(replies):
        new = prompt if place == 0 else [90, 91]
        start = len(made.ids) + len(new)
        made.ids += [*new, *reply]
        made.sampled += [False] * len(new) + [True] * len(reply)
        made.logprobs += [0.0] * len(new) + [-0.5 - place] * len(reply)
        made.turn += [place] * (len(new) + len(reply))
        made.turns.append(TraceTurn(place, start, len(made.ids), policy=str(3 + place)))
        if advantages:
            made.turns[-1].advantage = advantages[place]
    check_trace(made)
    return made


def test_streams_of_unlike_lengths_are_padded():
    batch = token_batch(
        [
            trace(0, [1, 2, 3], [4], [5, 6], advantages=[1.0, -2.0]),
            trace(2, [7], [8, 9], advantages=[0.25]),
        ]
    )
    assert batch.ids.tolist() == [[1, 2, 3, 4, 90, 91, 5, 6], [7, 8, 9, 0, 0, 0, 0, 0]]
    assert batch.attended.sum(1).tolist() == [8, 3]
    assert batch.advantages.tolist() == [[0, 0, 0, 1, 0, 0, -2, -2], [0, 0.25, 0.25] + [0] * 5]
    assert batch.logprobs[0].tolist() == [0, 0, 0, -0.5, 0, 0, -1.5, -1.5]
    assert batch.turn.tolist() == [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0] + [-1] * 5]
    assert batch.seat.tolist() == [0, 2]
    assert batch.version.tolist() == [3, 3]
    import torch

    short = batch.rows(torch.tensor([1]))
    assert short.ids.tolist() == [[7, 8, 9]]
    assert short.seat.tolist() == [2]


def test_what_cannot_be_learned_from_is_named():
    with pytest.raises(InvalidOption, match="step 0 of seat 1 of episode 0 has no advantage"):
        token_batch([trace(1, [1], [2])])
    with pytest.raises(InvalidOption, match="has 4 tokens, more than 3"):
        token_batch([trace(1, [1, 2, 3], [2], advantages=[1])], longest=3)
    with pytest.raises(InvalidOption, match="no traces"):
        token_batch([])


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("logprobs", [0.0, 0.0, -0.5, 0.4], "above 0 or not finite"),
        ("logprobs", [0.0, 0.0, float("nan"), -0.5], "above 0 or not finite"),
        ("logprobs", [0.0], "4 ids, 4 marks, 1 log-probabilities"),
        ("sampled", [False, True, True, True], "no reply holds"),
        ("turn", [0, 1, 0, 0], "goes back in turns"),
        ("ids", [1, -2, 3, 4], "negative token id"),
        ("turns", [TraceTurn(0, 2, 9)], "overlap or lie outside"),
    ],
)
def test_a_trace_that_no_engine_made_is_refused(field, value, message):
    made = trace(0, [1, 2], [3, 4])
    setattr(made, field, value)
    with pytest.raises(InvalidOption, match=message):
        check_trace(made)
