"""Measures of the games by hand: uneven seats, forfeits, early ends, nothing to measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import palestra
import pytest
from palestra import EpisodeRecord, measure
from palestra.records.record import EventRecord, OutcomeRecord, StepRecord, TurnRecord

Told = tuple[str, dict[str, Any]]


def record(
    env: str,
    *,
    opening: Sequence[Told] = (),
    steps: Sequence[Sequence[Told]] = (),
    turns: Sequence[Sequence[TurnRecord]] = (),
    rewards: Sequence[dict[int, dict[str, float]]] = (),
    results: Sequence[str] = ("score", "score"),
    returns: Sequence[float] = (),
    **options: Any,
) -> EpisodeRecord:
    """A record with these events, given as kinds and data, and nothing else."""
    returns = tuple(returns) or (0.0,) * len(results)
    length = max(len(steps), len(turns), len(rewards))
    played = [
        StepRecord(
            turns=list(turns[n]) if n < len(turns) else [TurnRecord(0, 0)],
            rewards=rewards[n] if n < len(rewards) else {},
            events=[EventRecord(k, "", d) for k, d in (steps[n] if n < len(steps) else ())],
        )
        for n in range(length)
    ]
    return EpisodeRecord(
        env,
        0,
        tuple(f"player_{seat}" for seat in range(len(results))),
        options=options,
        opening=[EventRecord(kind, "", data) for kind, data in opening],
        steps=played,
        outcome=OutcomeRecord(tuple(results), returns),  # type: ignore[arg-type]
        returns=returns,
    )


# Boards and cards


@pytest.mark.parametrize(
    ("results", "expected"),
    [(("win", "loss"), 1.0), (("draw", "draw"), 0.5), (("forfeit", "win"), 0.0)],
)
def test_the_first_movers_score(results: tuple[str, str], expected: float) -> None:
    assert measure(record("games/Hex-v0", results=results))["first-mover-score"] == expected


def test_catans_points_and_trades() -> None:
    told: list[Told] = [("offer", {}), ("trade", {}), ("offer", {}), ("offer", {})]
    end: Told = ("reveal", {"points": [4, 10, 2]})
    found = measure(record("games/Catan-v0", steps=[told, [end]], results=["loss", "win", "loss"]))
    assert found["offers-traded"] == pytest.approx(1 / 3)
    assert [found[f"victory-points:player_{seat}"] for seat in range(3)] == [4, 10, 2]


def test_poker_folded_at_once_and_shown() -> None:
    moves = [[TurnRecord(s, n, text)] for s, n, text in [(0, 6, "raise to 5"), (1, 0, "fold")]]
    found = measure(
        record(
            "games/Holdem-v0",
            steps=[[], [("payment", {"paid": [2, -2]})]],
            turns=moves,
            returns=[2, -2],
            results=["win", "loss"],
            big_blind=2,
        )
    )
    assert (found["aggression"], found["showdown"]) == (1 / 2, 0)
    assert found["big-blinds-a-hand:player_1"] == -1
    checked = [[TurnRecord(0, 1, "check")], [TurnRecord(1, 1, "check")]]
    shown: list[list[Told]] = [[], [("reveal", {"cards": [1, 2]})]]
    found = measure(record("games/LeducHoldem-v0", turns=checked, steps=shown))
    assert found["showdown"] == 1
    assert "aggression" not in found  # checks are no raise, call or fold


def test_kuhns_opening_bets_go_by_the_card() -> None:
    deals: list[Told] = [("deal", {"card": 2}), ("deal", {"card": 0})]
    for moves, bet in (([1, 0], 1.0), ([0, 1, 1], 0.0)):  # the second player's bet is no opening
        turns = [[TurnRecord(n % 2, move)] for n, move in enumerate(moves)]
        found = measure(record("games/KuhnPoker-v0", opening=deals, turns=turns))
        assert found["opening-bet:king"] == bet
        assert "opening-bet:jack" not in found
    given_up = record("games/KuhnPoker-v0", opening=deals, turns=[[TurnRecord(0, None)]])
    assert "opening-bet:king" not in measure(given_up)


@pytest.mark.parametrize(
    ("cards", "drawn", "bust"),
    [([9, 5], [5], 1.0), ([0, 12], [9], 0.0), ([0, 0], [8, 11, 0], 1.0)],  # 22, 21, 22
)
def test_a_bust_counts_aces_as_one(cards: list[int], drawn: list[int], bust: float) -> None:
    steps: list[list[Told]] = [[("reveal", {"card": card})] for card in drawn]
    hand = record(
        "games/Blackjack-v0", opening=[("deal", {"cards": cards})], steps=steps, results=["loss"]
    )
    assert measure(hand)["bust"] == bust


def test_hanabi_counts_cards_that_were_lost_with_the_last_life() -> None:
    texts = ["tell player_1 red", "play card 1", "play card 2", "discard card 1", "play card 1"]
    paid = [{}, {0: {"firework": 1.0}, 1: {"firework": 1.0}}, {}, {}, {0: {"bomb": -1.0}}]
    found = measure(
        record(
            "games/MiniHanabi-v0",
            turns=[[TurnRecord(n % 2, n, text)] for n, text in enumerate(texts)],
            rewards=paid,
            colours=2,
            ranks=2,
        )
    )
    assert (found["cards-played"], found["misplays"], found["hint-share"]) == (1, 2, 1 / 5)
    assert found["perfect"] == 0


def test_challenges_of_liars_dice() -> None:
    calls: list[list[Told]] = [[("reveal", {"true": t, "dice": []})] for t in (True, False, False)]
    assert measure(record("games/LiarsDice-v0", steps=calls))["challenges-right"] == 2 / 3
    assert "challenges-right" not in measure(record("games/LiarsDice-v0"))


# Hidden roles and talk


def test_werewolves_by_role_votes_and_the_seer() -> None:
    roles = ["villager", "werewolf", "seer", "villager", "werewolf"]
    first: list[Told] = [
        ("morning", {"victim": 3}),
        ("vote", {"votes": [1, 0, 1, -1, 2]}),  # seat 3 is dead
        ("reveal", {"player": 1, "role": "werewolf"}),
    ]
    second: list[Told] = [
        ("morning", {"victim": -1}),  # the doctor saved somebody
        ("vote", {"votes": [2, -1, 4, -1, 2]}),
        ("reveal", {"player": 2, "role": "seer"}),
    ]
    found = measure(
        record(
            "games/Werewolf-v0",
            opening=[("role", {"role": role}) for role in roles],
            steps=[first, second],
            results=["loss", "win", "loss", "loss", "win"],
        )
    )
    assert found["vote-accuracy"] == 3 / 4  # of seats 0 and 2, twice each: 1, 1, 2, 4
    assert (found["role-win:werewolf"], found["role-win:villager"]) == (1, 0)
    assert (found["seer-survival"], found["days"]) == (0, 2)


def test_a_forfeit_in_a_game_of_roles_counts_by_player() -> None:
    roles = ["villager", "werewolf", "villager"]
    opening = [("role", {"role": role}) for role in roles]
    found = measure(
        record("games/Werewolf-v0", opening=opening, results=["win", "loss", "forfeit"])
    )
    assert found["role-win:villager"] == 1 / 2
    assert "seer-survival" not in found
    assert "vote-accuracy" not in found


def test_avalons_votes_are_right_about_the_team() -> None:
    roles = ["Merlin", "servant", "assassin", "servant", "minion"]
    told: list[Told] = [
        ("proposal", {"team": [0, 2]}),
        ("vote", {"votes": [False, True, True, False, True], "approved": True}),
        ("reveal", {"quest": 0, "fails": 1, "failed": True}),
        ("proposal", {"team": [0, 1, 3]}),
        ("vote", {"votes": [True, False, False, False, True], "approved": False}),
        ("reveal", {"player": 2, "target": 0}),
    ]
    found = measure(
        record(
            "games/Avalon-v0",
            opening=[("role", {"role": role, "known": []}) for role in roles],
            steps=[told],
            results=["loss", "loss", "win", "loss", "win"],
        )
    )
    assert found["vote-accuracy"] == 3 / 6  # refused: 0, 3; approved: 0
    assert (found["teams-approved"], found["quests-failed"]) == (1 / 2, 1)
    assert found["merlin-found"] == 1


def test_agents_net_is_all_or_nothing_and_counts_bytes() -> None:
    inbox: list[Told] = [("inbox", {"from": {"1": "Grün", "2": "b"}}), ("inbox", {"from": {}})]
    end: list[Told] = [("reveal", {"answers": [], "score": 0.75})]
    found = measure(record("games/AgentsNet-v0", steps=[inbox, end], results=["score"] * 4))
    assert (found["network-score"], found["network-solved"]) == (0.75, 0)
    assert found["bytes-sent"] == 6  # the ü takes two


def test_one_of_two_answers_of_split_facts_is_right() -> None:
    told: list[Told] = [("message", {"text": "Ben"}), ("answer", {"town": "Almouth"})]
    told += [("answer", {"town": "Lordale"}), ("reveal", {"town": "Lordale"})]
    found = measure(record("games/SplitFacts-v0", steps=[told]))
    assert (found["answers-right"], found["bytes-sent"]) == (1 / 2, 3)


def test_taboo_words_and_buzzes() -> None:
    buzz: list[Told] = [("message", {"text": "desk"}), ("reveal", {"word": "desk"})]
    steps: list[list[Told]] = [
        [("message", {"text": "you sit on it"})],
        [("reveal", {"word": "chair", "right": True}), ("reveal", {"word": "chair"})],
        [*buzz, ("reveal", {"word": "table"})],
        [("skip", {}), ("reveal", {"word": "ship"})],
    ]
    found = measure(record("games/Taboo-v0", steps=steps, cards=5))
    assert (found["words-found"], found["taboos-broken"]) == (1 / 5, 1)


def test_codenames_touches_belong_to_the_guessers_side() -> None:
    steps: list[list[Told]] = [
        [("clue", {"team": 0, "word": "sea", "number": 2})],
        [("touch", {"player": 1, "place": 0}), ("reveal", {"place": 0, "owner": "red"})],
        [("touch", {"player": 2, "place": 3}), ("reveal", {"place": 3, "owner": "bystander"})],
        [
            ("clue", {"team": 1, "word": "cloud", "number": 3}),
            ("invalid", {"word": "cloud"}),
            ("reveal", {"place": 5, "owner": "red"}),  # nobody touched it
        ],
        [("touch", {"player": 4, "place": 6}), ("reveal", {"place": 6, "owner": "assassin"})],
    ]
    results = ["win"] * 3 + ["loss"] * 3
    found = measure(record("games/Codenames-v0", steps=steps, results=results))
    assert found["touches-right"] == 1 / 3
    assert (found["clue-size"], found["assassin-met"]) == (2.5, 1)


def test_a_language_that_drifts_and_is_ambiguous() -> None:
    said = [(0, 1, "aa", 1), (0, 2, "aa", 1), (0, 1, "ab", 1), (1, 1, "b", 2), (1, 1, "b", 1)]
    steps: list[list[Told]] = [
        [("reveal", {"speaker": s, "listener": 1 - s, "meant": m, "message": w, "picked": p})]
        for s, m, w, p in said
    ]
    found = measure(record("games/Referential-v0", steps=steps))
    assert found["understood"] == 3 / 5
    assert found["meanings-a-message"] == pytest.approx((2 + 1 + 1) / 3)
    assert found["language-drift"] == 1 / 2  # of seat 0's and seat 1's word for 1


def test_the_car_dealers_share_of_the_best_surplus() -> None:
    record_ = palestra.play("games/CarDealer-v0", agents="random", seed=2)[0]
    wishes = next(e.data["wishes"] for e in record_.opening if e.kind == "wish")
    game: Any = palestra.game("games/CarDealer-v0")
    best = game.best_car(tuple(wishes))[1]
    record_.returns = (3.0, -1.0)
    assert measure(record_)["surplus-share"] == pytest.approx(2 / best)


# Dilemmas


def test_a_table_games_cooperation_and_payoffs() -> None:
    played = [([0, 0], [3, 3]), ([0, 1], [0, 5]), ([1, 1], [1, 1])]
    steps: list[list[Told]] = [[("round", {"moves": m, "payoffs": p})] for m, p in played]
    table = [3, 3, 0, 5, 5, 0, 1, 1]
    options: dict[str, Any] = {"payoffs_table": table, "moves": ["cooperate", "defect"]}
    found = measure(record("games/PrisonersDilemma-v0", steps=steps, returns=[4, 9], **options))
    assert found["cooperation"] == 3 / 6
    assert found["coordination"] == 2 / 3
    assert found["payoff-share"] == pytest.approx((1 + 3 / 4 + 0) / 3)  # sums from 2 to 6
    assert found["equality"] == pytest.approx(1 - 10 / (2 * 2 * 13))
    named: dict[str, Any] = {**options, "moves": ["left", "right"]}
    assert "cooperation" not in measure(record("games/MatrixGame-v0", steps=steps, **named))
    assert "payoff-share" not in measure(record("games/PrisonersDilemma-v0", **options))


def test_donors_by_generation_with_punishments_and_an_unfinished_one() -> None:
    def act(percent: int) -> Told:
        return ("act", {"donor": 0, "recipient": 1, "percent": percent})

    steps: list[list[Told]] = [
        [act(50), act(-30), act(10)],
        [("generation", {"resources": [2.0, 10.0, 6.0]})],
        [act(100)],
    ]
    found = measure(record("games/DonorGame-v0", steps=steps, punishment=True))
    assert found["donated-by-generation:1"] == pytest.approx(0.2)
    assert found["donated-by-generation:2"] == 1
    assert found["cooperation"] == pytest.approx(1.6 / 4)
    assert found["resources-by-generation:1"] == 6
    assert "resources-by-generation:2" not in found
    assert found["punished-share"] == 1 / 4


def test_sanctions_by_hand() -> None:
    steps: list[list[Told]] = [
        [("choose", {"player": 0, "partner": 1}), ("choose", {"player": 1, "partner": 1})],
        [("play", {"moves": {"0": "cooperate", "1": "defect"}})],
        [("punish", {"player": 2, "target": 1}), ("punish", {"player": 1, "target": 0})],
        [("choose", {"player": 2, "partner": 0}), ("choose", {"player": 0, "partner": 1})],
        [("play", {"moves": {"1": "cooperate", "0": "cooperate"}})],
        [("punish", {"player": 2, "target": 1})],
    ]
    found = measure(record("games/Sanctions-v0", steps=steps, results=["score"] * 3))
    assert found["cooperation"] == 3 / 4
    assert found["just-punishments"] == 1 / 3
    assert found["partner-concentration"] == pytest.approx((3 / 4) ** 2 + (1 / 4) ** 2)


def test_sanctions_agree_with_the_games_own_count() -> None:
    spec = next(s for s in palestra.specs(namespace="games") if s.id == "games/Sanctions-v0")
    game: Any = palestra.game(spec.id, num_players=6, rounds=4)
    episode = palestra.Episode(game, 5, spec=spec, compiled=False)
    rng = palestra.Rng(1)
    while not episode.over:
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    known, found = game.measures(episode.state), measure(palestra.record_episode(episode))
    assert found["cooperation"] == pytest.approx(known["cooperation"])
    assert found["just-punishments"] == pytest.approx(known["just"])


def test_leaders_are_as_fair_as_their_least_return() -> None:
    led: list[Told] = [("leader", {"leader": seat}) for seat in (0, 0, 1)]
    found = measure(record("games/FairLeaders-v0", opening=led, returns=[4, 5]))
    assert found["fairness"] == 4 / 5
    assert found["lead-share:player_0"] == 2 / 3
    assert "fairness" not in measure(record("games/FairLeaders-v0", returns=[-1, 5]))


def test_offers_and_trust_as_parts() -> None:
    moves: list[list[Told]] = [[("move", {"player": 0, "action": 3})]]
    accepted: list[list[Told]] = [*moves, [("move", {"player": 1, "action": 11})]]
    found = measure(record("games/Ultimatum-v0", steps=accepted, pie=10))
    assert (found["offer"], found["accepted"]) == (0.3, 1)
    assert "accepted" not in measure(record("games/Ultimatum-v0", steps=moves, pie=10))
    back: list[list[Told]] = [*moves, [("move", {"player": 1, "action": 6})]]
    found = measure(record("games/Trust-v0", steps=back, pie=10, multiplier=4))
    assert (found["sent"], found["returned"]) == (0.3, 0.5)
    nothing: list[list[Told]] = [
        [("move", {"player": 0, "action": 0})],
        [("move", {"player": 1, "action": 0})],
    ]
    assert "returned" not in measure(record("games/Trust-v0", steps=nothing, pie=10, multiplier=4))


def test_splits_that_claim_too_much() -> None:
    steps: list[list[Told]] = [
        [("reveal", {"hands": [0, 1], "claims": list(claims)})]
        for claims in ((10, 10), (10, 0), (9, 2))
    ]
    found = measure(record("games/TrustAndSplit-v0", steps=steps, returns=[100, 41], coins=10))
    assert found["overclaims"] == 2 / 3
    assert found["split-efficiency"] == pytest.approx(141 / 300)


def test_norms_stags_cars_and_simulations() -> None:
    aligned: list[list[Told]] = [[("generation", {"alignment": share})] for share in (0.25, 1.0)]
    found = measure(record("games/Norms-v0", steps=aligned, results=["score"] * 3))
    assert (found["alignment:1"], found["alignment:2"]) == (0.25, 1)
    met: list[Told] = [("stag", {"players": seats}) for seats in ([0], [0, 1], [1])]
    found = measure(record("games/TrustDilemma-v0", steps=[met]))
    assert (found["stags-taken"], found["gorings"]) == (1, 2)
    assert measure(record("games/Merge-v0", steps=[[("crash", {})]]))["crashed"] == 1
    turns = [[TurnRecord(1, 0, "defect")], [TurnRecord(0, 2, "simulate")]]
    turns.append([TurnRecord(0, 1, "walk out")])
    found = measure(
        record(
            "games/SimulationGame-v0",
            turns=turns,
            steps=[[], [("simulate", {})]],
            moves=["trust", "walk out"],
        )
    )
    assert (found["simulated"], found["trusted"]) == (1, 0)


def test_cooperation_in_a_network_leaves_forfeits_out() -> None:
    turns = [[TurnRecord(0, 0), TurnRecord(1, 1), TurnRecord(2, 1)], [TurnRecord(0, None)]]
    found = measure(record("games/NetworkDilemma-v0", turns=turns, results=["score"] * 3))
    assert found["cooperation"] == 1 / 3


# Puzzles


def test_guesses_questions_and_letters() -> None:
    words: list[list[Told]] = [
        [("reveal", {"word": "apply", "marks": "-----"})],
        [("reveal", {"word": "cheer", "marks": "+++++"}), ("reveal", {"word": "cheer"})],
    ]
    assert measure(record("games/Wordle-v0", steps=words, results=["win"]))["guesses"] == 2
    asked: list[list[Told]] = [[("reveal", {"question": 1, "answer": "no"})]] * 3
    asked.append([("reveal", {"guess": 2, "right": True})])
    found = measure(record("games/TwentyQuestions-v0", steps=asked, results=["win"]))
    assert (found["questions"], found["guesses"], found["success"]) == (3, 1, 1)
    letters: list[list[Told]] = [
        [("reveal", {"letter": letter, "pattern": "_a_a", "lives": 5})] for letter in "abz"
    ]
    assert (
        measure(record("games/Hangman-v0", steps=letters, results=["loss"]))["wrong-letters"] == 2
    )


def test_progress_is_the_last_the_game_reported() -> None:
    played = record("games/Sokoban-v0", steps=[[], [], []], results=["truncated"])
    played.facts = {"progress": 0.0}
    played.steps[1].facts = {"progress": 0.5}
    assert measure(played)["progress"] == 0.5
    assert "progress" not in measure(record("games/Hangman-v0", results=["loss"]))


def test_what_is_left_of_other_puzzles() -> None:
    ended = record("games/Game2048-v0", results=["score"])
    ended.outcome = OutcomeRecord(("score",), (900.0,), "the greatest tile is 128")
    assert measure(ended)["greatest-tile"] == 128
    moves: list[list[Told]] = [[("move", {})]] * 3
    assert (
        measure(record("games/FrozenLake-v0", steps=moves, results=["win"]))["steps-to-goal"] == 3
    )
    assert "steps-to-goal" not in measure(
        record("games/FrozenLake-v0", steps=moves, results=["loss"])
    )
    walks: list[list[Told]] = [[("walk", {"blocked": cut})] for cut in (True, False, False)]
    assert measure(record("games/PlanPath-v0", steps=walks, results=["score"]))[
        "blocked-plans"
    ] == pytest.approx(1 / 3)
    right = record("games/LogicGrid-v0", results=["truncated"], returns=[0.25])
    assert measure(right)["values-right"] == 0.25
