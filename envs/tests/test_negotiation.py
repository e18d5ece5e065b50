"""Deal or No Deal: rules, values, endings; the count of scenarios is checked by brute force."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import palestra
import pytest
from palestra import Episode, InvalidAction, InvalidOption, Rng, Turn
from palestra_envs.text.negotiation.game import (
    ACCEPT,
    WORTH,
    Accept,
    Claim,
    Done,
    Negotiation,
    NegotiationState,
    Propose,
    Say,
    Walk,
    value_of,
    value_pairs,
)
from palestra_envs.text.negotiation.oracle import acquire, best_split, expert_move


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


# Both submit a split


def closed(first: Claim, second: Claim) -> Episode:
    """The table of Lewis et al., figure 1, after some talk and both claims."""
    episode = Episode(Negotiation(closing="split"), seed=0)
    episode.load(NegotiationState(Rng(0), (3, 2, 1), ((1, 2, 3), (2, 1, 2))))
    episode.act({0: Propose(0, 2, 1)})
    episode.act({1: Say(text="Fine.")})
    episode.act({0: Done()})
    episode.act({1: second})
    episode.act({0: first})
    return episode


@pytest.mark.parametrize(
    ("first", "second", "paid"),
    [
        (Claim(0, 2, 1), Claim(3, 0, 0), [7, 6]),  # as published
        (Claim(3, 0, 0), Claim(0, 2, 1), [3, 4]),
        (Claim(0, 2, 1), Claim(2, 0, 0), [0, 0]),  # a book is left
        (Claim(1, 2, 1), Claim(3, 0, 0), [0, 0]),  # one too many
        (Claim(3, 2, 1), Claim(0, 0, 0), [10, 0]),
    ],
)
def test_claims_pay_only_if_they_fit(first: Claim, second: Claim, paid: list[float]) -> None:
    episode = closed(first, second)
    assert episode.over
    assert list(episode.returns) == paid
    assert (episode.outcome.results[0] == "score") == (paid != [0, 0])


def test_a_claim_is_secret_until_both_are_in() -> None:
    episode = Episode(Negotiation(closing="split"), seed=4)
    episode.act({0: Done()})
    with pytest.raises(InvalidAction):
        episode.parse(1, "Say(text='Wait.')")
    episode.act({1: Claim(1, 1, 0)})
    assert "1 book, 1 hat, 0 balls" in episode.prompt(1, 0)
    assert "1 book, 1 hat" not in episode.prompt(0, 0)
    episode.act({0: Claim(0, 0, 1)})
    assert "player_1 takes 1 book, 1 hat, 0 balls" in episode.prompt(0, 0)


def test_when_time_is_up_both_submit() -> None:
    episode = Episode(Negotiation(closing="split", max_turns=2), seed=0)
    episode.act({0: Say(text="Hm.")})
    episode.act({1: Say(text="Hm.")})
    assert not episode.over
    assert episode.legal_text(0).startswith("Claim(")


@pytest.mark.parametrize("styles", [("fair", "fair"), ("conceder", "fair")])
def test_negotiators_who_end_the_talk_submit_what_fits(styles: tuple[str, str]) -> None:
    agents = [f"negotiator:style={style}" for style in styles]
    records = palestra.play("text/Negotiation-v0", agents=agents, episodes=20, closing="split")
    ended = [r for r in records if any(e.text.endswith("ends the talk.") for e in r.events)]
    assert len(ended) > 5
    assert all(record.outcome.results[0] == "score" for record in ended)


# The annotating oracle


def test_the_expert_aims_at_the_split_of_the_greatest_product() -> None:
    # by hand, 3 books, 2 hats, 1 ball; worth 1 2 3 and 2 1 2: of all splits, hats and ball against
    # the books (7 and 6, product 42) is the best; with one book more to the first it is 8 x 4
    state = NegotiationState(Rng(0), (3, 2, 1), ((1, 2, 3), (2, 1, 2)))
    assert best_split(state) == (0, 2, 1)
    game = Negotiation()
    assert expert_move(game, state, 0) == Propose(0, 2, 1)
    assert expert_move(game, state, 1) == Propose(3, 0, 0)
    state.offer, state.proposer = Propose(0, 2, 1), 0
    assert expert_move(game, state, 1) == Accept()
    state.offer = Propose(1, 2, 1)
    assert expert_move(game, state, 1) == Propose(3, 0, 0)  # 4 is less than 6


def test_only_unfamiliar_turns_are_annotated() -> None:
    agents = ["negotiator:style=greedy", "negotiator:style=conceder"]
    records = palestra.play("text/Negotiation-v0", agents=agents, episodes=4, seed=1)
    answers = [t.text for r in records for step in r.steps for t in step.turns if t.seat == 1]
    known = Counter(answers)

    def likelihood(turn: Turn[Any], said: str) -> float:
        assert turn.seat == 1
        return known[said] / len(answers)

    rare = sum(1 for said in answers if known[said] / len(answers) < 0.05)
    found = list(acquire(records, likelihood, below=0.05, seat=1))
    assert len(found) == rare > 0
    for one in found:
        assert one.likelihood < 0.05
        assert one.said in known
        assert "To you, player_1" in one.prompt
        assert "To you, player_0" not in one.prompt
        assert one.expert.startswith(("Propose(", "Accept("))
    assert len(list(acquire(records, likelihood, below=2.0, seat=1))) == len(answers)
