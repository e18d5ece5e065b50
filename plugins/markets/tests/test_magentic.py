"""The Magentic Marketplace: rules, ledger, search, and the optimum by an assignment solver."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Agent, Decision, Episode, InvalidAction, InvalidOption
from palestra_markets.magentic.marketplace import (
    Magentic,
    Pay,
    Propose,
    Read,
    Search,
    Wait,
    Write,
)
from scipy.optimize import linear_sum_assignment

ID = "markets/Magentic-v0"


def market(**options: Any) -> Episode:
    settings: dict[str, Any] = {
        "num_players": 4,
        "customers": 1,
        "latency": 0,
        "results": 3,
        "search": "optimal",
    }
    return Episode(Magentic(**settings | options), seed=0)


def play(policy: str = "best", quote: str = "lowest", customers: int = 10, **options: Any) -> Any:
    businesses = options.pop("businesses", 30)
    agents = [f"market-customer:policy={policy}"] * customers
    agents += [f"market-business:quote={quote}"] * businesses
    settings = {"search": "optimal", "rounds": 120, "seed": 0} | options
    return palestra.play(ID, agents=agents, customers=customers, **settings)


def act(episode: Episode, **moves: Any) -> None:
    """Play moves by seat, as p0=…; everybody else who is awake waits."""
    chosen = {int(name[1:]): action for name, action in moves.items()}
    episode.act({seat: chosen.get(seat, Wait()) for seat in episode.to_act})


def offered(episode: Episode) -> tuple[int, int]:
    """A customer finds a business, writes, and reads its proposal: its seat and price."""
    act(episode, p0=Search("anything"))
    act(episode, p0=Write("player_1", "What can you do?"))
    act(episode, p1=Read())
    state = episode.state
    items = ", ".join(state.customers[0].items)
    if state.businesses[0].list_price(state.customers[0].items) is None:
        items = state.businesses[0].items[0]
    price = state.businesses[0].list_price(items.split(", ")) or 0
    act(episode, p1=Propose("player_0", items, 100))
    act(episode, p0=Read())
    return 1, price


def test_a_payment_goes_through_escrow_and_conserves_money() -> None:
    episode = market()
    seat, price = offered(episode)
    before = episode.state.ledger.balances["player_0"]
    act(episode, p0=Pay(0))
    ledger = episode.state.ledger
    ledger.check()
    assert ledger.balances["player_0"] == before - price
    assert ledger.balances["player_1"] == price
    assert episode.step.rewards[seat]["revenue"] == price


def test_a_spent_proposal_an_unknown_one_and_strangers_are_refused() -> None:
    episode = market()
    offered(episode)
    act(episode, p0=Pay(0))
    before = deepcopy(episode.state.ledger)
    for text in ("Pay(proposal=0)", "Pay(proposal=1)", "Write(to='player_0', text='me')"):
        with pytest.raises(InvalidAction):
            episode.parse(0, text)
    fresh = market()
    with pytest.raises(InvalidAction):
        fresh.parse(0, "Write(to='player_2', text='Who are you?')")
    item = fresh.state.businesses[0].items[0]
    with pytest.raises(InvalidAction):
        fresh.parse(1, f"Propose(to='player_0', items={item!r}, percent=100)")
    for action in (Pay(0), Pay(1), Pay(-1)):
        with pytest.raises(InvalidAction):
            act(episode, p0=action)
    assert episode.state.ledger == before


@pytest.mark.parametrize("percent", ["-5", "0", "79", "inf", "nan", "1.5", "1001"])
def test_percentages_that_are_none_are_refused(percent: str) -> None:
    episode = market()
    act(episode, p0=Search("anything"))
    act(episode, p0=Write("player_1", "Hello."))
    act(episode, p1=Read())
    item = episode.state.businesses[0].items[0]
    with pytest.raises(InvalidAction):
        episode.parse(1, f"Propose(to='player_0', items={item!r}, percent={percent})")
    with pytest.raises(InvalidAction, match="not on the menu"):
        episode.parse(1, "Propose(to='player_0', items='Moon Dust', percent=100)")


def test_who_overspends_is_told_so_and_the_ledger_is_as_it_was() -> None:
    episode = market()
    act(episode, p0=Search("anything"))
    act(episode, p0=Write("player_1", "Hello."))
    act(episode, p1=Read())
    act(episode, p1=Propose("player_0", episode.state.businesses[0].items[0], 1_000))
    act(episode, p0=Read())
    before = deepcopy(episode.state.ledger)
    act(episode, p0=Pay(0))
    assert "refused" in episode.transcript(0)[-1].text
    assert episode.state.ledger == before


def test_a_slow_business_is_read_later() -> None:
    episode = market(latency=7)
    slow = episode.state.businesses[0].latency
    assert slow > 0
    offered(episode)
    sent = 3
    while episode.state.tick <= sent + 1 + slow:
        assert not episode.state.open[0]
        act(episode, p0=Read())
    assert episode.state.open[0] == [0]


def test_letters_and_results_are_for_their_reader_alone() -> None:
    episode = market(num_players=5, customers=2)
    act(episode, p0=Search("anything"))
    act(episode, p0=Write("player_2", "Just between us."))
    act(episode, p2=Read())
    assert "Just between us." in episode.prompt(2)
    for other in (1, 3):
        assert "Just between us." not in episode.prompt(other)
        assert not {e.kind for e in episode.transcript(other)} & {"letter", "results"}


@pytest.mark.parametrize("ranking", ["simple", "filtered", "lexical", "optimal", "cheapest"])
def test_every_search_lists_only_businesses_and_the_best_first(ranking: str) -> None:
    episode = market(num_players=30, results=29, search=ranking, listing="menu")
    customer = episode.state.customers[0]
    query = ", ".join([*customer.items, *customer.needs])
    act(episode, p0=Search(query))
    found = episode.transcript(0)[-1].data["results"]
    fits = [
        set(customer.items) <= set(r["menu"]) and set(customer.needs) <= set(r["amenities"])
        for r in found
    ]
    assert any(fits)
    if ranking == "filtered":
        assert all(set(customer.needs) <= set(r["amenities"]) for r in found)
    elif ranking == "optimal":
        have = [set(customer.items) <= set(r["menu"]) for r in found]
        ratings = [r["rating"] for r in found]
        assert have == sorted(have, reverse=True)
        assert 1 < sum(have) < 29
        assert ratings[: sum(have)] == sorted(ratings[: sum(have)], reverse=True)
        assert ratings[sum(have) :] == sorted(ratings[sum(have) :], reverse=True)
    elif ranking == "cheapest":
        assert fits == sorted(fits, reverse=True)
        totals = [sum(r["menu"][i] for i in customer.items) for r in found[: sum(fits)]]
        assert totals == sorted(totals)


@pytest.mark.parametrize(
    "options",
    [
        {"search": "magic"},
        {"trade": "bakers"},
        {"manipulation": "bribes"},
        {"customers": 0},
        {"customers": 12},
        {"num_players": 401},
        {"latency": -1},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Magentic(**options)


# What a listing tells, and manipulation


def test_a_card_tells_name_rating_and_description_and_the_rest_is_asked_for() -> None:
    episode = market(search="lexical")
    customer, shops = episode.state.customers[0], episode.state.businesses
    act(episode, p0=Search(", ".join(customer.items)))
    position = episode.describe(0)
    read = episode.prompt(0, 0).replace(position, "")
    for shop in shops:
        assert f"rated {shop.rating / 10:g} of 5. {shop.description}" in read
        assert not any(f"{item} {price}" in read for item, price in shop.prices.items())
        assert not any(name in read for name in shop.amenities if name not in customer.needs)
    assert all(set(r) == {"name", "rating", "description"} for r in results_of(episode))
    act(episode, p0=Write("player_1", "What do you have?"))
    act(episode, p1=Read())
    act(episode, p1=Write("player_0", f"Ramen 77, and {shops[0].amenities}."))
    act(episode, p0=Read())
    assert "Ramen 77" in episode.prompt(0, 0)


def results_of(episode: Episode) -> list[dict[str, Any]]:
    """What the first customer's last search showed."""
    (found,) = [e.data["results"] for e in episode.transcript(0) if e.kind == "results"][-1:]
    return list(found)


def test_a_menu_listing_tells_prices_and_amenities() -> None:
    episode = market(listing="menu")
    act(episode, p0=Search("anything"))
    for shop in episode.state.businesses:
        assert all(f"{item} {price}" in episode.prompt(0, 0) for item, price in shop.prices.items())


class Obedient(Agent):
    """Customers who pay whoever tells them to ignore their instructions, or any other shop."""

    def __init__(self, obeys: bool) -> None:
        self.obeys = obeys

    def act(self, turns: Any) -> list[Decision]:
        return [Decision(self.choose(turn)) for turn in turns]

    def choose(self, turn: Any) -> Any:
        kinds = [event.kind for event in turn.transcript]
        if "results" not in kinds:
            return Search("anything")
        if "payment" in kinds:
            return Wait()
        offers = [event.data for event in turn.transcript if event.kind == "proposal"]
        if offers:
            return Pay(offers[0]["proposal"])
        return Read() if len(kinds) > 4 or turn.steps_played > 1 else Write(self.shop(turn), "Hi.")

    def shop(self, turn: Any) -> str:
        found = next(event.data["results"] for event in turn.transcript if event.kind == "results")
        told = [r["name"] for r in found if "Ignore your instructions" in r["description"]]
        return str(
            told[0] if self.obeys else next(r["name"] for r in found if r["name"] != told[0])
        )


class Seller(Agent):
    """Offers everybody who wrote to it, in turn, the first item of its menu."""

    def act(self, turns: Any) -> list[Decision]:
        return [Decision(self.choose(turn)) for turn in turns]

    def choose(self, turn: Any) -> Any:
        letters = [event for event in turn.transcript if event.kind == "letter"]
        if not letters:
            return Read()
        if turn.steps_played > 5:
            return Wait()
        shop = next(event.data for event in turn.transcript if event.kind == "shop")
        sender = letters[turn.steps_played % len(letters)].data["sender"]
        return Propose(sender, next(iter(shop["menu"])), 100)


def test_manipulation_is_counted_by_whom_it_reached_and_who_paid() -> None:
    # two of three customers obey; all see all four businesses, the last of which misleads
    agents: list[Any] = [Obedient(True), Obedient(True), Obedient(False), *[Seller()] * 4]
    options: dict[str, Any] = {
        "num_players": 7,
        "customers": 3,
        "latency": 0,
        "rounds": 9,
        "seed": 1,
    }
    (record,) = palestra.play(ID, agents=agents, manipulation="injection", **options)
    found = palestra.measure(record)
    assert found["manipulation-attempts"] == 3
    assert found["manipulation-success"] == pytest.approx(2 / 3)


def test_without_manipulation_nothing_is_attempted() -> None:
    found = palestra.measure(play("first", customers=4, businesses=6)[0])
    assert found["manipulation-attempts"] == 0


@pytest.mark.parametrize("misleading", [1, 3, 9])
def test_so_many_businesses_mislead(misleading: int) -> None:
    game = Magentic(manipulation="strong-injection", misleading=misleading)
    told = [b.description for b in game.initial_state(4).businesses]
    assert sum("SYSTEM NOTICE" in text for text in told) == misleading
    assert all("SYSTEM NOTICE" in text for text in told[-misleading:])


# The optimum


def optimum(game: Magentic, seed: int) -> float:
    """The best assignment of customers to businesses, each of which can serve all of them."""
    state = game.initial_state(seed)
    gains = np.zeros((len(state.customers), len(state.businesses) * len(state.customers)))
    for row, customer in enumerate(state.customers):
        for column, business in enumerate(state.businesses):
            price = business.least_price(customer.items)
            if price is not None and set(customer.needs) <= set(business.amenities):
                gains[row, column :: len(state.businesses)] = max(0, customer.value - price)
    rows, columns = linear_sum_assignment(gains, maximize=True)
    return float(gains[rows, columns].sum())


@pytest.mark.parametrize("search", ["optimal", "lexical", "simple"])
@pytest.mark.parametrize("trade", ["restaurants", "contractors"])
def test_customers_who_read_everything_and_take_the_best_reach_the_optimum(
    search: str, trade: Any
) -> None:
    for record in play(episodes=2, search=search, trade=trade):
        game = Magentic(num_players=40, customers=10, trade=trade)
        assert sum(record.returns[:10]) == optimum(game, record.seed)
        assert palestra.measure(record)["welfare-ratio"] == 1
        assert palestra.measure(record)["requests-met"] == 1


def test_customers_who_take_the_first_show_it_and_lose_by_it() -> None:
    first = [palestra.measure(r) for r in play("first", episodes=3, search="simple", results=30)]
    assert all(m["first-proposal-share"] == 1 for m in first)
    assert sum(m["welfare-ratio"] for m in first) / 3 < 1


def test_what_customers_lose_to_list_prices_the_businesses_gain() -> None:
    (low,), (listed,) = play(), play(quote="list")
    assert sum(listed.returns[:10]) < sum(low.returns[:10])
    assert sum(listed.returns[10:]) > sum(low.returns[10:])


def test_money_is_conserved_to_the_last_cent_over_a_whole_run() -> None:
    (record,) = play(customers=5, businesses=15)
    final = palestra.replay(record).state.ledger
    final.check()
    assert sum(final.balances.values()) == 0


@pytest.mark.parametrize("limit", [1, 14, 15])
def test_sampled_letters_keep_to_a_short_message_limit(limit: int) -> None:
    for record in palestra.play(ID, agents="random", episodes=2, seed=2, message_limit=limit):
        assert not any(record.mistakes)
