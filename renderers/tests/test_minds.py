"""What the page tells of the seats' minds: prompts as the models got them, answers, traces."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import palestra
import pytest
from palestra import Decision, EpisodeRecord, Usage
from palestra.agents.models import Ability, Message, Model, Reply, Request
from palestra_agents.llm.agent import LLMAgent
from palestra_renderers.html import export, page_data


class Recorder(Model):
    """Keeps what it is asked; plays a listed move, but babbles at every third request."""

    abilities: ClassVar[frozenset[Ability]] = frozenset({"raw"})

    def __init__(self, said: Sequence[str]) -> None:
        self.name, self.got, self._said = "recorder", list[Request](), said

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Reply:
        self.got.append(request)
        number = len(self.got)
        text = f"mumble {number}" if number % 3 == 0 else self._said[number % len(self._said)]
        thought = f"<think>thinking {number}</think>" if number % 2 else ""
        used = Usage(tokens_in=10 * number, tokens_out=3, calls=1, cost=0.5, seconds=0.25)
        return Reply(f"{thought}{text}", used, logprob=-number / 8, model="recorder-1")


def played(options: str, *, env: str, said: Sequence[str], **settings: Any) -> tuple[Any, Any]:
    """A record of one game between recorders, and the messages that each request had."""
    given: dict[str, Any] = dict(part.split("=") for part in options.split(",") if part)
    model = Recorder(said)
    agents = []
    for _ in range(palestra.game(env).num_players):
        agent = LLMAgent(model=model, **given)
        agent.name = f"llm:recorder:{',' if options else ''}{options}"
        agents.append(agent)
    (record,) = palestra.play(env, agents=agents, seed=5, **settings)
    return record, [request.messages for request in model.got]


def minds(data: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """The seat and the mind of every turn of a page's data, in order."""
    turns = [turn for frame in data["frames"] for turn in frame["turns"]]
    return [(turn["player"], turn["mind"]) for turn in turns if "mind" in turn]


def text_of(data: dict[str, Any], lines: list[int]) -> str:
    return "\n".join(data["texts"][number] for number in lines)


def rebuilt(data: dict[str, Any], options: str) -> list[tuple[Message, ...]]:
    """Every prompt of a page as the whole list of messages that the reader is shown up to it."""
    alone, raw = "history" in options, "raw" in options
    read: dict[int, list[Message]] = {}
    prompts = []
    for seat, mind in minds(data):
        assert mind["source"] == "rebuilt"
        for one in mind["tries"]:
            if alone or (one["asked"] and one["asked"][0][0] == "system"):  # a person begins
                read[seat] = []
            messages = read.setdefault(seat, [])
            messages += [Message(role, text_of(data, text)) for role, text in one["asked"]]
            prompts.append(tuple(messages))
            said = text_of(data, one["raw"])
            messages.append(Message("assistant", f" {said}\n\n" if raw else said))
    return prompts


MOVES = ("Say(text='I take the hats')", "Say(text='no')", "Propose(books=1, hats=0, balls=1)")
CASES = [
    ("", "text/Negotiation-v0", MOVES, "retry:2"),
    ("", "text/Negotiation-v0", MOVES, "random"),
    ("history=position", "text/Negotiation-v0", MOVES, "retry:2"),
    ("history=bare", "text/Negotiation-v0", MOVES, "retry:2"),
    ("prompt=raw", "text/Negotiation-v0", MOVES, "retry:2"),
    ("", "games/PrisonersDilemma-v0", ("cooperate", "defect"), "retry:2"),
    ("", "games/DonorGame-v0", ("Donate(percent=40)", "Write(strategy='Give.')"), "random"),
]


@pytest.mark.parametrize(("options", "env", "said", "invalid"), CASES)
def test_prompts_are_those_the_model_got(
    options: str, env: str, said: tuple[str, ...], invalid: str
) -> None:
    more = {"rounds": 8} if "Dilemma" in env else {}
    steps = 40 if "Donor" in env else 9  # until others have taken the seats
    record, got = played(
        options, env=env, said=said, invalid=invalid, max_episode_steps=steps, **more
    )
    assert any(turn.refused for turn in record.turns)
    data = page_data(record)
    shown = rebuilt(data, options)
    assert len(shown) == len(got) > 5
    assert sorted(map(repr, shown)) == sorted(map(repr, got))


def test_answers_come_with_all_that_was_recorded_of_them() -> None:
    record, _ = played("", env="text/Negotiation-v0", said=MOVES, invalid="retry:2")
    data = page_data(record)
    turn = next(t for f in data["frames"] for t in f["turns"] if t["status"] == "retried")
    refused, answer = turn["mind"]["tries"]
    assert text_of(data, refused["raw"]) == "mumble 3"
    assert text_of(data, refused["thought"]) == "thinking 3"
    assert "no action is stated" in text_of(data, refused["error"])
    assert refused["logprob"] == -3 / 8
    assert refused["usage"] == {"in": 30, "out": 3, "calls": 1, "cost": 0.5, "seconds": 0.25}
    ((role, asked),) = answer["asked"]
    assert role == "user"
    assert text_of(data, asked).startswith("That was refused: cannot play 'mumble 3'")
    assert (answer["model"], answer["usage"]["in"]) == ("recorder-1", 40)
    assert (turn["tokens"], turn["cost"], turn["seconds"]) == (76, 1.0, 0.5)


def test_an_answer_that_was_replaced_is_shown_once() -> None:
    record, _ = played("", env="text/Negotiation-v0", said=MOVES, invalid="random")
    data = page_data(record)
    replaced = [t for f in data["frames"] for t in f["turns"] if t["status"] == "replaced"]
    assert replaced
    assert all(len(turn["mind"]["tries"]) == 1 for turn in replaced)
    assert all("error" in turn["mind"]["tries"][0] for turn in replaced)


def test_what_is_not_recorded_is_said_to_be_missing() -> None:
    record, _ = played("", env="text/Negotiation-v0", said=MOVES, invalid="retry:2")
    record.agents = ("llm:recorder:,examples=3", "react:recorder:")
    turn = record.turns[0]
    turn.facts = {"full tokens": 900}
    found = dict(minds(page_data(record))[:2])
    assert "3 examples" in found[0]["note"]
    assert "oldest messages were dropped" in found[0]["note"]
    assert found[1]["source"] == "told"


def test_a_captured_exchange_is_shown_as_it_was_sent() -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=["first", "first"])
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Move?"}]
    again = [*asked, {"role": "assistant", "content": "a1"}, {"role": "user", "content": [
        {"type": "text", "text": "And now?"}]}]  # fmt: skip
    reply = {"role": "assistant", "content": None, "tool_calls": [{"name": "play"}]}
    own = [turn for turn in record.turns if turn.seat == 0]
    for turn, messages in zip(own, (asked, again), strict=False):
        turn.sampling = {"exchanges": [{"messages": messages, "reply": reply}], "temperature": 1}
    data = page_data(record)
    first, second = (mind for _, mind in minds(data))
    assert first["source"] == second["source"] == "sent"
    assert [role for role, _ in first["tries"][0]["asked"]] == ["system", "user"]
    assert second["tries"][0]["earlier"] == 2
    texts = [text_of(data, text) for _, text in second["tries"][0]["asked"]]
    assert texts == ["a1", "And now?"]
    assert "play" in text_of(data, second["tries"][0]["raw"])
    assert second["settings"] == {"temperature": 1}


def test_talks_inside_an_agent_are_conversations() -> None:
    from palestra_adapters.talks import talks_of

    (record,) = palestra.play("games/TicTacToe-v0", agents=["score:echo:a1", "first"], seed=1)
    (talk,) = talks_of([record])[:1]
    data = page_data(record)
    shown = minds(data)[0][1]["talks"][0]
    assert shown["players"] == list(talk.players)
    said = [text_of(data, text) for _, role, text in shown["lines"] if not role]
    assert said == [turn.raw for turn in talk.turns]
    asked = [text_of(data, text) for _, role, text in shown["lines"] if role]
    assert asked == [event.text for event in talk.events]


def test_a_search_shows_its_candidates() -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=["minimax", "random"], seed=1)
    found = minds(page_data(record))
    assert {seat for seat, _ in found} == {0}
    assert found[0][1]["facts"]["candidates"] == record.turns[0].facts["candidates"]


def test_agents_that_say_nothing_take_no_room() -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=["random", "first"])
    assert not minds(page_data(record))


SECRET = "s3cret-of-%d </script><img src=x onerror=alert(1)>"


def secretive(seat: int) -> Any:
    """Says its seat's secret wherever an agent may say something, refused answers included."""

    def decide(turn: palestra.Turn) -> Decision:
        said = SECRET % seat
        text = said if turn.tries == 0 else "Say(text='hello')"
        return Decision(
            text=text,
            thought=said,
            model=said,
            usage=Usage(tokens_in=7_770 + seat, cost=0.125 + seat),
            sampling={"exchanges": [{"messages": [{"role": "user", "content": said}],
                                     "reply": {"role": "assistant", "content": said}}]}
            if turn.steps_played > 3
            else {"note": said},
            facts={"talks": [{"players": ["a"], "opening": [{"kind": "asked", "text": said}],
                              "steps": [{"turns": [{"player": 0, "raw": said}]}]}],
                   "candidates": {said: 1.0}, said: said},
        )  # fmt: skip

    return decide


@pytest.fixture(scope="module")
def secretive_record() -> EpisodeRecord:
    agents: Any = [secretive(0), secretive(1)]
    (record,) = palestra.play(
        "text/Negotiation-v0", agents=agents, seed=2, invalid="retry:1", max_episode_steps=7
    )
    assert len(record.turns) == 7
    return record


@pytest.mark.parametrize("viewer", [0, 1])
def test_a_seats_page_holds_nothing_of_another_mind(
    viewer: int, secretive_record: EpisodeRecord, tmp_path: Path
) -> None:
    page = export([secretive_record], tmp_path / "page.html", viewer).read_text("utf-8")
    assert f"s3cret-of-{viewer}" in page
    assert f"s3cret-of-{1 - viewer}" not in page
    assert f"777{1 - viewer}" not in page  # tokens
    assert page.count('"mind":{') == sum(t.seat == viewer for t in secretive_record.turns)
    other = [turn.seen for turn in secretive_record.turns if turn.seat != viewer]
    assert other
    values = secretive_record.opening[1 + (1 - viewer)].text  # what the items are worth to them
    assert values.startswith(f"To you, player_{1 - viewer}")
    assert values not in page


def test_a_spectators_page_holds_every_mind_as_text(
    secretive_record: EpisodeRecord, tmp_path: Path
) -> None:
    page = export([secretive_record], tmp_path / "page.html").read_text("utf-8")
    assert "s3cret-of-0" in page
    assert "s3cret-of-1" in page
    assert "<img" not in page
    assert page.count("</script>") == 3  # the index, one episode, the script
    blocks = page.split('<script type="application/json">')[1:]
    assert [bool(json.loads(block.split("</script>")[0])) for block in blocks] == [True, True]


def test_a_long_text_is_clipped_and_says_so() -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=["first", "first"])
    record.turns[0].thought = "x y " * 10_000
    data = page_data(record)
    shown = text_of(data, minds(data)[0][1]["tries"][0]["thought"])
    assert shown.endswith("(20,000 more characters)")
    record = msgspec.json.decode(msgspec.json.encode(record), type=EpisodeRecord)
    assert len(record.turns[0].thought) == 40_000  # the record keeps it


def test_a_record_is_one_line_of_text_and_a_page_in_a_notebook() -> None:
    (record,) = palestra.play("games/TicTacToe-v0", agents=["first", "first"], seed=1)
    line = "<EpisodeRecord games/TicTacToe-v0, seed 1, 7 steps: player_0 win, player_1 loss>"
    assert repr(record) == line
    record.turns[0].thought = "\"' onload=alert(1) <b>"
    shown = record._repr_html_() or ""
    assert shown.startswith('<iframe sandbox="allow-scripts" ')
    assert shown.count("<") == 2  # everything else is inside the frame's attribute
    assert shown.count('"') == 8
    record.env = "games/Gone-v0"
    assert record._repr_html_() is None
    record.env, record.outcome, record.error = "games/TicTacToe-v0", None, "…\nValueError: no\n"
    assert repr(record).endswith("7 steps: failed: ValueError: no>")
    record.steps = record.steps * 80
    assert record._repr_html_() is None
