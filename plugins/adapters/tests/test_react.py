"""ReAct, and what every adapter shares: shared calls, sums of usage, budgets, full contexts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import palestra
import pytest
from adapter_worlds import Free, last, trail
from palestra import Budget, InvalidOption, ModelError, UnknownName
from palestra.agents.models import Reply, Request
from palestra.kernel.errors import UnknownOption
from palestra.llm.prices import price_table
from palestra.testing import ScriptedModel
from palestra_adapters.actre import ActRe
from palestra_adapters.react import ReAct, read_steps


def thinks_then_bets(request: Request) -> str:
    return "bet" if request.choices else "Thought: a king wins.\nAction: pass"


def test_the_thought_is_kept_apart_from_the_move() -> None:
    agent = ReAct(model=ScriptedModel(thinks_then_bets))
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"])[0]
    assert record.turns[0].text == "bet"
    assert record.turns[0].thought == "a king wins."


def test_an_option_that_the_agent_does_not_have_is_refused_beside_an_open_model() -> None:
    with pytest.raises(InvalidOption, match="react has no option 'depht'"):
        ReAct(model=ScriptedModel("x"), depht=3)


def test_all_turns_share_one_call_a_round() -> None:
    model = ScriptedModel(thinks_then_bets)
    agent = ReAct(model=model)
    palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=40)
    assert model.calls == [40, 40, 40, 40]  # two decisions a game, a thought and a move each


def test_usage_of_every_call_is_summed() -> None:
    model = ScriptedModel(thinks_then_bets)
    records = palestra.play("games/KuhnPoker-v0", agents=[ReAct(model=model)] * 2, episodes=3)
    turns = [turn for record in records for turn in record.turns]
    assert sum(turn.usage.calls for turn in turns) == len(model.requests)
    read = sum(len(m.content.split()) for request in model.requests for m in request.messages)
    assert sum(turn.usage.tokens_in for turn in turns) == read


def test_without_holding_one_reply_is_thought_and_move() -> None:
    model = Free("Thought: bold.\nAction: bet\nObservation: none")
    record = palestra.play("games/KuhnPoker-v0", agents=[ReAct(model=model), "first"])[0]
    assert (record.turns[0].text, record.turns[0].thought) == ("bet", "bold.")
    assert len(model.requests) == len([turn for turn in record.turns if turn.seat == 0])


def test_prompts_only_ever_grow_and_hold_the_thoughts() -> None:
    model = Free("Thought: the middle first.\nAction: 5")
    replies = iter("539146728")
    model._answer = lambda _: f"Thought: next.\nAction: {next(replies)}"
    agent = ReAct(model=model)
    palestra.play("games/TicTacToe-v0", agents=[agent, agent], invalid="random")
    by_seat: dict[str, list[Request]] = {}
    for request in model.requests:
        by_seat.setdefault(request.messages[1].content.split("\n")[0], []).append(request)
    for requests in by_seat.values():
        for earlier, later in pairwise(requests):
            assert later.messages[: len(earlier.messages)] == earlier.messages
            assert "Thought: next." in later.messages[len(earlier.messages)].content


def test_a_refused_move_is_asked_again_with_the_reason() -> None:
    lines = iter(["Action: raise", "Action: bet", "Action: bet"])
    model = Free(lambda _: next(lines))
    record = palestra.play("games/KuhnPoker-v0", agents=[ReAct(model=model), "first"])[0]
    assert "refused" in last(model.requests[1])
    assert record.mistakes == (1, 0)
    assert record.turns[0].status == "retried"


@pytest.mark.parametrize(
    ("text", "thought", "move"),
    [
        ("Thought: hm\nAction: 4", "hm", "4"),
        ("Action: 4", "", "4"),
        ("4", "4", "4"),
        ("Thought: Action: is near\nAction: 5\nmore", "Action: is near", "5"),
        ("", "", ""),
    ],
)
def test_thought_and_action_are_read(text: str, thought: str, move: str) -> None:
    assert read_steps(text) == (thought, move)


def test_a_budget_stops_between_the_thought_and_the_move() -> None:
    agent = ReAct(model=ScriptedModel(thinks_then_bets))
    agent.name = "react"
    records = palestra.play(
        "games/KuhnPoker-v0", agents=[agent, "first"], budgets={"react": Budget(calls=1)}
    )
    assert records[0].outcome is not None
    assert records[0].outcome.results == ("forfeit", "win")
    assert "budget of calls" in records[0].outcome.reason


class Narrow(Free):
    """Reads so many words at most."""

    room = 150

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies = super().chat(requests)
        words = [sum(len(m.content.split()) for m in r.messages) for r in requests]
        return [
            Reply("", overflow=True) if many > self.room else reply
            for many, reply in zip(words, replies, strict=True)
        ]


def test_a_full_context_drops_the_oldest_exchanges() -> None:
    steps = {f"p{i}": {f"p{i + 1}": 1.0} for i in range(15)}
    line = "Thought: on.\nAction: Go(to='p{}')"
    model = Narrow(lambda r: line.format(int(last(r).split("at p")[1].split(",")[0]) + 1))
    record = palestra.play(trail(steps, start="p0"), agents=[ReAct(model=model)])[0]
    assert len(record.turns) == 15
    assert any(request.messages[1].role == "user" for request in model.requests)
    model.room = 5
    with pytest.raises(ModelError, match="do not fit the context"):
        palestra.play(trail(steps, start="p0"), agents=[ReAct(model=model)])


def test_money_follows_the_price_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('["scripted"]\nin = 1_000_000\nout = 0\n')
    monkeypatch.setenv("PALESTRA_PRICES", str(table))
    price_table.cache_clear()
    agent = ReAct(model=ScriptedModel(thinks_then_bets))
    turn = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"])[0].turns[0]
    assert turn.usage.cost == turn.usage.tokens_in > 0


def test_set_up_errors_are_explained() -> None:
    with pytest.raises(InvalidOption, match="react needs a model: react:local:"):
        palestra.make_agent("react")
    with pytest.raises(UnknownName, match="model scheme 'ecco'"):
        palestra.make_agent("react:llm:ecco:")
    with pytest.raises(UnknownOption, match="unexpected keyword argument 'hold'"):
        palestra.make_agent("react:echo:,hold=true")
    with pytest.raises(InvalidOption, match="held=true is not possible"):
        ReAct(model=Free(""), held=True)


def test_it_is_named_in_a_string_with_or_without_llm() -> None:
    for name in ("react:llm:echo:", "react:echo:,prompt=raw"):
        record = palestra.play("games/KuhnPoker-v0", agents=[name, "random"])[0]
        assert not sum(record.mistakes)


# ActRe


def explained(request: Request) -> str:
    """Chooses the middle, and explains whatever it is asked to explain."""
    text = last(request)
    if "You will play" in text:
        move = text.rpartition("You will play ")[2].partition(" now")[0]
        return f"Thought: because of {move}."
    return "Thought: the middle.\nAction: 5"


@pytest.mark.parametrize(("explore", "modes"), [(0.0, {"chosen"}), (1.0, {"drawn"})])
def test_moves_are_drawn_in_the_share_that_was_asked_for(explore: float, modes: set[str]) -> None:
    agent = ActRe(model=Free(explained), explore=explore, seed=1)
    record = palestra.play(
        "games/TicTacToe-v0", agents=[agent, "random"], seed=3, invalid="random"
    )[0]
    own = [turn for turn in record.turns if turn.seat == 0 and turn.status == "ok"]
    assert own
    assert {turn.facts["mode"] for turn in own} == modes
    for turn in own:
        if turn.facts["mode"] == "drawn":
            assert turn.thought == f"because of {turn.text}."
            assert turn.raw == f"Thought: because of {turn.text}.\nAction: {turn.text}"


def test_a_quarter_is_drawn_evenly_from_the_legal_moves() -> None:
    agent = ActRe(model=Free(explained), explore=0.25)
    records = palestra.play(
        "games/TicTacToe-v0", agents=[agent, "random"], episodes=400, max_episode_steps=1
    )
    first = [record.turns[0] for record in records]
    drawn = [turn.text for turn in first if turn.facts["mode"] == "drawn"]
    assert len(drawn) == pytest.approx(100, abs=4 * 8.7)  # of a binomial
    assert {*drawn} == set("123456789")


def test_nobody_reads_later_that_a_move_was_drawn() -> None:
    model = Free(explained)
    agent = ActRe(model=model, explore=1.0)
    palestra.play("games/TicTacToe-v0", agents=[agent, agent], seed=2)
    for request in model.requests:
        earlier = [message.content for message in request.messages[:-1]]
        assert not any("You will play" in text for text in earlier)
        assert "You will play" in last(request)
    longest = max(model.requests, key=lambda request: len(request.messages))
    said = [m.content for m in longest.messages if m.role == "assistant"]
    assert said
    assert all(text.startswith("Thought: because of ") and "\nAction: " in text for text in said)
