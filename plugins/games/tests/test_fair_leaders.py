"""Stackelberg stages: closed forms of the duopoly, who gains by leading, and fair mediators."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
from palestra.testing import check
from palestra_games.dilemmas.fair_leaders.game import RULES, FairLeaders

CHICKEN = {"payoffs_table": (3, 3, 1, 4, 4, 1, 0, 0), "moves": ("swerve", "straight")}
DILEMMA = {"payoffs_table": (3, 3, 0, 5, 5, 0, 1, 1), "moves": ("cooperate", "defect")}


def duopoly(a: float, quantities: tuple[float, ...]) -> dict[str, Any]:
    """Profits of two firms with the linear demand p = a - q1 - q2 and no costs."""
    table: list[float] = []
    for one in quantities:
        for other in quantities:
            table += [one * (a - one - other), other * (a - one - other)]
    return {"payoffs_table": table, "moves": tuple(f"{q:.3f}" for q in quantities)}


def returns(**options: Any) -> tuple[float, ...]:
    """Totals of Stackelberg players."""
    seats = options.get("num_players", 2)
    (record,) = palestra.play("games/FairLeaders-v0", agents=["stackelberg"] * seats, **options)
    return tuple(record.returns)


@pytest.mark.parametrize("a", [8.0, 24.0])
def test_a_leading_firm_earns_what_von_stackelberg_says(a: float) -> None:
    quantities = (a / 4, a / 3, a / 2)  # the follower's, Cournot's, and the leader's
    earned = returns(**duopoly(a, quantities), stages=1, mediator="first")
    assert earned == pytest.approx((a**2 / 8, a**2 / 16))
    alternating = returns(**duopoly(a, quantities), stages=6, mediator="alternate")
    assert alternating == pytest.approx((3 * a**2 / 16 * 3,) * 2)


def test_cournots_quantities_answer_each_other_and_pay_a_ninth() -> None:
    game = FairLeaders(**duopoly(12.0, (3.0, 4.0, 6.0)))
    assert game.pay(1, 1) == pytest.approx((16.0, 16.0))
    assert max(range(3), key=lambda move: game.pay(move, 1)[0]) == 1


def test_leading_is_worth_most_where_the_textbook_says() -> None:
    assert returns(stages=1, mediator="first") == (2, 1)  # battle of the sexes: opera
    assert returns(**CHICKEN, stages=1, mediator="first") == (4, 1)  # the leader drives straight
    assert returns(**DILEMMA, stages=1, mediator="first") == (1, 1)  # nothing is gained


def test_a_mediator_makes_fair_what_a_fixed_leader_does_not() -> None:
    fixed, fair = returns(mediator="first"), returns(mediator="fair")
    assert fixed == (20, 10)
    assert fair == (15, 15)
    assert returns(mediator="alternate") == (15, 15)
    assert returns(num_players=3) == (15, 15, 15)


def test_a_random_mediator_lies_between() -> None:
    records = palestra.play(
        "games/FairLeaders-v0", agents=["stackelberg"] * 2, mediator="random", episodes=200
    )
    least = [min(record.returns) for record in records]
    assert all(sum(record.returns) == 30 for record in records)
    assert 10 < sum(least) / len(least) < 15
    led = sum(record.returns[0] - 10 for record in records) / len(records)  # stages player_0 led
    assert abs(led - 5) < 4 * (2.5 / len(records)) ** 0.5  # binomial: 10 fair coins


def test_stages_go_on_in_order_and_are_told_to_all() -> None:
    episode = Episode(FairLeaders(num_players=3, stages=2), 0, compiled=False)
    assert episode.to_act == (2,)
    with pytest.raises(InvalidAction, match="player_0"):
        episode.parse(2, "opera")
    for seat, text in ((2, "player_1"), (1, "football"), (0, "football")):
        episode.act({seat: episode.parse(seat, text)})
    assert tuple(episode.returns) == (1, 2, 1)
    texts = [event.text for event in episode.transcript(0)]
    assert "player_1 leads stage 1." in texts
    assert "player_1 leads with football." in texts
    assert "player_0 answers football." in texts
    assert "Last stage: player_0 football (1), player_1 football (2)." in episode.describe(2)
    assert episode.to_act == (2,)


def test_a_mediators_seat_and_chance_conform_too() -> None:
    for options in ({"num_players": 3, "stages": 4}, {"mediator": "random", **CHICKEN}):
        only = ["pettingzoo_api", "record_replays_exactly", "compiled_equals_interpreted"]
        only += ["masks_agree", "ends_are_told", "numbers_stay_in_space", "renders_offscreen"]
        verdicts = check("games/FairLeaders-v0", only=only, **options)
        assert [verdict for verdict in verdicts if verdict.status != "passed"] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mediator": "kind"}, " or ".join(map(repr, RULES))),
        ({"stages": 0}, "stages must be an integer from 1"),
        ({"num_players": 4}, "3 adds a mediator's seat"),
        ({"payoffs_table": (1, 2, 3)}, "8 numbers for 2 by 2 moves"),
    ],
)
def test_bad_options_are_named(options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        FairLeaders(**options)
