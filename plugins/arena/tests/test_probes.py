"""Probes asked of respondents whose behaviour is known."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidOption, Turn, UnknownName
from palestra.agents.models import Model, Reply, Request
from palestra.cli import main as program
from palestra.kernel.rng import Rng
from palestra.llm.tool_calls import MoveTools
from palestra_agents.llm.agent import LLMAgent
from palestra_arena.probes import (
    Item,
    ProbeSet,
    Question,
    Respondent,
    ask,
    order_effect,
    overview,
    questions_of,
    read_set,
    shares_of,
    write_set,
)
from palestra_arena.probes.asking import Choices, Replies
from palestra_arena.probes.items import orders_of
from palestra_arena.probes.tables import cell_text
from palestra_arena.trust.judges import audit_order


def main(arguments: list[str]) -> int:
    """The exit code of the program."""
    with pytest.raises(SystemExit) as ended:
        program(arguments)
    return int(ended.value.code or 0)


FRUIT = ProbeSet(
    "fruit",
    (
        Item("one", "What do you eat?", ("an apple", "a pear"), group="eat"),
        Item("two", "What do you buy?", ("a plum", "a fig", "a date"), group="buy"),
        Item("three", "Do you like figs?", ("yes", "no"), style="words", group="like"),
    ),
)


def last_in_the_item(question: Question, rng: Rng, system: str) -> int:
    return len(question.item.options) - 1


@pytest.mark.parametrize("options", [2, 3, 5])
def test_every_option_is_listed_in_every_place_as_often(options: int) -> None:
    orders = orders_of(Item("i", "?", tuple(f"option {i}" for i in range(options))))
    for place in range(options):
        assert sorted(order[place] for order in orders) == list(range(options))


def test_a_scale_is_shown_forwards_and_backwards() -> None:
    assert orders_of(Item("i", "?", ("10", "20", "30"), scale=True)) == ((0, 1, 2), (2, 1, 0))


def test_more_samples_only_add_questions_at_the_end() -> None:
    few, many = (questions_of(FRUIT.items, samples) for samples in (1, 3))
    assert len(few) == 2 + 3 + 2
    assert many[: len(few)] == few
    assert len(many) == 3 * len(few)


class Listener(Model):
    """Keeps what it is asked, and says B."""

    abilities = frozenset({"choices", "raw"})

    def __init__(self) -> None:
        self.name, self.heard = "listener", []

    def chat(self, requests: Any) -> list[Reply]:
        self.heard += requests
        return [Reply("B") for _ in requests]

    heard: list[Request]


def test_a_model_reads_the_question_and_nothing_else() -> None:
    model = Listener()
    ask(FRUIT, LLMAgent(model=model))
    talks = [[(m.role, m.content) for m in request.messages] for request in model.heard]
    assert talks[1] == [
        (
            "user",
            "What do you eat?\n\nA: a pear\nB: an apple\n\nAnswer with A or B only.",
        )
    ]
    assert talks[2][0][1].endswith("A: a plum\nB: a fig\nC: a date\n\nAnswer with A, B or C only.")
    assert talks[6] == [("user", "Do you like figs?\n\nAnswer with one of these only: no, yes.")]


def test_the_system_prompt_of_an_arm_is_all_that_differs_between_arms() -> None:
    model = Listener()
    arms = {"plain": "", "hungry": "You are hungry."}
    ask(ProbeSet("fruit", FRUIT.items[:1], arms), LLMAgent(model=model))
    plain, hungry = model.heard[:2], model.heard[2:]
    assert [request.messages[0].content for request in hungry] == ["You are hungry."] * 2
    assert [r.messages[1:] for r in hungry] == [r.messages for r in plain]


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        ("A", 0),
        ("b", 1),
        ("I like apples.\nAnswer: B", 1),
        ("**B**", 1),
        ("A: an apple", 0),
        ("a pear", 1),
        ("My choice is: an apple.", 0),
        ("A or B", None),
        ("I cannot decide for you.", None),
        ("<think>A</think>B", 1),
        ("A pear would be better than A", None),
        ("", None),
    ],
)
def test_an_answer_is_what_is_stated(said: str, chosen: int | None) -> None:
    answers = ask(ProbeSet("fruit", FRUIT.items[:1]), Respondent(lambda q, rng, system: said))
    assert answers[0].order == (0, 1)
    assert answers[0].chosen == chosen
    assert answers[0].refused == (chosen is None)


def test_refusals_are_counted_apart_and_leave_no_share() -> None:
    def shy(question: Question, rng: Rng, system: str) -> int | None:
        return None if question.order == (1, 0) else 0

    answers = ask(FRUIT, Respondent(shy))
    one, two, three = shares_of(answers)
    assert (one.answers, one.refused) == (1, 1)
    assert str(one.first) == "nan"  # the effect of order cannot be removed: no share
    assert two.options == pytest.approx((1, 0, 0))
    assert order_effect([one, three]) is None
    table = overview(answers)
    assert table.value("all", "refused") == pytest.approx((2 / 7, 0.0822, 0.6411), abs=1e-3)


def test_a_respondent_that_takes_the_first_shows_it_and_the_swap_removes_it() -> None:
    shares = shares_of(ask(FRUIT, "first"))
    effect = order_effect(shares)
    assert effect is not None
    assert effect.difference.value == pytest.approx((1 / 2 + 2 / 3 + 1 / 2) / 3)
    assert [one.options for one in shares] == [
        pytest.approx((1 / len(one.item.options),) * len(one.item.options)) for one in shares
    ]


def test_a_respondent_that_does_not_look_at_the_order_has_an_effect_of_exactly_0() -> None:
    shares = shares_of(ask(FRUIT, Respondent(last_in_the_item)))
    effect = order_effect(shares)
    assert effect is not None
    assert [effect.difference.value, effect.p_value] == pytest.approx([0, 1])
    assert [one.options[-1] for one in shares] == [1, 1, 1]


def test_partial_bias_is_measured_by_hand() -> None:
    """Of 20 items, 5 are decided by the place and 15 by content: 5/20 of 0.5."""
    items = tuple(Item(f"i{n}", "Which?", ("left one", "right one")) for n in range(20))

    def partly(question: Question, rng: Rng, system: str) -> int:
        return question.order[0] if int(question.item.id[1:]) < 5 else 1

    answers = ask(ProbeSet("half", items), Respondent(partly))
    effect = order_effect(shares_of(answers))
    assert effect is not None
    assert effect.difference.value == pytest.approx(0.125)
    by_order = {
        order: [a.chosen for a in answers if a.order == order] for order in ((0, 1), (1, 0))
    }
    audit = audit_order(by_order[0, 1], by_order[1, 0])
    assert (audit.consistent.value, audit.first_chosen.value) == (0.75, 1)


def test_weights_of_scored_options_are_turned_back_to_the_item() -> None:
    answers = ask(FRUIT, "llm:echo:B,mode=score")
    pair = [a for a in answers if a.item.id == "one"]
    assert [a.chosen for a in pair] == [1, 0]
    assert [sum(a.weights) for a in pair] == pytest.approx([1, 1])
    assert pair[0].weights == pytest.approx(pair[1].weights[::-1])
    assert pair[0].weights[1] > 0.5


class Killed(KeyboardInterrupt):
    """The process ends here."""


def test_a_killed_run_resumes_with_what_is_missing(tmp_path: Path) -> None:
    asked: list[str] = []

    def mortal(question: Question, rng: Rng, system: str) -> int:
        if len(asked) == 4:
            raise Killed
        asked.append(question.item.id)
        return rng.below(len(question.order))

    def steady(question: Question, rng: Rng, system: str) -> int:
        asked.append(question.item.id)
        return rng.below(len(question.order))

    whole = ask(FRUIT, Respondent(steady, "coin"))
    asked.clear()
    with pytest.raises(Killed):
        ask(FRUIT, Respondent(mortal, "coin"), tmp_path, live=1)
    resumed = ask(FRUIT, Respondent(steady, "coin"), tmp_path, resume=True)
    assert len(asked) == 7
    assert [a.chosen for a in resumed] == [a.chosen for a in whole]
    more = ask(FRUIT, Respondent(steady, "coin"), tmp_path, resume=True, samples=2)
    assert len(asked) == 14
    assert [a.chosen for a in more[:7]] == [a.chosen for a in whole]


def test_a_question_that_ends_in_an_error_is_missing_and_asked_again(tmp_path: Path) -> None:
    broken = True

    def breaks(question: Question, rng: Rng, system: str) -> int:
        if broken and question.item.id == "three":
            raise RuntimeError("no line")
        return 0

    with pytest.warns(RuntimeWarning, match="2 of 7 questions"):
        assert len(ask(FRUIT, Respondent(breaks), tmp_path)) == 5
    broken = False
    assert len(ask(FRUIT, Respondent(breaks), tmp_path, resume=True)) == 7


def test_an_agent_that_cannot_answer_questions_is_refused() -> None:
    with pytest.raises(InvalidOption, match="it needs deals"):
        ask(FRUIT, "cfr")


def test_a_folder_is_not_resumed_with_another_set(tmp_path: Path) -> None:
    ask(FRUIT, "first", tmp_path)
    other = ProbeSet("fruit", FRUIT.items[:2])
    with pytest.raises(InvalidOption, match="other options"):
        ask(other, "first", tmp_path, resume=True)
    with pytest.raises(InvalidOption, match="resume=True"):
        ask(FRUIT, "first", tmp_path)


def test_answers_are_the_same_on_every_run_and_differ_between_questions() -> None:
    items = tuple(Item(f"i{n}", "Heads or tails?", ("heads", "tails")) for n in range(40))
    runs = [[a.chosen for a in ask(ProbeSet("c", items), "random")] for _ in range(2)]
    assert runs[0] == runs[1]
    assert 20 < Counter(runs[0])[0] < 60


@pytest.mark.parametrize(
    ("items", "what"),
    [
        ((), "no items"),
        ((Item("a", "?", ("x", "y")), Item("a", "?")), "several items"),
        ((Item("a", "?", ("x",)),), "two or more"),
        ((Item("a", "?", ("Yes ", "yes")),), "two or more"),
        ((Item("a", "?", ("b", "no")),), "letter of the list"),
    ],
)
def test_a_set_that_could_not_be_read_is_refused(items: tuple[Item, ...], what: str) -> None:
    with pytest.raises(InvalidOption, match=what):
        ProbeSet("broken", items)


def test_a_set_is_data(tmp_path: Path) -> None:
    file = write_set(FRUIT, tmp_path / "fruit.json")
    assert read_set(file) == FRUIT
    assert read_set(file).digest == FRUIT.digest


def test_unknown_arms_and_no_samples_are_refused() -> None:
    with pytest.raises(UnknownName, match="arm of fruit"):
        ask(FRUIT, "first", arms=["steered"])
    with pytest.raises(InvalidOption, match="samples"):
        ask(FRUIT, "first", samples=0)


def test_usage_of_refused_answers_is_kept() -> None:
    answers = ask(FRUIT, "llm:echo:I would rather not", invalid="retry:1")
    assert [a.usage.calls for a in answers] == [2] * 7
    assert all(a.refused and a.text == "I would rather not" for a in answers)
    spent = sum(a.usage.tokens for a in answers)
    assert overview(answers).value("all", "tokens") == spent
    assert spent >= 7 * 2 * 4  # four words said twice to each question, and what was read


def test_a_number_that_is_not_known_is_a_dash() -> None:
    assert cell_text(palestra.Interval(0.25, float("nan"), 12345.6)) == "0.250 [–, 1.235e+04]"
    assert cell_text(-0.0001) == "0.000"


def test_the_command_asks_resumes_and_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = write_set(FRUIT, tmp_path / "fruit.json"), tmp_path / "out"
    asked = ["probe", str(file), "--model", "first,llm:echo:A", "--out", str(out)]
    assert main(asked) == 0
    assert "listed first" in capsys.readouterr().out
    result = json.loads((out / "probe.json").read_text("utf-8"))
    assert set(result["agents"]) == {"first", "llm:echo:A"}
    assert "What" not in (out / "probe.html").read_text("utf-8")
    assert main(asked) != 0
    assert "holds a run already" in capsys.readouterr().err
    assert main([*asked, "--resume"]) == 0
    assert main(["probe", "--list"]) == 0
    assert "cash-or-comfort" in capsys.readouterr().out
    assert main(["probe", str(file), "--show"]) == 0
    assert "A: an apple" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["cash-or-comford", "--model", "first"], "did you mean 'cash-or-comfort'"),
        (["cash-or-comfort"], "say who is asked"),
        (["cash-or-comfort", "-o", "price=3", "--model", "first"], "does not take these options"),
        (["world-models", "--model", "first", "--judge", "first"], "needs no judge"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["probe", *arguments]) != 0
    assert what in " ".join(capsys.readouterr().err.split())


def test_a_question_is_answered_by_a_call_of_a_tool() -> None:
    items = (Item("a", "Is it?", ("sure", "never", "perhaps")), Item("b", "Why?"))
    probes = ProbeSet("two", items)
    choice = Turn(Episode(Choices.of(probes, "plain", 1), seed=0), 0)
    (tool,) = MoveTools(choice).tools
    assert tool.parameters["properties"]["move"]["enum"] == choice.legal_texts
    assert MoveTools(choice).action("play", {"move": choice.legal_texts[2]}) == 2
    free = MoveTools(Turn(Episode(Replies.of(probes, "plain", 1), seed=0), 0))
    assert free.text("Reply", {"text": "Because."}) == "Because."
    assert free.action("Reply", {"text": "Because."}) == Replies.action_types[0]("Because.")
