"""The pieces that agents share: tables by seat, prompts, grades, members and whole teams."""

from __future__ import annotations

import re
from collections.abc import Sequence

import palestra
import pytest
from adapter_worlds import Free
from hypothesis import given
from hypothesis import strategies as st
from palestra import Agent, Decision, Rng, Turn
from palestra.agents.models import Request
from palestra.testing import ScriptedModel
from palestra_adapters.adapter import Adapter, rules_of, story
from palestra_adapters.members import Composed, act_in_turn
from palestra_adapters.react import reason_alone
from palestra_adapters.scoring import grade, last_number
from palestra_adapters.search.spots import Worths
from palestra_adapters.search.tree import upwards
from palestra_adapters.seats import BySeat
from palestra_adapters.teams.whole import WholeTeam, example_order, names_of, read_orders
from palestra_adapters.texts import bullets, join_lines, join_paragraphs, numbered, refusal
from palestra_adapters.thinking import Thinking

KEYS = st.tuples(st.integers(0, 4), st.integers(0, 3))


@given(st.dictionaries(KEYS, st.text(max_size=3)), st.integers(0, 5))
def test_the_end_of_an_episode_takes_its_seats_alone(kept: dict[tuple[int, int], str], e: int):
    table: BySeat[str] = BySeat(kept)
    assert table.end(e) == [value for (episode, _), value in kept.items() if episode == e]
    assert table == {key: value for key, value in kept.items() if key[0] != e}
    assert table.end(e) == []


@given(st.lists(st.text(alphabet="ab\n", max_size=3)))
def test_empty_parts_leave_no_line(parts: list[str]) -> None:
    full = [part for part in parts if part]
    assert join_lines(*parts) == "\n".join(full)
    assert join_paragraphs(*parts) == "\n\n".join(full)


def test_what_a_model_wrote_stays_on_its_own_line() -> None:
    texts = ["one\nplayer_1: accepts", "two"]
    assert [line[:2] for line in bullets(texts).splitlines()] == ["- ", "- "]
    assert [line[:3] for line in numbered(texts).splitlines()] == ["1. ", "2. "]
    assert bullets([]) == numbered([]) == ""


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Score: 70", 70.0),
        ("Score: 7\nScore: 8.5 of 10", 8.5),
        ("**Score:** 4", 4.0),
        ("Score: 3, then Score: none", 3.0),
        ("Score: -3", None),
        ("Score 3", None),
        ("no number", None),
        ("", None),
    ],
)
def test_the_last_number_after_a_label_counts(text: str, number: float | None) -> None:
    assert last_number("Score", text) == number


class Asking(Adapter):
    """Has its position graded, asks with a hold, and plays what it is held to."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        self.notes = self.by_seat(list[float])

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        notes = self.notes.setdefault((turn.episode_key, turn.seat), [])
        notes.append((yield from grade(self, turn, "How good is it?", temperature=0.0)))
        moves = turn.legal_texts[:2]
        ask = self.about(
            turn, turn.position, "", "Which?", advice="Be bold.", **self.held_to(moves)
        )
        (reply,) = yield [ask]
        return Decision(text=reply.text, facts={"grades": list(notes)})


@pytest.mark.parametrize(
    ("said", "worth"), [("7", 0.7), ("<think>3</think>It is 8.5", 0.85), ("25", 1.0), ("bad", 0.0)]
)
def test_a_grade_is_the_first_number_and_notes_last_for_one_episode(said: str, worth: float):
    model = ScriptedModel(
        lambda request: said if "How good" in request.messages[-1].content else ""
    )
    agent = Asking(model=model)
    records = palestra.play(
        "games/TicTacToe-v0", agents=[agent, "random"], episodes=3, live=1, seed=4
    )
    for record in records:
        mine = [turn for turn in record.turns if turn.seat == 0]
        assert [turn.facts["grades"] for turn in mine] == [
            [pytest.approx(worth)] * count for count in range(1, len(mine) + 1)
        ]
    assert agent.notes == {}
    held = [request for request in model.requests if request.choices]
    assert held
    assert all(len(request.choices or ()) <= 2 for request in held)
    first = held[0].messages
    assert first[0].content.splitlines()[-1] == "Be bold."
    assert re.search(r"\S\n\nWhich\?$", first[-1].content)  # an empty part is left out


def test_a_model_that_cannot_be_held_is_only_asked() -> None:
    agent = Asking(model=ScriptedModel("1", held=False))
    assert agent.held_to(["1", "2"]) == {}
    agent = Asking(model=[ScriptedModel("1", held=False), ScriptedModel("1")])
    assert agent.held_to(["1", "2"], 1)["choices"]
    assert [agent.role_member(role) for role in range(4)] == [0, 1, 1, 1]


def test_a_refused_answer_is_told_and_the_first_one_is_not() -> None:
    class Clumsy(Adapter):
        def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
            lines = story(turn, "Your answer").splitlines()
            assert rules_of(turn, "", "More.") == turn.game.rules_for(turn.seat) + "\nMore."
            seen.append((refusal(turn), lines[-1]))
            messages = self.single(rules_of(turn, advice), turn.position)
            return (yield from reason_alone(self, turn, messages))

    seen: list[tuple[str, str]] = []
    answers = iter(["Thought: hm\nAction: 99", "Thought: so\nAction: 5"])
    model = Free(lambda request: next(answers))
    episode = palestra.make("games/TicTacToe-v0", view="episode", seed=1)
    agent = Clumsy(model=model)
    (decision,) = agent.act([Turn(episode, 0)])
    assert (decision.text, decision.thought) == ("99", "hm")
    (decision,) = agent.act([Turn(episode, 0, error="99 is not free")])
    assert (decision.text, decision.thought) == ("5", "so")
    assert seen[0][0] == ""
    assert "refused" not in seen[0][1]
    assert seen[1] == (
        "That was refused: 99 is not free",
        "Your answer was refused: 99 is not free",
    )


class Numbered(Agent):
    """Answers with its number and how many turns it was given at once."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.heard: list[tuple[str, int]] = []

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        return [Decision(text=f"{self.number} of {len(turns)}") for _ in turns]

    def reseed(self, seed: int) -> None:
        self.heard.append(("seed", seed))

    def forget(self, episode_key: int) -> None:
        self.heard.append(("forget", episode_key))

    def close(self) -> None:
        self.heard.append(("close", 0))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_every_turn_is_played_by_its_member_called_once(whose: list[int]) -> None:
    turn = Turn(palestra.make("games/TicTacToe-v0", view="episode", seed=1), 0)
    agents: dict[int, Agent] = {number: Numbered(number) for number in range(4)}
    decisions = act_in_turn([turn] * len(whose), whose, agents)
    assert [one.text for one in decisions] == [f"{n} of {whose.count(n)}" for n in whose]


def test_a_part_that_occurs_twice_is_told_once() -> None:
    class Both(Composed):
        def __init__(self, agents: Sequence[Agent]) -> None:
            self.agents = agents

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            return self.agents[0].act(turns)

        def parts(self) -> Sequence[Agent]:
            return self.agents

    one, other = Numbered(0), Numbered(1)
    both = Both([one, other, one])
    both.reseed(7)
    both.forget(3)
    both.close()
    assert one.heard == [("seed", 7), ("forget", 3), ("close", 0)]
    assert other.heard == [("seed", 8), ("forget", 3), ("close", 0)]


class Captain(WholeTeam):
    """One plan for all seats that wait, told to every one of them."""

    def __init__(self, **settings: object) -> None:
        super().__init__(**settings)
        self.sizes: list[int] = []
        self.over: list[int | None] = []

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        said = self.think_for(self.teams(turns), self._plan)
        orders = {key: read_orders(one.text or "", PLAYERS) for key, one in said.items()}
        return [
            Decision(text=orders[turn.episode_id][turn.game.players[turn.seat]]) for turn in turns
        ]

    def _plan(self, team: Sequence[Turn]) -> Thinking[Decision]:
        self.sizes.append(len(team))
        assert names_of(team) == list(PLAYERS)
        (reply,) = yield [self.about(team[0], example_order(team))]
        return Decision(text=reply.text)

    def think(self, turn: Turn, advice: str = "") -> Thinking[Decision]:
        return (yield from self._plan([turn]))

    def forget(self, episode_key: int) -> None:
        super().forget(episode_key)
        self.over.append(self.ended(episode_key))


PLAYERS = ("player_0", "player_1", "player_2")


def test_a_team_is_asked_once_a_step_and_every_episode_by_itself() -> None:
    def order(request: Request) -> str:
        assert request.messages[-1].content.startswith("player_0: ")
        return "Player_0: Wait()\nnobody: Wait()\n* player_1: Wait()\nplayer_2: Wait()"

    model = ScriptedModel(order)
    agent = Captain(model=model)
    episodes = [
        palestra.make("text/Transport-v0", view="episode", num_players=3, seed=n) for n in range(3)
    ]
    turns = [Turn(episode, seat) for seat in range(3) for episode in episodes]
    assert [decision.text for decision in agent.act(turns)] == ["Wait()"] * 9
    assert agent.sizes == [3, 3, 3]
    assert model.calls == [3]  # the plans of three episodes in one call
    for key in dict.fromkeys(turn.episode_key for turn in turns):
        agent.forget(key)
    assert {key for key in agent.over if key is not None} == {t.episode_id for t in turns}


@pytest.mark.parametrize("env", ["games/KuhnPoker-v0", "games/TicTacToe-v0"])
def test_worths_lie_on_one_scale_of_the_games_bounds(env: str) -> None:
    worths = Worths()
    for seed in range(8):
        episode = palestra.make(env, view="episode", seed=seed)
        turns = [Turn(episode, seat) for seat in range(2)]
        episode.playout(Rng.seeded(seed))
        low, high = turns[0].game.payoff_bounds
        for turn in turns:
            paid = float(episode.returns[turn.seat])
            assert worths.of(turn) == pytest.approx((paid - low) / (high - low))


def test_a_node_and_all_above_it_are_visited_from_below() -> None:
    class Link:
        def __init__(self, parent: Link | None = None) -> None:
            self.parent: Link | None = parent

    root = Link()
    middle = Link(root)
    leaf, beside = Link(middle), Link(middle)
    assert list(upwards(leaf)) == [leaf, middle, root]
    assert beside not in list(upwards(leaf))
    assert list(upwards(root)) == [root]
