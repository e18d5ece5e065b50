"""The car dealer: backward induction in closed form and over the whole tree, talk that is cheap."""

from __future__ import annotations

from functools import cache
from math import floor
from typing import Any

import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn, make_agent
from palestra_games.social.car_dealer import Accept, Ask, CarDealer, Leave, Offer, Tell

WISHES = [(kind, colour) for kind in range(3) for colour in range(3)]
ONE = (("Gull", "van", "red", 0, 988),)  # worth 1000 to its only kind of buyer


def played(game: CarDealer, wishes: tuple[int, int], dealer: str, buyer: str) -> Episode:
    episode, agents = Episode(game, 0), [make_agent(dealer), make_agent(buyer)]
    state = episode.state
    state.wishes = wishes
    episode.load(state)
    while not episode.over:
        (seat,) = episode.to_act
        episode.act({seat: agents[seat].act([Turn(episode, seat)])[0].action})
    return episode


@pytest.mark.parametrize("offers", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("discount", [0.5, 0.9, 1.0])
def test_patient_traders_divide_the_surplus_as_stahl_says(offers: int, discount: float) -> None:
    share = 0.0
    for _ in range(offers):
        share = 1 - discount * share  # what is left after what the other could wait for
    game = CarDealer(cars=ONE, offers=offers, discount=discount, top_price=1000)
    episode = played(game, (0, 0), "car-trader", "car-trader")
    assert episode.state.offers == 1
    assert episode.returns[0] == floor(1000 * share + 1e-9)
    assert sum(episode.returns) == 1000


@cache
def value_of_first(offers: int, discount: float, surplus: int) -> float:
    """What the first proposer can be sure of, by search over all whole prices."""
    if offers == 0:
        return 0.0
    wait = discount * value_of_first(offers - 1, discount, surplus)
    return max(float(surplus - given) for given in range(surplus + 1) if given >= wait - 1e-9)


@pytest.mark.parametrize("wishes", WISHES)
def test_the_car_with_the_greatest_surplus_is_sold_at_once(wishes: tuple[int, int]) -> None:
    """The table by hand: worth, 8 for the kind and 4 for the colour, less the cost."""
    table = {
        "Finch": (1, 0, 0),
        "Wren": (0, 0, 1),
        "Heron": (2, 1, 1),
        "Stork": (1, 1, 2),
        "Bison": (1, 2, 2),
        "Moose": (0, 2, 0),
    }
    gains = {
        name: base + 8 * (kind == wishes[0]) + 4 * (colour == wishes[1])
        for name, (base, kind, colour) in table.items()
    }
    game = CarDealer(offers=3)
    episode = played(game, wishes, "car-trader", "car-trader")
    car = game.names[episode.state.last[1]]
    most = max(gains.values())
    assert gains[car] == most == sum(episode.returns)
    assert episode.returns[0] == floor(most * (1 - 0.9 + 0.81))
    assert abs(episode.returns[0] - value_of_first(3, 0.9, most)) <= 1


@pytest.mark.parametrize("offers", [1, 3, 5])
def test_claiming_all_to_the_last_offer_wastes_what_time_costs(offers: int) -> None:
    game = CarDealer(cars=ONE, offers=offers, discount=0.8, top_price=1000)
    stubborn = played(game, (0, 0), "car-trader:style=stubborn", "car-trader")
    assert stubborn.state.offers >= offers - 1  # the buyer's last offer is as good as the end
    assert stubborn.returns[0] == pytest.approx(0.8 ** (offers - 1) * 1000)
    patient = played(game, (0, 0), "car-trader", "car-trader")
    assert patient.returns[0] >= stubborn.returns[0]


def test_two_who_claim_all_sell_at_the_last_offer_only() -> None:
    game = CarDealer(cars=ONE, offers=4, discount=0.5, top_price=1000)
    stubborn = ["car-trader:style=stubborn"] * 2
    episode = played(game, (0, 0), *stubborn)
    assert list(episode.returns) == [0, 1000 / 8]  # the buyer makes the fourth


def test_a_buyer_may_lie_and_is_paid_by_what_he_wishes() -> None:
    game = CarDealer()
    episode = Episode(game, 0)
    state = episode.state
    state.wishes = (1, 1)  # a blue estate: the Heron is worth 17 + 8 + 4
    episode.load(state)
    for seat, text in enumerate(("Ask(about='kind')", "Tell(wish='van')")):
        episode.act({seat: episode.parse(seat, text)})
    assert "estate" not in episode.describe(0)
    assert "said, kind: van" in episode.describe(0)
    episode.act({0: Offer("Heron", 18)})
    episode.act({1: Accept()})
    assert list(episode.returns) == [3, 11]


def test_discount_counts_offers_and_not_questions() -> None:
    episode = Episode(CarDealer(discount=0.5), 0)
    for about, wish in (("kind", "van"), ("colour", "red")):
        episode.act({0: Ask(about)})
        episode.act({1: Tell(wish)})
    for seat in (0, 1, 0):
        episode.act({seat: Offer("Finch", 30)})
    episode.act({1: Accept()})
    assert episode.returns[0] == 20 * 0.25


def test_what_may_be_said_when() -> None:
    episode = Episode(CarDealer(offers=1), 0)
    with pytest.raises(InvalidAction):
        episode.act({0: Accept()})  # there is no offer yet
    episode.act({0: Ask("kind")})
    with pytest.raises(InvalidAction):
        episode.act({1: Tell("red")})  # a colour
    episode.act({1: Tell("van")})
    with pytest.raises(InvalidAction):
        episode.act({0: Ask("kind")})  # a second time
    episode.act({0: Offer("Moose", 30)})
    with pytest.raises(InvalidAction):
        episode.act({1: Offer("Moose", 25)})  # offers are used up
    episode.act({1: Leave()})
    assert list(episode.returns) == [0, 0]


def test_dealers_do_not_see_wishes() -> None:
    episode = Episode(CarDealer(), 0)
    drawn = set()
    for seed in range(100):
        twin = episode.fork()
        twin.load(episode.game.determinize(episode.state, 0, Rng(seed)))
        drawn.add(twin.state.wishes)
        assert twin.describe(0) == episode.describe(0)
        assert twin.observation(0).tolist() == episode.observation(0).tolist()
    assert drawn == set(WISHES)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"offers": 0}, "offers"),
        ({"discount": 0}, "discount"),
        ({"cars": ()}, "cars must be"),
        ({"cars": (("A", "b", "c", 1),)}, "name, kind, colour, cost and worth"),
        ({"top_price": 0}, "top_price"),
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOption, match=said):
        CarDealer(**options)
