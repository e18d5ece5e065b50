"""Holding a model to the legal moves, and what one seat and its model say to each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import palestra
import pytest
from palestra import Turn
from palestra.agents.models import Model, Reply, Request
from palestra.kernel.actions import Grammar, Integer, OneOf, Option, TextAction, read_action
from palestra.llm.conversation import Chat, Conversation, Raw
from palestra.llm.legal import MOST_TYPED, hold, list_moves


class Listed(Model):
    abilities = frozenset({"choices"})

    def chat(self, requests: Sequence[Request]) -> Sequence[Reply]:
        return [Reply("") for _ in requests]


class Patterned(Listed):
    abilities = frozenset({"choices", "pattern"})


def turn_of(env: str) -> Turn:
    return Turn(palestra.make(env, view="episode", seed=0), 0)


def test_listed_moves_are_held_by_a_list_in_the_words_of_the_style() -> None:
    turn = turn_of("games/KuhnPoker-v0")
    assert hold(turn, Listed(), Chat(), 20)["choices"] == ("pass", "bet")
    assert hold(turn, Listed(), Raw(), 20)["choices"] == (" pass", " bet")


def test_typed_moves_are_held_by_a_pattern_where_the_model_knows_patterns() -> None:
    turn = turn_of("text/Negotiation-v0")
    assert list_moves(turn) is None
    assert "Propose" in hold(turn, Patterned(), Chat(), 20)["pattern"]
    assert hold(turn, Listed(), Chat(), 20) == {}


@pytest.mark.parametrize("candidates", [4, 16])
def test_typed_moves_are_listed_for_a_model_without_patterns(candidates: int) -> None:
    env = palestra.make("games/Reference-v0", view="episode", seed=4, candidates=candidates)
    assert hold(Turn(env, 0), Listed(), Chat(), 20) == {}  # the speaker writes freely
    env.act({0: env.parse(0, "Say(text='the red one')")})
    turn = Turn(env, 1)
    shown = re.findall(r"'([^']*)'", turn.legal_text)
    moves = hold(turn, Listed(), Chat(), 20)["choices"]
    assert moves == tuple(f"Pick(object='{name}')" for name in shown)
    assert len(moves) == candidates


class Bid(TextAction, frozen=True):
    on: str
    ask: int = 0


@pytest.mark.parametrize("top", [0, 2, 498, 499, 10**12])
def test_typed_moves_are_listed_up_to_a_bound(top: int) -> None:
    names = ("it's", 'a "b"')
    bids = Option(Bid, {"on": OneOf(names), "ask": Integer(0, top)})
    legal = Grammar((bids, Option(Bid, {"on": OneOf(("c", "d"))})))
    moves = list_moves(cast(Turn, SimpleNamespace(legal=legal, legal_texts=[])))
    if 2 * (top + 1) + 2 > MOST_TYPED:
        assert moves is None
        return
    assert moves is not None
    asked = {Bid(on, ask) for on in names for ask in range(top + 1)}
    assert {read_action(move, legal, [Bid]) for move in moves} == asked | {Bid("c"), Bid("d")}
    assert len(moves) == 2 * (top + 1) + 2


def test_what_is_asked_for_can_be_said_otherwise() -> None:
    talk = Conversation(Chat(), "The rules.", answer="Think first.")
    assert talk.messages[0].content == "The rules.\nThink first."
    assert Conversation(Raw(), "The rules.").messages[0].content == "The rules.\n\n"
