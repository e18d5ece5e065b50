"""Turns that are cut off: every refused answer is on record, and a resumed run is the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Agent, Budget, Decision, Divergence, EpisodeRecord, Turn, Usage, verify
from palestra.records.answers import counts_of
from palestra.records.record import read_records

NEGOTIATION = "text/Negotiation-v0"  # turn by turn, not zero-sum
DILEMMA = "games/PrisonersDilemma-v0"  # both seats at once
GAMES = ("games/ConnectFour-v0", NEGOTIATION, DILEMMA)


class Faulty(Agent):
    """Answers nonsense in a drawn part of its answers; can be interrupted after some calls."""

    name = "faulty"

    def __init__(self, calls: int = 10_000, wrong: int = 2) -> None:
        self.calls, self.wrong = calls, wrong

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        self.calls -= 1
        if self.calls < 0:
            raise KeyboardInterrupt
        return [self._answer(turn) for turn in turns]

    def _answer(self, turn: Turn) -> Decision:
        rng = turn.rng(7, 3)
        spent = Usage(calls=1, tokens_out=2, seconds=0.5)
        if rng.below(5) < self.wrong:
            return Decision(text=f"nonsense {rng.below(99)}", usage=spent)
        return Decision(turn.sample(rng), usage=spent)


def copied(record: EpisodeRecord) -> EpisodeRecord:
    return msgspec.json.decode(msgspec.json.encode(record), type=EpisodeRecord)


def forged(record: EpisodeRecord, seat: int) -> EpisodeRecord:
    other = copied(record)
    other.mistakes = tuple(n + (s == seat) for s, n in enumerate(record.mistakes))
    return other


def check_the_count(record: EpisodeRecord) -> None:
    """Everything that was spent is on record, and `mistakes` can be neither raised nor emptied."""
    assert tuple(counts.refused for counts in counts_of(record)) == record.mistakes
    verify(copied(record))
    for seat in range(len(record.players)):
        with pytest.raises(Divergence, match=f"mistakes of seat {seat}"):
            verify(forged(record, seat))


def test_answers_refused_before_a_budget_ends_are_on_record() -> None:
    budget = Budget(calls=2)
    (record,) = palestra.play(
        NEGOTIATION,
        agents=[Faulty(wrong=5), "first"],
        invalid="retry:9",
        budgets={"faulty": budget},
    )
    assert record.outcome is not None
    assert record.outcome.results == ("truncated", "truncated")
    assert record.mistakes == (2, 0)
    (last,) = record.steps
    assert [str(attempt.raw)[:8] for attempt in last.unplayed[0]] == ["nonsense"] * 2
    assert sum(spent.tokens_out for _, spent in record.usages) == 4
    assert "unplayed" in verify(copied(record))
    check_the_count(record)
    again = palestra.record_episode(palestra.replay(record), record.agents)
    assert again.steps == record.steps


def slow(turn: Turn) -> Decision:
    """Is refused once, then thinks for ever."""
    while turn.tries:
        pass
    return Decision(text="nonsense", usage=Usage(tokens_out=3))


def test_answers_refused_before_a_move_takes_too_long_are_on_record() -> None:
    (record,) = palestra.play(NEGOTIATION, agents=[slow, "first"], move_seconds=0.05)
    assert record.outcome is not None
    assert "time of 0.05 s" in record.outcome.reason
    assert record.mistakes == (1, 0)
    check_the_count(record)


def test_the_other_seats_answers_are_on_record_where_both_move_at_once() -> None:
    """Seat 0 has been refused once and has then answered when seat 1 forfeits by its mistakes."""

    def second(turn: Turn) -> Decision:
        return Decision(text="nonsense") if not turn.tries else Decision(turn.legal_actions[0])

    (record,) = palestra.play(DILEMMA, agents=[second, Faulty(wrong=5)], invalid="retry:2")
    assert record.mistakes == (1, 3)
    assert [attempt.error == "" for attempt in record.steps[-1].unplayed[0]] == [False, True]
    check_the_count(record)


@pytest.mark.parametrize(
    "env", [s.id for s in palestra.specs() if s.moves != "sequential" and s.players[1] > 1]
)
def test_all_who_are_wrong_in_one_step_forfeit_and_what_they_spent_is_on_record(env: str) -> None:
    """Every seat answers nonsense, so that each of those who are to act loses by itself."""
    asked: Counter[int] = Counter()

    def wrong(turn: Turn) -> Decision:
        asked[turn.seat] += 1
        return Decision(text="nonsense", usage=Usage(tokens_out=10 + turn.seat))

    seats = range(palestra.game(env).num_players)
    (record,) = palestra.play(env, agents=[wrong for _ in seats], invalid="forfeit")
    assert record.outcome is not None
    lost = [seat for seat in seats if record.outcome.results[seat] == "forfeit"]
    assert lost == sorted(asked)
    assert [turn.seat for turn in record.turns if turn.status == "forfeit"] == lost
    assert record.mistakes == tuple(asked[seat] for seat in seats)
    spent = sum(usage.tokens_out for _, usage in record.usages)
    assert spent == sum((10 + seat) * count for seat, count in asked.items())
    check_the_count(record)


@pytest.mark.parametrize("invalid", ["forfeit", "retry:2"])
@pytest.mark.parametrize("wrong", [{1}, {0, 2}, {1, 2, 3}, {0, 1, 2, 3}])
def test_a_seat_is_to_blame_for_its_own_answers_alone(wrong: set[int], invalid: str) -> None:
    def agent(seat: int) -> Any:
        return lambda turn: "nonsense" if seat in wrong else turn.legal_texts[0]

    (record,) = palestra.play(
        "grid/Foraging-v0",
        agents=list(map(agent, range(4))),
        invalid=invalid,
        num_players=4,
    )
    assert record.outcome is not None
    for seat, result in enumerate(record.outcome.results):
        assert result == ("forfeit" if seat in wrong else "none")
        assert (f"player_{seat} forfeits: illegal move" in record.outcome.reason) == (seat in wrong)
        assert record.mistakes[seat] == (seat in wrong) * (3 if invalid == "retry:2" else 1)
    check_the_count(record)
    assert palestra.record_episode(palestra.replay(record), record.agents).steps == record.steps


def test_answers_refused_before_an_error_are_on_record() -> None:
    def breaking(turn: Turn) -> Decision:
        if turn.tries:
            raise ZeroDivisionError
        return Decision(text="nonsense") if turn.steps_played else Decision(turn.legal_actions[0])

    with pytest.warns(RuntimeWarning, match="1 of 2 episodes ended in an error"):
        records = _with_one_error(breaking)
    (broken,) = [record for record in records if record.error]
    assert sum(broken.mistakes) == 1
    check_the_count(broken)


def _with_one_error(breaking: Any) -> list[EpisodeRecord]:
    def sound(turn: Turn) -> Any:
        return breaking(turn) if turn._episode.seed == 1 else turn.legal_actions[0]

    return palestra.play(DILEMMA, agents=[sound, "first"], episodes=2, seed=1)


@pytest.mark.parametrize("policy", ["retry:9", "random"])
@pytest.mark.parametrize("game", GAMES)
def test_a_resumed_run_with_refused_answers_is_the_uninterrupted_one(
    game: str, policy: str, tmp_path: Path
) -> None:
    def run(folder: Path, calls: int, **settings: Any) -> None:
        agents = [Faulty(calls), Faulty(calls, wrong=1)]
        agents[1].name = "other"
        palestra.play(
            game, agents=agents, episodes=6, seed=4, invalid=policy, out=folder, live=2,
            max_episode_steps=12, **settings,
        )  # fmt: skip

    run(tmp_path / "whole", 10_000)
    whole = by_number(tmp_path / "whole")
    assert sum(any(record.mistakes) for record in whole) > 2
    for calls in (2, 3, 5):
        folder = tmp_path / str(calls)
        with pytest.raises(KeyboardInterrupt):
            run(folder, calls)
        unfinished = folder / "unfinished.jsonl"
        for begun in read_records(unfinished) if unfinished.exists() else []:
            assert tuple(counts.refused for counts in counts_of(begun)) == begun.mistakes
        run(folder, 10_000, resume=True)
        assert by_number(folder) == whole


def by_number(folder: Path) -> list[EpisodeRecord]:
    return sorted(read_records(folder / "episode.jsonl"), key=lambda record: record.number)
