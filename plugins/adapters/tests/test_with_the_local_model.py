"""The real embedded model behind the adapters, playing real games."""

from __future__ import annotations

import palestra
import pytest

pytestmark = pytest.mark.slow


def test_react_thinks_and_plays_a_hand_of_kuhn_poker() -> None:
    agent = "react:llm:local:,max_tokens=24,context=1024"
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "random"])[0]
    own = [turn for turn in record.turns if turn.seat == 0]
    assert all(turn.thought and turn.usage.calls == 2 for turn in own)
    assert all(turn.usage.tokens_out > 0 and turn.logprob is not None for turn in own)
    assert not sum(record.mistakes)
    palestra.replay(record)


def test_tree_search_plays_tic_tac_toe() -> None:
    agent = "treesearch:local:,expansions=2,width=2,depth=2,others=random,context=1024"
    record = palestra.play("games/TicTacToe-v0", agents=[agent, "random"])[0]
    own = [turn for turn in record.turns if turn.seat == 0]
    assert own[0].usage.calls > 2  # proposals and grades
    assert not sum(record.mistakes)
    palestra.replay(record)
