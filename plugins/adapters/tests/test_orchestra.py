"""Bayesian orchestration: true likelihoods play the optimum; pooling and notes mend false ones."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from adapter_worlds import Answer, Free, last
from palestra import InvalidOption
from palestra.agents.models import Reply, Request
from palestra_adapters.routers.orchestra import (
    Orchestra,
    Prices,
    cheapest,
    likelihood,
    pool,
    posterior,
)

GAME = palestra.game("markets/Screening-v0", cases=40)


def knows(power: float = 1.0) -> Answer:
    """Says the true likelihoods to the power given; at -1 it takes good notes for bad ones."""
    bad, good = GAME.evidence.likelihoods(0)  # type: ignore[attr-defined]

    def answer(request: Request) -> str:
        chances = good if "good cases of" in last(request) else bad
        weights = [chance**power for chance in chances]
        return " ".join(f"{100 * weight / sum(weights):.9f}" for weight in weights)

    return answer


def cost(agents: Any, seeds: int = 4) -> float:
    records = palestra.play(GAME, agents=[agents], seed=0, episodes=seeds, live=1)
    return -sum(record.returns[0] for record in records) / seeds


def orchestra(*powers: float, **options: Any) -> Orchestra:
    return Orchestra(model=[Free(knows(power)) for power in powers], **options)


def moves(agent: Any) -> list[Any]:
    (record,) = palestra.play(GAME, agents=[agent], seed=5)
    return [turn.action for turn in record.turns]


def test_with_true_likelihoods_it_plays_as_the_optimal_policy() -> None:
    """The solver of the market's own plugin, by its own dynamic programme."""
    assert moves(orchestra(1.0)) == moves("bayes-screener")


def test_one_confused_model_of_three_is_outvoted_and_alone_it_costs_more() -> None:
    optimum, pooled, confused = (
        cost("bayes-screener"),
        cost(orchestra(1, -1, 1)),
        cost(orchestra(-1)),
    )
    assert pooled == optimum
    assert confused > 1.2 * optimum
    assert cost(orchestra(1.0, sequential=False)) > optimum


def test_disagreement_buys_a_note_that_costs_alone_would_not() -> None:
    def bought(agent: Orchestra) -> int:
        (record,) = palestra.play(GAME, agents=[agent], seed=2)
        return sum("Check" in str(turn.action) for turn in record.turns)

    assert bought(orchestra(1.0, 0.2, 1.0, disagree=0.02)) > bought(orchestra(1.0, 0.2, 1.0))
    assert bought(orchestra(1.0, 1.0, disagree=0.0)) == bought(orchestra(1.0))  # nobody disagrees


def test_a_model_is_asked_about_each_kind_of_case_once_a_group() -> None:
    model = Free(knows())
    palestra.play(GAME, agents=[Orchestra(model=model)], seed=1)
    asked = [last(request) for request in model.requests]
    assert len(asked) == len(set(asked)) == 4  # two groups, good and bad
    assert all("Notes:" not in line for line in asked)  # no case is shown


def test_posteriors_and_costs_by_hand() -> None:
    given = ((0.5, 0.5, 0.0, 0.0, 0.0), (0.25, 0.75, 0.0, 0.0, 0.0))
    assert posterior(0.5, (0, 1, 0, 0, 0), given) == pytest.approx(0.6)
    assert posterior(0.5, (1, 0, 0, 0, 0), given) == pytest.approx(1 / 3)
    # at 1/2: accepting costs 5, rejecting 4.5; after a note 10/3 (5 of 8) or 5, of which with the
    # note itself 0.1, so that it saves 4.5 - (0.1 + 3/8 * 3 + 5/8 * 5) = 0.15
    prices = Prices(0.1, 5.0, 9.0)
    assert cheapest(0.5, (0,) * 5, 1, given, prices) == "Check()"
    assert cheapest(0.5, (0,) * 5, 1, given, Prices(0.26, 5.0, 9.0)) == "Reject()"
    assert cheapest(0.6, (0,) * 5, 0, given, prices) == "Accept()"


def test_pooling_and_reading_by_hand() -> None:
    each = [((1.0, 0, 0, 0, 0), (0.2,) * 5), ((0, 1.0, 0, 0, 0), (0.2,) * 5)]
    assert pool(each, "mean")[0] == pytest.approx((0.5, 0.5, 0, 0, 0))
    assert pool([*each, each[0]], "median")[0] == pytest.approx((1, 0, 0, 0, 0))
    assert likelihood(Reply("10 20 40 20 10")) == pytest.approx((0.1, 0.2, 0.4, 0.2, 0.1), abs=1e-3)
    assert likelihood(Reply("Of 100: 10 20 40 20 10."))[2] == pytest.approx(0.4, abs=1e-3)
    assert likelihood(Reply("I cannot say.")) == pytest.approx((0.2,) * 5)


def test_it_refuses_other_games() -> None:
    with pytest.raises(InvalidOption, match="plays markets/Screening-v0"):
        palestra.play("games/TicTacToe-v0", agents=[orchestra(1.0), "random"])
    with pytest.raises(InvalidOption, match="median or mean"):
        orchestra(1.0, pool="mode")
