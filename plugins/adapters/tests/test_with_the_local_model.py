"""The real embedded model behind the adapters, playing real games."""

from __future__ import annotations

import palestra
import pytest
from palestra.agents.models import exchanges
from palestra.records.trace import trace_seats
from palestra_adapters.talks import settle

pytestmark = pytest.mark.slow


def test_react_thinks_and_plays_a_hand_of_kuhn_poker() -> None:
    agent = "react:llm:local:,max_tokens=24,context=1024,keep_tokens=true"
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "random"])[0]
    own = [turn for turn in record.turns if turn.seat == 0]
    assert all(turn.thought and turn.usage.calls == 2 for turn in own)
    assert all(turn.usage.tokens_out > 0 and turn.logprob is not None for turn in own)
    assert not sum(record.mistakes)
    for turn in own:
        replies = exchanges(turn)
        assert len(replies) == turn.usage.calls
        assert sum(len(one.prompt) for one in replies) == turn.usage.tokens_in
        assert sum(len(one.reply) for one in replies) == turn.usage.tokens_out
    assert sum(len(trace.turns) for trace in trace_seats(record)) == 2 * len(own)
    palestra.replay(record)


@pytest.mark.exhaustive
def test_tree_search_plays_tic_tac_toe() -> None:
    agent = "treesearch:local:,expansions=2,width=2,depth=2,others=random,context=1024"
    record = palestra.play("games/TicTacToe-v0", agents=[agent, "random"])[0]
    own = [turn for turn in record.turns if turn.seat == 0]
    assert own[0].usage.calls > 2  # proposals and grades
    assert not sum(record.mistakes)
    palestra.replay(record)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize(
    ("agent", "said"),
    [("score:local:,", 2), ("malt:local:,branches=1,", 3), ("comas:local:,size=3,", 9)],
)
def test_talks_of_a_real_model_are_settled_in_the_game(agent: str, said: int) -> None:
    settings = "max_tokens=24,context=2048"
    records = palestra.play("games/KuhnPoker-v0", agents=[f"{agent}{settings}", "random"])
    talks = settle(records)
    assert [len(talk.turns) for talk in talks] == [said] * len(talks)
    for record in records:
        palestra.replay(record)
        own = [turn for turn in record.turns if turn.seat == 0]
        spent = sum(turn.usage.tokens_out for talk in talks for turn in talk.turns)
        assert spent == sum(turn.usage.tokens_out for turn in own) > 0
    assert all(-2 <= worth <= 2 for talk in talks for worth in talk.tags["process"])


@pytest.mark.exhaustive
def test_a_real_model_is_led_tasked_and_directed() -> None:
    settings = "max_tokens=24,context=2048"
    agent = f"navigator:llm:local:,share=1,{settings}"
    records = palestra.play("games/KuhnPoker-v0", agents=[agent, "random"], episodes=2, live=1)
    assert [record.turns[0].facts["led"] for record in records] == [False, True]
    agent = f"directed:llm:local:,terms=pot+nerve,{settings}"
    (record,) = palestra.play("games/KuhnPoker-v0", agents=[agent, "random"])
    assert set(record.turns[0].facts["direction"]) == {"pot", "nerve"}
