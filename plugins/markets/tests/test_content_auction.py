"""Pages with readers who choose: best pages by brute force, and deviations by enumeration."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import InvalidOption
from palestra_markets.auctions.content_auction import Bid, ContentAuction
from palestra_markets.auctions.readers import EMPTY, Cascade, Logit, Reader, worth

ID = "markets/ContentAuction-v0"


def readers(count: int, positions: int, seed: int) -> list[Reader]:
    rng = np.random.default_rng(seed)
    logit = Logit(rng.uniform(0.05, 2, (count, positions)))
    cascade = Cascade(rng.uniform(0.05, 1, count), rng.uniform(0, 1, count), positions)
    return [logit, cascade]


def best_by_force(reader: Reader, values: Any) -> float:
    """Over all pages, those with empty positions included."""
    places = reader.positions
    seats = [*range(len(values)), *[EMPTY] * places]
    return max(worth(reader, page, values) for page in set(permutations(seats, places)))


@pytest.mark.parametrize(("count", "positions"), [(2, 1), (3, 2), (4, 3), (5, 2)])
def test_the_best_page_is_that_of_brute_force(count: int, positions: int) -> None:
    for seed in range(15):
        values = np.random.default_rng(100 + seed).integers(0, 20, count)
        for reader in readers(count, positions, seed):
            found = worth(reader, reader.best_page(values), values)
            assert found == pytest.approx(best_by_force(reader, values))


def test_clicks_are_the_chances_of_the_models() -> None:
    logit = Logit([[1.0, 0.5], [2.0, 1.0], [3.0, 1.5]])
    assert logit.clicks((2, 0)).tolist() == pytest.approx([0.5 / 4.5, 0, 3 / 4.5])
    cascade = Cascade([0.5, 0.2, 0.9], [0.4, 0.9, 0.1], 3)
    assert cascade.clicks((1, 0, 2)).tolist() == pytest.approx([0.45, 0.2, 0.9 * 0.4 * 0.9])


def test_with_equal_columns_positions_do_not_matter() -> None:
    logit = Logit([[w] * 3 for w in (0.3, 1.0, 2.0)])
    pages = {worth(logit, page, (5, 3, 1)) for page in permutations(range(3))}
    assert max(pages) == pytest.approx(min(pages))


def play_once(game: ContentAuction, bids: tuple[int, ...]) -> Any:
    state = game.initial_state(0)
    game.step(state, {seat: Bid(bid) for seat, bid in enumerate(bids)})
    return state


@pytest.mark.parametrize("reader", ["logit", "cascade"])
@pytest.mark.parametrize("mechanism", ["vcg", "myerson"])
def test_no_deviation_from_truth_pays(reader: str, mechanism: str) -> None:
    """Every bid of the first, against every pair of bids of the others, for every value."""
    table = {
        "logit": ((1.0, 0.6), (0.8, 0.7), (1.5, 0.5)),
        "cascade": ((0.5, 0.6), (0.4, 0.9), (0.8, 0.2)),
    }[reader]
    game = ContentAuction(
        num_players=3, reader=reader, mechanism=mechanism, table=table, max_value=6, values=(1,) * 3
    )
    for others in product(range(0, 7, 2), repeat=2):
        ends = [play_once(game, (bid, *others)) for bid in range(7)]
        for value in range(7):
            gains = [value * end.clicks[0] - end.paid[0] for end in ends]
            assert gains[value] == pytest.approx(max(gains))
            assert gains[value] >= -1e-9


def test_second_prices_are_not_truthful_for_these_readers() -> None:
    game = ContentAuction(
        num_players=3, reader="logit", mechanism="gsp", values=(10, 9, 1), positions=2,
        table=((1.0, 0.95), (1.0, 0.95), (1.0, 0.95)),
    )  # fmt: skip
    honest, lower = play_once(game, (10, 9, 1)), play_once(game, (5, 9, 1))
    assert lower.earned[0] > honest.earned[0]


@pytest.mark.parametrize("mechanism", ["vcg", "gsp"])
def test_one_position_is_a_second_price_auction(mechanism: str) -> None:
    """Half the readers click on whoever is there, and the winner pays the second bid a click."""
    game = ContentAuction(
        num_players=3, positions=1, mechanism=mechanism, table=((1.0,),) * 3, readers=1000
    )
    end = play_once(game, (7, 12, 9))
    assert end.page == (1,)
    assert end.clicks[1] == pytest.approx(500)
    assert end.paid == pytest.approx([0, 500 * 9, 0])


def test_myersons_reserve_is_half_the_most() -> None:
    game = ContentAuction(
        num_players=2, positions=1, mechanism="myerson", table=((1.0,),) * 2, max_value=20
    )
    assert play_once(game, (10, 3)).page == (EMPTY,)
    end = play_once(game, (15, 3))
    assert end.page == (0,)
    assert end.paid[0] == pytest.approx(end.clicks[0] * 11)  # the least whole bid that wins


@pytest.mark.parametrize("reader", ["logit", "cascade"])
def test_virtual_values_bring_more_and_vcg_is_efficient(reader: str) -> None:
    means = {}
    for mechanism in ("vcg", "myerson"):
        records = palestra.play(
            ID, agents=["truthful-bidder"] * 2, episodes=150, seed=0, rounds=1, positions=1,
            reader=reader, mechanism=mechanism,
        )  # fmt: skip
        measured = [palestra.measure(record) for record in records]
        means[mechanism] = {n: np.mean([m[n] for m in measured]) for n in measured[0]}
    assert means["vcg"]["page-efficiency"] == pytest.approx(1)
    assert means["myerson"]["page-efficiency"] < 1
    assert means["myerson"]["auction-revenue"] > 1.1 * means["vcg"]["auction-revenue"]


@pytest.mark.parametrize(
    "options",
    [
        {"reader": "hasty"},
        {"mechanism": "lottery"},
        {"num_players": 9},
        {"positions": 0},
        {"values": (1, 2)},
        {"values": (1, 2, 3, 21)},
        {"table": ((1.0, 2.0),)},
        {"table": ((1.0, 0.0),) * 4},
        {"table": ((2.0, 0.5),) * 4, "reader": "cascade"},
    ],
)
def test_bad_options_say_what_is_accepted(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption, match="|".join(options)):
        ContentAuction(**options)


def test_nobody_bids_and_nobody_pays() -> None:
    game = ContentAuction(reader="cascade", mechanism="gsp", positions=3)
    episode = palestra.Episode(game, 0)
    episode.act(dict.fromkeys(episode.to_act, Bid(0)))
    assert not any(episode.rewards)
