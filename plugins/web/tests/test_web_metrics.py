"""Measures of the web environments, by what is bought, answered and changed."""

from __future__ import annotations

from typing import Any

import palestra
import pytest
from palestra import EpisodeRecord, measure
from palestra_web.shop.shelf import SHELF_SIZE


def play(env: str, agent: str, seed: int = 0, **options: Any) -> tuple[EpisodeRecord, Any]:
    """One episode, and the site's data at its end."""
    (record,) = palestra.play(env, agents=agent, seed=seed, **options)
    return record, palestra.replay(record).state


def test_webshops_parts_multiply_to_the_reward() -> None:
    parts_seen = set()
    for seed in range(6):
        record, state = play("web/Shop-v0", "rule-shopper", seed)
        found, goal = measure(record), state.data.goal
        if state.data.grade is None:
            assert (found["bought"], "reward-part:type" in found) == (0, False)
            continue
        part = {name[12:]: value for name, value in found.items() if name[:12] == "reward-part:"}
        counts = {"attributes": len(goal.attributes), "options": len(goal.options), "price": 1}
        matched = sum(part.get(name, 0.0) * count for name, count in counts.items())
        reward = part["type"] * matched / sum(counts.values())  # the paper's formula
        assert reward == pytest.approx(record.returns[0])
        assert ("options" in part) == bool(goal.options)
        parts_seen |= set(part)
    assert {"type", "price", "attributes"} <= parts_seen


@pytest.mark.parametrize("trial", ["budget", "rating"])
def test_what_is_taken_from_a_shelf(trial: str) -> None:
    record, state = play("web/Shelf-v0", "random", 3, trial=trial)
    found, shelf = measure(record), state.data
    places = [found[f"place-share:{place}"] for place in range(1, SHELF_SIZE + 1)]
    assert places.index(1.0) == shelf.bought
    assert sum(places) == 1
    prices = [article.price for article in shelf.articles]
    below = len([price for price in prices if price < prices[shelf.bought]])
    assert found["cheaper-share"] == below / 7
    assert found["request-met"] == (shelf.bought in shelf.right)
    assert "seller-share" not in found


def test_a_question_counts_for_its_kind_only() -> None:
    record, state = play("web/CRMCalls-v0", "random", 1, kind="handle-time", max_calls=4)
    found = measure(record)
    kinds = [name for name in found if name.startswith("success-by-kind:")]
    assert kinds == ["success-by-kind:handle-time"]
    assert found["success-by-kind:handle-time"] == found["success"]
    assert found["answered"] == (state.ticket.score >= 0)


def test_a_widget_and_a_desktops_level_name_what_was_tried() -> None:
    record, state = play("web/Widgets-v0", "widget-oracle", 2)
    assert measure(record)[f"success-by-widget:{state.data.name}"] == 1
    record, _ = play("web/Desktop-v0", "random", 2, level=3, limit=4)
    found = measure(record)
    assert found["success-by-level:3"] == found["success"] == 0
    assert found["desktop-level"] == 3


def test_the_support_desk_counts_changed_orders_and_lines() -> None:
    record, state = play("web/SupportDesk-v0", "random", 5, limit=8)
    found, day = measure(record), state.data
    changed = [now for now, then in zip(day.orders, day.first, strict=True) if now != then]
    assert found["orders-changed"] == len(changed)
    assert found["chat-lines"] == sum(map(len, day.chats.values()))
    assert "impostor-success" not in found


def test_a_product_of_a_fixed_assortment_has_a_share() -> None:
    record, state = play("web/Shelf-v0", "random", 4, assortment=3)
    found, shelf = measure(record), state.data
    shares = {name: value for name, value in found.items() if name.startswith("product-share:")}
    assert len(shares) == SHELF_SIZE
    assert sum(shares.values()) == 1
    assert shares[f"product-share:{shelf.articles[shelf.bought].product}"] == 1
    drawn, _ = play("web/Shelf-v0", "random", 4)
    alike, _ = play("web/Shelf-v0", "random", 4, assortment=3, trial="price")
    for other in (drawn, alike):
        assert not any(name.startswith("product-share:") for name in measure(other))
