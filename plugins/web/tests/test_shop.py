"""WebShop: the paper's reward by hand, its rule-based baseline, an oracle, the pages."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import palestra
import pytest
from palestra import InvalidAction, InvalidOption
from palestra_web.shop.catalogue import Product, catalogue
from palestra_web.shop.reward import PurchaseGoal, grade, type_reward
from palestra_web.shop.shop import Shop
from palestra_web.shop.shoppers import read_instruction
from palestra_web.shop.words import DEPARTMENTS

SHIRT = Product(
    0,
    "Acme Slim Fit Dress Shirt",
    "dress shirt",
    ("Clothing", "Shirts", "Dress Shirt"),
    "Acme",
    ("slim fit", "machine washable", "wrinkle free"),
    ("Machine washable for everyday use.",),
    "This dress shirt by Acme is wrinkle free.",
    {"color": ("navy blue", "white"), "size": ("small", "large")},
    2599,
    4.2,
    (),
)
GOAL = PurchaseGoal(
    SHIRT, ("slim fit", "wrinkle free"), {"color": "navy blue", "size": "large"}, 3000
)


def like(**changes: Any) -> Product:
    return msgspec.structs.replace(SHIRT, **changes)


TEE = {"query": "tank top", "category": ("Clothing", "Shirts", "Tank Top")}
LAMP = {"query": "desk lamp", "category": ("Home", "Lighting", "Desk Lamp")}
DRESS = {"query": "evening dress", "category": ("Clothing", "Dresses", "Evening Dress")}


@pytest.mark.parametrize(
    ("bought", "picked", "total"),
    [
        (SHIRT, {"color": "navy blue", "size": "large"}, 1.0),  # (2 + 2 + 1) / 5
        (SHIRT, {"color": "light blue", "size": "large"}, 1.0),  # blue is blue
        (SHIRT, {"color": "white", "size": "large"}, 4 / 5),
        (SHIRT, {}, 3 / 5),
        (like(price=3001), {"color": "navy blue", "size": "large"}, 4 / 5),
        (like(attributes=("slim fit",), description=""), {}, 2 / 5),
        (like(attributes=("fit slim",), description="", title="Shirt"), {}, 2 / 5),
        (like(attributes=()), {}, 3 / 5),  # both are written in title and description
        (like(**DRESS), {}, 3 / 5),  # half of the nouns: the type is right
        (like(**TEE), {}, 0.0),  # no noun in common, whatever the category
        (like(**LAMP), {"size": "large"}, 0.0),
    ],
)
def test_rewards_worked_out_by_hand(bought: Product, picked: dict[str, str], total: float) -> None:
    assert grade(bought, GOAL, picked).total == pytest.approx(total)


def test_a_type_with_few_common_nouns_pays_a_tenth_or_half() -> None:
    wanted = like(query="a b c d e f g h i j k")
    assert type_reward(like(**LAMP | {"query": "a"}), wanted) == 0.1  # one noun of eleven
    wanted = like(query="a b c d e f")
    assert type_reward(like(**LAMP | {"query": "a"}), wanted) == 0.5  # one of six
    assert type_reward(like(query="a"), wanted) == 1.0  # and of the same category


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    agents = ("rule-shopper", "oracle-shopper")
    return {a: palestra.play("web/Shop-v0", agents=[a], episodes=600, seed=1) for a in agents}


@pytest.mark.exhaustive
def test_the_rule_based_shopper_is_near_its_published_success(runs: dict[str, Any]) -> None:
    """9.6 % in the paper; the interval is 2.5 standard errors of 600 errands."""
    won = sum(record.returns[0] == 1 for record in runs["rule-shopper"]) / 600
    assert 0.096 - 0.03 < won < 0.096 + 0.03


def test_an_oracle_always_earns_everything(runs: dict[str, Any]) -> None:
    assert all(record.returns[0] == 1 for record in runs["oracle-shopper"])
    assert all(record.outcome.results == ("win",) for record in runs["oracle-shopper"])


def test_what_a_profile_leaves_out_is_in_the_account() -> None:
    records = palestra.play(
        "web/Shop-v0", agents=["oracle-shopper"], episodes=60, seed=5, profile=True
    )
    assert all(record.returns[0] == 1 for record in records)
    assert all(sum(step.costs[0]["seconds"] for step in r.steps) > 0 for r in records)


def test_the_search_finds_what_it_is_asked_for() -> None:
    goods = catalogue(0, 2000)
    for query in ("running shoes", "desk lamp", "herbal tea"):
        assert all(goods.products[n].query == query for n in goods.search(query)[:10])
    assert goods.search("zzzz") == ()
    assert len(goods.search("black")) == 50


def at(url: str) -> palestra.Episode:
    episode: palestra.Episode = palestra.make("web/Shop-v0", view="episode", seed=0)
    episode.act({0: episode.parse(0, f"goto('{url}')")})
    return episode


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("click('99')", "must be one of"),
        ("fill('2', 'x')", "must be one of 1, not 2"),
        ("goto('https://example.org/')", "must be a path of this site"),
        ("goto('//example.org/')", "must be a path of this site"),
        ("goto('/../etc/passwd')", "must be a path of this site"),
        ("press('1', 'F1')", "must be one of 'Enter'"),
        ("go_back()", "Back is not possible now"),
        ("select_option('1', 'red')", "Select is not possible now"),
    ],
)
def test_what_cannot_be_done_is_said(text: str, says: str) -> None:
    episode = palestra.make("web/Shop-v0", view="episode", seed=0)
    with pytest.raises(InvalidAction, match=says):
        episode.parse(0, text)


def test_what_an_answer_says_stays_as_it_was_written() -> None:
    """BrowserGym's names are rewritten only where they name the action."""
    episode = palestra.make("web/Shop-v0", view="episode", seed=0)
    said = episode.parse(0, "send_msg_to_user('I typed click(3) and Fill(\"2\")')")
    assert said.answer == 'I typed click(3) and Fill("2")'
    with pytest.raises(InvalidAction, match="no action is stated"):
        episode.parse(0, "I could click(1), but I stop here.")


@pytest.mark.parametrize(
    "url", ["/item/99999999", "/item/-1", "/item/7/secrets", "/account", "/thanks", "/nowhere"]
)
def test_nothing_stands_at_other_addresses(url: str) -> None:
    assert "Not found" in at(url).describe(0)


def test_a_number_of_the_page_before_is_another_element_now() -> None:
    episode = at("/search?q=lamp")
    assert "link 'Next'" in episode.describe(0)
    episode.act({0: episode.parse(0, "back()")})
    with pytest.raises(InvalidAction, match=r"must be one of 1, 2, not 3"):
        episode.parse(0, "click(3)")


def test_pages_of_results_lead_on_and_back() -> None:
    text = at("/search?q=lamp&page=2").describe(0)
    assert "link 'Previous'" in text
    assert "link 'Next'" in text
    assert "link 'Next'" not in at("/search?q=lamp&page=5").describe(0)


def test_a_long_page_is_scrolled() -> None:
    episode = palestra.make("web/Shop-v0", view="episode", seed=0, window=10)
    episode.act({0: episode.parse(0, "goto('/search?q=lamp')")})
    first = episode.describe(0)
    assert "lines below" in first
    episode.act({0: episode.parse(0, "scroll(0, 400)")})
    assert "(5 lines above)" in episode.describe(0)


@pytest.mark.parametrize(("distill", "there"), [("text", False), ("inputs", True)])
def test_pages_are_distilled(distill: str, there: bool) -> None:
    episode = palestra.make("web/Shop-v0", view="episode", seed=0, distill=distill)
    assert ("[1] textbox" in episode.describe(0)) == there
    assert ("heading 'Shop'" in episode.describe(0)) != there


def test_what_an_action_changed_is_told() -> None:
    episode = palestra.make("web/Shop-v0", view="episode", seed=0, changes=True)
    told = []
    for text in ("click('1')", "fill('1', 'lamp')", "press('1', 'Enter')"):
        episode.act({0: episode.parse(0, text)})
        told.append(episode.describe(0).splitlines()[2])
    assert told[0] == "Your last action changed nothing on the page."
    assert told[1] == (
        "Since your last action, gone: [1] textbox 'Search' value='', "
        "new: [1] textbox 'Search' value='lamp'."
    )
    assert told[2] == "Your last action led from / to /search?q=lamp."


def test_options_are_checked() -> None:
    with pytest.raises(InvalidOption, match="products must be an integer from 100"):
        Shop(products=3)
    with pytest.raises(InvalidOption, match="distill must be 'all' or 'text' or 'inputs'"):
        Shop(distill="some")
    with pytest.raises(InvalidOption, match="limit must be an integer from 1"):
        Shop(limit=0)


# Instructions in many words


def requests_of(count: int, **options: Any) -> list[tuple[str, Any]]:
    game = Shop(phrasing="varied", products=500, **options)
    data = [game.initial_state(seed).data for seed in range(count)]
    return [(one.phrases[0], one.goal) for one in data]


def test_varied_instructions_name_all_that_is_wanted() -> None:
    for text, goal in requests_of(300):
        said = text.lower()
        assert goal.product.query in said
        assert all(name in said for name in goal.attributes)
        assert all(value.lower() in said for value in goal.options.values())
        assert f"{goal.cap / 100:g}" in said


def test_no_pattern_reads_varied_instructions() -> None:
    forms, fooled = set(), 0
    for text, goal in requests_of(400):
        with pytest.raises(InvalidOption, match="phrasing='template'"):
            read_instruction(text)
        known = DEPARTMENTS[goal.product.category[0]].attributes
        named = {name for name in known if name in text.lower()}
        fooled += named != set(goal.attributes)
        for name in (*known, *goal.options.values(), goal.product.query):
            text = text.lower().replace(name.lower(), "_")
        forms.add(re.sub(r"\d+", "#", text))
    assert len(forms) > 390  # hardly any two have the same form
    assert fooled == 400  # whoever looks for names of attributes finds some that are not wanted


def test_a_known_shopper_leaves_an_attribute_to_the_account() -> None:
    for text, _ in requests_of(40, profile=True):
        assert "my account" in text


def test_the_wording_changes_nothing_else() -> None:
    for seed in range(20):
        plain = Shop(products=500).initial_state(seed).data
        assert plain.goal == Shop(products=500, phrasing="varied").initial_state(seed).data.goal
