"""ProAgent in the kitchen: skills that cannot be done go back, the others are walked."""

from __future__ import annotations

import palestra
import pytest
from adapter_worlds import Free, last
from palestra import InvalidOption, Rng, Turn
from palestra.agents.models import Request
from palestra_adapters.kitchen.proagent import ProAgent, read_skill
from palestra_adapters.kitchen.skills import SKILLS, did, look, way

KITCHEN = "grid/Kitchen-v0"


def sensible(request: Request) -> str:
    """Onions until the pot cooks, then a dish, then the soup."""
    text = request.messages[1].content
    hand = text.partition("holding ")[2].partition(".")[0]
    if hand == "an onion":
        skill = "put down" if "cooks" in text or "is ready" in text else "fill pot"
    elif hand == "a dish":
        skill = "take soup" if "is ready" in text else "wait"
    elif hand.startswith("a soup"):
        skill = "serve soup"
    else:
        skill = "fetch dish" if "cooks" in text or "is ready" in text else "fetch onion"
    return f"Analysis: so.\nIntention: fetch onion\nSkill: {skill}"


def test_it_serves_soups_alone_and_with_a_scripted_cook() -> None:
    for partner in (lambda turn: turn.parse("stay"), "cook"):
        agent = ProAgent(model=Free(sensible))
        record = palestra.play(
            KITCHEN, agents=[agent, partner], max_episode_steps=100, invalid="raise"
        )[0]
        assert record.outcome is not None
        assert record.outcome.scores[0] >= 20
        own = [turn for turn in record.turns if turn.seat == 0]
        assert sum(turn.usage.calls for turn in own) < len(own)  # one question a skill


def test_what_cannot_be_done_is_sent_back_with_the_reason_and_never_played() -> None:
    model = Free("Skill: serve soup")
    agent = ProAgent(model=model, tries=2)
    record = palestra.play(KITCHEN, agents=[agent, "cook"], max_episode_steps=5, invalid="raise")[0]
    assert "you hold nothing, not a soup" in last(model.requests[1])
    assert {turn.text for turn in record.turns if turn.seat == 0} == {"stay"}
    assert agent.refused == 10


def test_a_wrong_guess_about_the_partner_is_corrected() -> None:
    model = Free(lambda r: sensible(r).replace("Intention: fetch onion", "Intention: serve soup"))
    palestra.play(KITCHEN, agents=[ProAgent(model=model), "cook"], max_episode_steps=60)
    told = "\n".join(last(request) for request in model.requests)
    assert 'player_1 did: fetch onion; you expected: "serve soup".' in told


def test_ways_are_shortest() -> None:
    turn = Turn(palestra.make(KITCHEN, view="episode", seed=0), 0)
    moves = way(turn, SKILLS["fetch onion"], Rng.seeded(0))
    assert moves is not None
    assert len(moves) == 3  # cramped room, from row 3 column 2: north, west, interact
    assert moves[-1] == "interact"
    assert way(turn, SKILLS["wait"], Rng.seeded(0)) == ["stay"]


def test_what_others_did_shows_in_their_hands() -> None:
    assert did("nothing", "an onion") == "fetch onion"
    assert did("a dish", "a soup of only 2 onions") == "take soup"
    assert did("an onion", "an onion") == ""
    assert read_skill("I will FETCH_DISH, then wait") == "fetch dish"
    assert read_skill("dance") is None


def test_it_serves_soups_in_random_kitchens_and_asks_for_the_whole_of_them() -> None:
    agent = ProAgent(model=Free(sensible))
    record = palestra.play(KITCHEN, agents=[agent, "cook"], max_episode_steps=100, layout="random")[
        0
    ]
    assert record.outcome is not None
    assert record.outcome.scores[0] >= 20
    with pytest.raises(InvalidOption, match="leave out sight"):
        look(palestra.make(KITCHEN, view="episode", seed=0, sight=2), 0)


def test_other_games_are_refused() -> None:
    with pytest.raises(InvalidOption, match="proagent plays grid/Kitchen-v0"):
        look(palestra.make("games/TicTacToe-v0", view="episode", seed=0), 0)
    assert not palestra.kernel.registry.registry().agent("proagent").can_play("games/TicTacToe-v0")
