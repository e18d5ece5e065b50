"""The Magentic Marketplace: rules, ledger, search, and the optimum by an assignment solver."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption
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
    settings = {"num_players": 4, "customers": 1, "latency": 0, "results": 3, "search": "optimal"}
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


@pytest.mark.parametrize("ranking", ["simple", "filtered", "lexical", "optimal"])
def test_every_search_lists_only_businesses_and_optimal_puts_who_fits_first(ranking: str) -> None:
    episode = market(num_players=30, results=29, search=ranking)
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
        {"num_players": 301},
        {"latency": -1},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        Magentic(**options)


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
    search: str, trade: str
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
