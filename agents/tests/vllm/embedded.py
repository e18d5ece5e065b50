"""The embedded model in vLLM: a real model, real games."""

from __future__ import annotations

import palestra
import pytest
from common import play
from palestra import InvalidOption
from palestra.agents.models import Message, Request
from palestra_agents.models.vllm import VLLMModel
from palestra_agents.models.weights import embedded_model


@pytest.fixture(scope="module")
def small() -> VLLMModel:
    return VLLMModel(target=str(embedded_model()), max_model_len=2048, max_num_seqs=16)


def test_the_embedded_model_weighs_a_certain_continuation_first(small: VLLMModel) -> None:
    start = (Message("user", "1, 2, 3, 4, 5, 6, 7, 8, 9,"),)
    moves = (" 4", " 10", " left")
    scores = small.chat([Request(start, raw=True, score=moves)])[0].scores
    assert max(scores, key=lambda score: score.mean) is scores[1]


@pytest.mark.parametrize("mode", ["free", "choice", "score"])
@pytest.mark.parametrize(
    ("env", "players"),
    [("games/ConnectFour-v0", 2), ("games/KuhnPoker-v0", 2), ("text/Negotiation-v0", 2)],
)
def test_the_embedded_model_plays_a_real_game(
    small: VLLMModel, env: str, players: int, mode: str
) -> None:
    if mode == "score" and env.startswith("text/"):
        with pytest.raises(InvalidOption, match="mode=score weighs listed moves"):
            play(env, small, players, mode)
        return
    record = play(env, small, players, mode, invalid="random", max_episode_steps=4)[0]
    palestra.replay(record)
    assert mode == "free" or not sum(record.mistakes)
