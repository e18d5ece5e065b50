"""Holding a model to the legal moves, and what one seat and its model say to each other."""

from __future__ import annotations

from collections.abc import Sequence

import palestra
from palestra import Turn
from palestra.agents.models import Model, Reply, Request
from palestra.llm.conversation import Chat, Conversation, Raw
from palestra.llm.legal import hold, listable


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
    assert not listable(turn.legal)
    assert "Propose" in hold(turn, Patterned(), Chat(), 20)["pattern"]
    assert hold(turn, Listed(), Chat(), 20) == {}


def test_what_is_asked_for_can_be_said_otherwise() -> None:
    talk = Conversation(Chat(), "The rules.", answer="Think first.")
    assert talk.messages[0].content == "The rules.\nThink first."
    assert Conversation(Raw(), "The rules.").messages[0].content == "The rules.\n\n"
