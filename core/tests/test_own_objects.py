"""Agents and callers that hand over objects of their own classes, which change their mind."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import palestra
import pytest
from palestra import Decision, Episode, Event, Integer, Option, OutOfTurn, Turn, verify
from palestra.plain import plain_action
from palestra_envs.text.negotiation.game import Propose
from palestra_games.board.tic_tac_toe import TicTacToe

GAMES = ("games/TicTacToe-v0", "games/KuhnPoker-v0", "games/Chicken-v0", "grid/Foraging-v0")


class Late(int):
    """A number that answers twice, and then raises."""

    asked = 0

    def _answer(self, *_: Any) -> int:
        type(self).asked += 1
        if type(self).asked > 2:
            raise OSError("later")
        return int.__index__(self)

    __index__ = __int__ = __hash__ = _answer  # type: ignore[assignment]

    def __repr__(self) -> str:
        raise OSError("no name either")


class Another(int):
    """A number that is another one whenever it is asked."""

    def __index__(self) -> int:
        return 0 if int.__index__(self) else 1

    __int__ = __index__

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0

    def __le__(self, other: object) -> bool:
        return True

    __lt__ = __ge__ = __gt__ = __le__


class Array(np.ndarray):
    def item(self, *_: Any) -> Any:
        raise OSError("an array of its own")


@pytest.mark.parametrize("kind", [Late, Another])
@pytest.mark.parametrize("env", GAMES)
@pytest.mark.parametrize("seat", [0, 1])
def test_a_number_that_changes_is_played_as_the_number_that_it_is(
    env: str, seat: int, kind: type[int]
) -> None:
    def honest(turn: Turn) -> int:
        return turn.legal_actions[0]

    def own(turn: Turn) -> Decision:
        kind.asked = 0  # type: ignore[attr-defined]
        return Decision(kind(turn.legal_actions[0]))

    agents: list[Any] = [honest] * palestra.game(env).num_players
    (expected,) = palestra.play(env, agents=agents, seed=3)
    agents[seat] = own
    (record,) = palestra.play(env, agents=agents, seed=3)
    assert record.error == ""
    assert record.returns == expected.returns
    verify(record)
    assert msgspec.json.decode(msgspec.json.encode(record), type=palestra.EpisodeRecord)


@pytest.mark.parametrize(
    "given", [None, [], 5, object(), "0", {0}], ids=["None", "list", "5", "object", "str", "set"]
)
def test_what_is_no_mapping_of_seats_is_named(given: Any) -> None:
    episode = Episode(TicTacToe(), 0, compiled=False)
    with pytest.raises(OutOfTurn, match=r"takes actions by seat, as in \{0: 4\}, not"):
        episode.act(given)
    assert episode.steps_played == 0


def test_the_callers_mapping_can_be_used_again() -> None:
    episode, moves = Episode(TicTacToe(), 0, compiled=False), {0: np.int64(4)}
    episode.act(moves)
    del moves[0]
    moves[1] = np.int64(0)
    episode.act(moves)
    assert [dict(played.actions) for played in episode.history()] == [{0: 4}, {1: 0}]
    assert all(type(a) is int for played in episode.history() for a in played.actions.values())


@pytest.mark.parametrize(
    "action",
    [Late(3), Another(3), np.int8(3), np.array(3), np.array(3).view(Array)],
    ids=["Late", "Another", "int8", "array", "own array"],
)
def test_a_plain_action_is_an_int(action: Any) -> None:
    Late.asked = 9
    plain = plain_action(action)
    assert type(plain) is int
    assert plain == 3


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_what_is_shared_cannot_be_written_into_and_still_travels(copied: Any) -> None:
    data = {
        "cards": [1, {"suit": "spades"}],
        "seats": {1, 2},
        "board": np.zeros(2),
        "pair": ([1], 2),
    }
    event = Event("deal", "Cards are dealt.", data)
    option = Option(Propose, {"price": Integer(0, 100)})
    for shared in (event, copied(event)):
        for write in (
            lambda e: e.data.update(more=1),
            lambda e: e.data.__setitem__("more", 1),
            lambda e: e.data["cards"].append(2),
            lambda e: e.data["cards"].__iadd__([2]),
            lambda e: e.data["cards"][1].pop("suit"),
            lambda e: e.data["pair"][0].clear(),
            lambda e: e.data["seats"].add(3),
            lambda e: e.data["board"].__setitem__(0, 1.0),
            lambda e: e.data["board"].setflags(write=True),
        ):
            with pytest.raises((TypeError, ValueError, AttributeError)):
                write(shared)
        assert shared.data["cards"] == [1, {"suit": "spades"}]
    data["cards"].append(9)  # type: ignore[attr-defined]
    assert len(event.data["cards"]) == 2
    for one in (option, copied(option)):
        with pytest.raises(TypeError):
            one.fields["price"] = Integer(0, 1)  # type: ignore[index]
        assert one == option


class Words(str):
    def __str__(self) -> str:
        raise OSError("words of their own")

    def strip(self, *_: Any) -> str:  # type: ignore[override]
        return "1"


def change_facts(kept: list[Decision]) -> None:
    kept[0].facts["value"] = object()  # type: ignore[index]


def change_text(kept: list[Decision]) -> None:
    kept[0].text = None
    kept[0].thought = 7  # type: ignore[assignment]


@pytest.mark.parametrize("change", [change_facts, change_text])
def test_an_answer_cannot_be_changed_after_it_was_given(
    change: Callable[[list[Decision]], None],
) -> None:
    kept: list[Decision] = []

    def agent(turn: Turn) -> Decision:
        if kept:
            change(kept)
        facts = {"value": np.float64(0.5), "candidates": [Words("a")]}
        decision = Decision(text=Words(turn.legal_texts[0]), facts=facts, model=Words("m"))
        kept.append(decision)
        return decision

    (record,) = palestra.play("games/TicTacToe-v0", agents=[agent, "first"], seed=1)
    assert record.error == ""
    first = record.turns[0]
    assert (type(first.raw), first.facts) == (str, {"value": 0.5, "candidates": ["a"]})
    assert msgspec.json.decode(msgspec.json.encode(record), type=palestra.EpisodeRecord) == record


def test_a_mapping_that_raises_is_copied_without_being_asked() -> None:
    class Trap(dict[str, Any]):
        def keys(self) -> Any:
            raise OSError("trap")

        items = __iter__ = keys

    def agent(turn: Turn) -> Decision:
        return Decision(turn.legal_actions[0], facts=Trap(value=1.0), sampling=Trap())

    (record,) = palestra.play("games/TicTacToe-v0", agents=[agent, "first"], seed=1)
    assert record.turns[0].facts == {"value": 1.0}
