"""Language-model agents, with a model that only echoes."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import palestra
import pytest
from palestra import Budget, InvalidOption, ModelError, UnknownName
from palestra.agents.models import Model, Reply, Request, Score
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point
from palestra.llm.prices import price_table
from palestra.phrasing.wording import PARAPHRASES, WORDINGS
from palestra_agents.llm import LLMAgent
from palestra_agents.models.echo import EchoModel
from palestra_agents.plugin import MODELS


class Listening(Model):
    """Keeps every request; answers with lines given in turn."""

    def __init__(self, *lines: str) -> None:
        self.requests: list[Request] = []
        self.calls: list[int] = []
        self._lines = lines

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        self.calls.append(len(requests))
        self.requests += requests
        start = len(self.requests) - len(requests)
        return [Reply(self._lines[(start + i) % len(self._lines)]) for i in range(len(requests))]


def test_the_echo_scheme_opens_through_the_hook() -> None:
    model = palestra.open_model("echo:bet")
    assert isinstance(model, EchoModel)
    assert model.chat([Request(())])[0].text == "bet"
    with pytest.raises(UnknownName, match="model scheme 'ecco'"):
        palestra.open_model("ecco:bet")


def test_prompts_only_ever_grow() -> None:
    model = Listening("1", "2", "3", "4", "5", "6", "7", "8", "9")
    agent = LLMAgent(model=model)
    palestra.play("games/TicTacToe-v0", agents=[agent, agent], episodes=1, invalid="random")
    by_seat: dict[str, list[Request]] = {}
    for request in model.requests:
        seat = request.messages[1].content.split("\n")[0]
        by_seat.setdefault(seat, []).append(request)
    for requests in by_seat.values():
        for earlier, later in pairwise(requests):
            assert later.messages[: len(earlier.messages)] == earlier.messages


def test_all_waiting_games_share_one_call() -> None:
    model = Listening("bet")
    agent = LLMAgent(model=model)
    palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=50)
    assert model.calls == [50, 50]


class Choosing(Listening):
    """Takes a list of replies, and no pattern."""

    abilities = frozenset({"choices"})
    name = "choosing"


def test_choices_are_the_legal_moves() -> None:
    model = Choosing("pass")
    agent = LLMAgent(model=model, mode="choice")
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, agent], episodes=1)[0]
    assert {request.choices for request in model.requests} == {("pass", "bet")}
    assert "held" not in record.turns[0].sampling


def test_a_model_that_cannot_be_held_to_choices_is_refused() -> None:
    with pytest.raises(InvalidOption, match=r"mode=choice is not possible .* chat only"):
        LLMAgent(model=Listening("pass"), mode="choice")


def test_a_reply_that_was_not_held_is_warned_of_once_and_recorded() -> None:
    """The model was given the moves and says something else; the game reads it as it stands."""
    agent = LLMAgent(model=Choosing("Move: bet", "raise", "bet"), mode="choice")
    with pytest.warns(RuntimeWarning, match="does not hold its replies to the moves") as warned:
        records = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"], episodes=2)
    assert len(warned) == 1
    assert records[0].turns[0].text == "bet"
    assert records[0].turns[0].sampling["held"] is False
    assert records[1].mistakes == (1, 0), "what is no move is refused, not replaced"
    with pytest.warns(RuntimeWarning, match="knows no patterns"):
        record = palestra.play(
            "text/Negotiation-v0",
            agents=[LLMAgent(model=Choosing("Propose(books=0, hats=0, balls=0)"), mode="choice"),
                    "random"],
            max_episode_steps=1,
        )[0]  # fmt: skip
    assert record.turns[0].sampling["held"] is False


def test_a_refused_reply_is_asked_again_with_the_reason() -> None:
    model = Listening("raise", "bet")
    records = palestra.play(
        "games/KuhnPoker-v0", agents=[LLMAgent(model=model), "first"], episodes=1
    )
    assert "refused" in model.requests[1].messages[-1].content
    assert records[0].turns[0].status == "retried"
    assert records[0].mistakes == (1, 0)


@pytest.mark.parametrize("wording", [*PARAPHRASES, "plain", "null"])
def test_what_a_reply_is_to_look_like_is_said_in_the_wording(wording: str) -> None:
    model = Listening("fold", "bet")
    settings = {"agents": [LLMAgent(model=model), "first"], "invalid": "retry:3"}
    palestra.play("games/KuhnPoker-v0", **settings, wording=f"{wording}@0")
    form = WORDINGS[wording].answer
    assert model.requests[0].messages[0].content.endswith(f"\n{form}")
    assert model.requests[1].messages[-1].content.endswith(f"\n{form}"), "after a refusal too"
    raw = Listening("bet")
    raw.abilities = frozenset({"raw"})
    settings["agents"] = [LLMAgent(model=raw, prompt="raw"), "first"]
    palestra.play("games/KuhnPoker-v0", **settings, wording=wording)
    assert form not in raw.requests[0].messages[0].content


def test_usage_is_counted_and_a_budget_stops_the_model() -> None:
    records = palestra.play(
        "games/ConnectFour-v0",
        agents=["llm:echo:,mode=choice", "random"],
        budgets={"llm:echo:,mode=choice": Budget(calls=2)},
        episodes=1,
    )
    own = [turn for turn in records[0].turns if turn.seat == 0]
    assert sum(turn.usage.calls for turn in own) == 2
    assert records[0].outcome is not None
    assert records[0].outcome.results == ("forfeit", "win")
    assert "budget of calls" in records[0].outcome.reason


def test_set_up_errors_are_explained() -> None:
    with pytest.raises(InvalidOption, match="llm:vllm"):
        palestra.make_agent("llm")
    with pytest.raises(UnknownName, match="did you mean 'choice'"):
        palestra.make_agent("llm:echo:,mode=choices")


class Weighing(Listening):
    """Can do everything; finds one move likely a token, another likely as a whole."""

    abilities = frozenset({"choices", "pattern", "score", "tokens", "raw"})
    name = "weighing"

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies = super().chat(requests)
        marks = {"pass": Score(-6.0, 6), "bet": Score(-3.0, 2)}
        scores = [tuple(marks[text.strip()] for text in r.score) for r in requests]
        return [Reply(y.text, scores=s) for y, s in zip(replies, scores, strict=True)]


def test_scores_are_compared_a_token() -> None:
    agent = LLMAgent(model=Weighing(""), mode="score")
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"])[0]
    assert record.turns[0].text == "pass"
    assert record.turns[0].logprob == -6.0


def test_typed_actions_are_held_to_a_pattern_of_what_is_legal() -> None:
    model = Weighing("Accept()")
    agent = LLMAgent(model=model, mode="choice")
    with pytest.warns(RuntimeWarning, match="to the pattern it was given"):
        palestra.play(
            "text/Negotiation-v0", agents=[agent, "random"], invalid="random", max_episode_steps=2
        )
    pattern = model.requests[0].pattern
    assert pattern is not None
    assert re.fullmatch(pattern, "Propose(books=0, hats=0, balls=0)")
    assert re.fullmatch(pattern, "Accept()") is None, "there is nothing to accept yet"


def test_demonstrations_stand_before_the_first_question() -> None:
    model = Listening("bet")
    agent = LLMAgent(model=model, examples=4, teacher="first")
    palestra.play("games/KuhnPoker-v0", agents=[agent, "first"])
    messages = model.requests[0].messages
    assert [m.role for m in messages] == ["system", *["user", "assistant"] * 4, "user"]
    questions = [m.content for m in messages[1:-1:2]]
    assert len(set(questions)) == 4
    assert {m.content for m in messages[2:-1:2]} == {"pass"}
    assert all("you may play: pass, bet" in question for question in questions)
    with pytest.raises(InvalidOption, match="met only"):
        palestra.play("games/KuhnPoker-v0", agents=[LLMAgent(model=model, examples=500), "first"])


def test_a_raw_prompt_is_one_text_that_the_move_continues() -> None:
    model = Weighing(" bet")
    agent = LLMAgent(model=model, mode="choice", prompt="raw")
    palestra.play("games/KuhnPoker-v0", agents=[agent, "first"])
    request = model.requests[0]
    assert request.raw
    assert "".join(m.content for m in request.messages).endswith("Move:")
    assert request.choices == (" pass", " bet")


def test_reasoning_is_kept_apart_from_the_answer() -> None:
    model = Listening("<think>He may hold\nthe king.</think> bet")
    agent = LLMAgent(model=model)
    record = palestra.play("games/KuhnPoker-v0", agents=[agent, "first"])[0]
    assert record.turns[0].raw == "bet"
    assert record.turns[0].thought == "He may hold\nthe king."


class Short(Listening):
    """Holds at most so many messages."""

    name = "short"

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        replies = super().chat(requests)
        full = [len(r.messages) > 6 for r in requests]
        return [Reply("", overflow=True) if f else y for f, y in zip(full, replies, strict=True)]


def test_a_conversation_that_outgrows_the_context_loses_its_oldest_half() -> None:
    model = Short("1", "2", "3", "4", "5", "6", "7")
    agent = LLMAgent(model=model)
    palestra.play("games/ConnectFour-v0", agents=[agent, "random"], invalid="random")
    assert agent.dropped > 0
    assert all(request.messages[0].role == "system" for request in model.requests)
    assert all(request.messages[-1].role == "user" for request in model.requests)
    with pytest.raises(ModelError, match="alone do not fit the context of short"):
        palestra.play("games/KuhnPoker-v0", agents=[LLMAgent(model=model, examples=4), "first"])


class Keen(Listening):
    """A model whose options are called as the agent's."""

    def __init__(self, *, target: str = "", seed: int = 0, mode: str = "", top: int = 0) -> None:
        super().__init__(target)
        self.options = (seed, mode, top)


def test_an_option_of_the_model_is_told_from_one_of_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(MODELS, "keen", f"{__name__}:Keen")
    agent = palestra.make_agent("llm:keen:bet,seed=1,top=4,model.seed=2,model.mode=wild")
    assert isinstance(agent, LLMAgent)
    assert isinstance(agent._model, Keen)
    assert agent._model.options == (2, "wild", 4)
    assert agent._seed == 1
    plain = palestra.make_agent("llm:keen:bet,seed=1,mode=free", top=3)
    assert isinstance(plain, LLMAgent)
    assert isinstance(plain._model, Keen)
    assert plain._model.options == (0, "", 3)
    with pytest.raises(InvalidOption, match=r"model\.top and top are one option of keen:bet"):
        palestra.make_agent("llm:keen:bet,top=1,model.top=2")
    with pytest.raises(TypeError, match=r"model 'echo' got an unexpected .*'temperature'"):
        palestra.make_agent("llm:echo:bet,model.temperature=1")


@pytest.mark.parametrize("scheme", sorted(MODELS))
def test_no_option_of_a_model_is_called_as_one_of_an_agent_that_opens_models(scheme: str) -> None:
    """So that only what vLLM itself calls so has to be told apart. Read from the source: the
    libraries of models are seldom all installed."""
    module, _, name = MODELS[scheme].partition(":")
    file = importlib.util.find_spec(module)
    assert file
    assert file.origin
    tree = ast.parse(Path(file.origin).read_text("utf-8"))
    (kind,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    (made,) = (n for n in kind.body if isinstance(n, ast.FunctionDef) and n.name == "__init__")
    own = {argument.arg for argument in made.args.kwonlyargs} - {"target"}
    opening = [spec for spec in registry().agents.values() if spec.kind == "llm"]
    assert len(opening) > 10
    for spec in opening:
        agent = load_entry_point(spec.entry_point)
        makers = [cls.__init__ for cls in agent.__mro__ if "__init__" in vars(cls)]
        taken = {name for make in makers for name in inspect.signature(make).parameters}
        shared = own & taken
        assert not shared, f"{spec.name} would keep {sorted(shared)} from {scheme}"
    assert made.args.kwarg is None or scheme == "vllm", "whose options are vLLM's own"


def test_money_follows_the_users_price_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "prices.toml"
    table.write_text('["echo:*"]\nin = 2.0\nout = 10.0\n')
    monkeypatch.setenv("PALESTRA_PRICES", str(table))
    record = palestra.play("games/KuhnPoker-v0", agents=["llm:echo:bet", "first"])[0]
    used = record.turns[0].usage
    assert used.cost == pytest.approx((2 * used.tokens_in + 10 * used.tokens_out) / 1e6)
    table.write_text('["echo:*"]\nprice = 2.0\n')
    monkeypatch.setenv("PALESTRA_PRICES", str(tmp_path / "." / "prices.toml"))
    price_table.cache_clear()
    with pytest.raises(InvalidOption, match="'price' is not one of in, cached, out"):
        palestra.make_agent("llm:echo:bet")


def test_a_model_is_not_asked_for_what_it_cannot_do() -> None:
    for options, says in (
        ({"mode": "score"}, "mode=score is not possible with plain"),
        ({"prompt": "raw"}, "prompt=raw is not possible"),
        ({"keep_tokens": True}, "keep_tokens is not possible"),
        ({"adapter": "x"}, "adapter is not possible"),
    ):
        model = Listening("1")
        model.name = "plain"
        with pytest.raises(InvalidOption, match=says):
            LLMAgent(model=model, **options)


@pytest.mark.parametrize("prompt", ["chat", "raw"])
@pytest.mark.parametrize("env", [spec.id for spec in palestra.specs()])
def test_every_prompt_starts_with_the_one_before_it(env: str, prompt: str) -> None:
    """Byte for byte, for every game: what a prefix cache lives on."""

    class Drawing(Weighing):
        def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
            self.requests += requests
            return [Reply("not a move")] * len(requests)

    model = Drawing("")
    agent = LLMAgent(model=model, prompt=prompt)
    game = palestra.game(env)
    others = ["random"] * (game.num_players - 1)
    palestra.play(env, agents=[agent, *others], invalid="random", max_episode_steps=30)
    texts = ["\0".join(f"{m.role}:{m.content}" for m in r.messages) for r in model.requests]
    for earlier, later in pairwise(texts):
        if game.has_newcomers and "assistant:" not in later:
            continue  # a new person sits there
        assert later.startswith(earlier)
        assert len(later) > len(earlier)


def test_a_model_search_a_script_and_a_person_share_an_episode() -> None:
    def person(turn: palestra.Turn) -> str:
        return turn.legal_actions[-1]

    record = palestra.play(
        "grid/Foraging-v0",
        agents=["llm:echo:,mode=choice", "mcts:simulations=4", "forager", person],
        max_episode_steps=6,
    )[0]
    kinds = {turn.seat: turn.raw is not None for turn in record.turns}
    assert kinds == {0: True, 1: False, 2: False, 3: False}
    palestra.replay(record)


def test_one_model_serves_team_mates_with_different_prompts() -> None:
    model = Weighing("0")
    pair = [
        LLMAgent(model=model, mode="choice"),
        LLMAgent(model=model, mode="choice", prompt="raw"),
    ]
    with pytest.warns(RuntimeWarning, match="to the moves it was given"):
        palestra.play("games/Hanabi-v0", agents=pair, invalid="random", max_episode_steps=4)
    assert {request.raw for request in model.requests} == {False, True}
