"""Deal or No Deal: rules, values, endings; the count of scenarios is checked by brute force."""

from __future__ import annotations

from itertools import product

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng
from palestra_envs.text.negotiation.game import (
    ACCEPT,
    WORTH,
    Accept,
    Negotiation,
    NegotiationState,
    Propose,
    Say,
    Walk,
    value_of,
    value_pairs,
)


def table(**changes: object) -> Episode:
    """A known start: 1 book, 2 hats, 3 balls; worth 4 2 1 to the first, 0 5 0 to the second."""
    episode = Episode(Negotiation(**changes), seed=0)
    episode.load(NegotiationState(Rng(0), (1, 2, 3), ((1, 3, 1), (4, 0, 2))))
    return episode


def test_published_example_pays_each_what_his_share_is_worth() -> None:
    # Lewis et al. 2017, figure 1: 3 books, 2 hats, 1 ball; values 1 2 3 and 2 1 2; one player
    # gets the hats and the ball, the other the books: 7 and 6
    episode = Episode(Negotiation(), seed=0)
    episode.load(NegotiationState(Rng(0), (3, 2, 1), ((1, 2, 3), (2, 1, 2))))
    episode.act({0: Propose(0, 2, 1)})
    episode.act({1: Accept()})
    assert episode.outcome.scores == (7.0, 6.0)
    assert list(episode.returns) == [7.0, 6.0]


@pytest.mark.parametrize("seed", range(40))
def test_every_deal_follows_the_paper(seed: int) -> None:
    state = Negotiation().initial_state(seed)
    assert 5 <= sum(state.counts) <= 7
    assert min(state.counts) >= 1
    for values in state.values:
        assert value_of(state.counts, values) == WORTH
    pairs = list(zip(*state.values, strict=True))
    assert all(a + b > 0 for a, b in pairs)
    assert any(a > 0 and b > 0 for a, b in pairs)


def test_value_pairs_are_all_that_fit() -> None:
    counts = (2, 2, 1)
    vectors = [v for v in product(range(11), repeat=3) if 2 * v[0] + 2 * v[1] + v[2] == 10]
    expected = {
        (a, b)
        for a, b in product(vectors, repeat=2)
        if min(x + y for x, y in zip(a, b, strict=True)) > 0
        and max(x * y for x, y in zip(a, b, strict=True)) > 0
    }
    assert set(value_pairs(counts)) == expected


def test_only_the_other_may_accept_and_only_what_stands() -> None:
    episode = table()
    with pytest.raises(InvalidAction):
        episode.act({0: Accept()})
    episode.act({0: Propose(1, 0, 0)})
    episode.act({1: Say(text="No.")})
    with pytest.raises(InvalidAction):  # talking let the offer lapse, and it was his own anyway
        episode.act({0: Accept()})


def test_nobody_can_take_what_is_not_there() -> None:
    episode = table()
    with pytest.raises(InvalidAction, match="books"):
        episode.act({0: Propose(2, 0, 0)})


def test_walking_away_pays_nobody() -> None:
    episode = table()
    episode.act({0: Propose(1, 2, 3)})
    episode.act({1: Walk()})
    assert list(episode.returns) == [0.0, 0.0]
    assert episode.outcome.results == ("none", "none")
    assert "player_1" in episode.outcome.reason
    assert "Your proposal" in episode.describe(0)  # seen after the end as before it


def test_time_runs_out_as_truncation() -> None:
    episode = table(max_turns=2)
    episode.act({0: Say(text="Hello.")})
    episode.act({1: Propose(1, 2, 3)})
    assert episode.over
    assert episode.truncated
    assert list(episode.returns) == [0.0, 0.0]


def test_values_of_the_other_are_told_to_nobody_else() -> None:
    episode = Episode(Negotiation(), seed=3)
    for seat in (0, 1):
        kinds = [event.kind for event in episode.transcript(seat)]
        assert kinds.count("values") == 1


def test_text_is_read_with_and_without_names() -> None:
    game, state = Negotiation(), table().state
    action = Propose(1, 0, 2)
    assert game.parse(state, 0, "Propose(books=1, hats=0, balls=2)") == action
    assert game.parse(state, 0, "I think so.\nPropose(books=1, hats=0, balls=2)") == action
    with pytest.raises(InvalidAction, match="Walk"):
        game.parse(state, 0, "give me the hats")


def test_menu_and_mask_agree_on_accept() -> None:
    episode = table()
    assert not episode.action_mask(0)[ACCEPT]
    episode.act({0: Propose(0, 0, 0)})
    assert episode.action_mask(1)[ACCEPT]


@pytest.mark.parametrize("options", [{"max_turns": 0}, {"message_limit": 3}])
def test_bad_options_say_what_is_accepted(options: dict[str, int]) -> None:
    with pytest.raises(InvalidOption, match=rf"{next(iter(options))} must be an integer"):
        Negotiation(**options)


def gains(first: str, second: str) -> list[float]:
    seats = [f"negotiator:style={first}", f"negotiator:style={second}"]
    records = palestra.play("text/Negotiation-v0", agents=seats, episodes=20, seed=1)
    return [sum(record.returns) for record in records]


def test_fair_negotiators_close_deals_worth_having() -> None:
    records = palestra.play("text/Negotiation-v0", agents=["negotiator"] * 2, episodes=20, seed=1)
    assert all(record.outcome.reason == "They agreed." for record in records)
    assert all(min(record.returns) >= 1 for record in records)


def test_two_greedy_negotiators_gain_less_than_two_fair_ones() -> None:
    assert sum(gains("greedy", "greedy")) < sum(gains("fair", "fair"))


def test_unknown_style_is_named() -> None:
    with pytest.raises(InvalidOption, match="'fair' or 'greedy' or 'conceder', not 'fari'"):
        palestra.make_agent("negotiator:style=fari")
