"""Facts: what games and agents say for the record, and no seat is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Agent, Decision, Divergence, Turn, read_records, write_records
from palestra.records.facts import Reporting
from palestra.records.record import replay
from palestra_games.words.hangman import Hangman, HangmanState

SECRET = "xylophone"


@dataclass(frozen=True)
class Telling(Hangman):
    """Hangman that tells its word in every record."""

    def record_facts(self, state: HangmanState) -> Mapping[str, Any]:
        found = set(state.secret) & set(state.guessed)
        return {"word": state.secret, "progress": len(found) / len(set(state.secret))}


class Nosy(Agent):
    """Guesses letters in order, keeps all it can read, and reports how sure it is."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        for turn in turns:
            self.read += [turn.text, turn.position, turn.legal_text, str(turn.transcript)]
            self.read += [turn.game.rules_for(turn.seat), str(turn.scene)]
        return [Decision(t.legal_actions[0], facts={"value": (1, {"a": 2})}) for t in turns]


def play_telling(**settings: Any) -> tuple[palestra.EpisodeRecord, Nosy]:
    nosy = Nosy()
    (record,) = palestra.play(Telling(words=(SECRET,)), agents=[nosy], **settings)
    return record, nosy


def test_facts_stand_in_the_record_where_they_change() -> None:
    record, _ = play_telling()
    assert isinstance(Telling(), Reporting)
    assert not isinstance(Hangman(), Reporting)
    assert record.facts == {"word": SECRET, "progress": 0.0}
    found = 0
    for step in record.steps:
        hit = step.turns[0].action["letter"] in SECRET
        found += hit
        assert step.facts == ({"progress": found / len(set(SECRET))} if hit else {})
    assert found > 0


def test_what_an_agent_reports_is_kept_as_data() -> None:
    record, _ = play_telling()
    assert all(turn.facts == {"value": [1, {"a": 2}]} for turn in record.turns)


def test_no_seat_is_shown_a_fact() -> None:
    record, nosy = play_telling()
    assert SECRET not in "\n".join(nosy.read)
    assert not any(SECRET in str(event) for event in record.transcript(0)[:-1])


def test_records_without_facts_are_written_as_before() -> None:
    (record,) = palestra.play(Hangman(words=(SECRET,)), agents="first")
    assert b"facts" not in msgspec.json.encode(record)


def test_facts_outlast_files_and_replays(tmp_path: Any) -> None:
    record, _ = play_telling()
    (kept,) = read_records(write_records(tmp_path / "episode.jsonl", [record]))
    assert kept == record
    again = replay(kept, Telling(words=(SECRET,)))
    notes = [played.notes[0].decision.facts for played in again.history()]
    assert notes == [turn.facts for turn in record.turns]


def test_a_fact_that_is_otherwise_in_the_game_is_a_divergence() -> None:
    record, _ = play_telling()
    changed = next(n for n, step in enumerate(record.steps) if step.facts)
    record.steps[changed].facts = {"progress": 0.9}
    with pytest.raises(Divergence, match=r"facts.*0\.9"):
        replay(record, Telling(words=(SECRET,)))


def test_a_run_that_was_stopped_keeps_the_facts_of_its_first_part(tmp_path: Any) -> None:
    whole, _ = play_telling()

    class Stopper:
        @palestra.hookimpl
        def palestra_turn_ready(self, turn: Turn) -> None:
            if turn.steps_played == 3:
                raise KeyboardInterrupt

    settings: dict[str, Any] = {"out": tmp_path, "agents": [Nosy()]}
    with pytest.raises(KeyboardInterrupt):
        palestra.play(Telling(words=(SECRET,)), hooks=[Stopper()], **settings)
    (record,) = palestra.play(Telling(words=(SECRET,)), resume=True, **settings)
    assert [turn.facts for turn in record.turns] == [turn.facts for turn in whole.turns]
    assert [step.facts for step in record.steps] == [step.facts for step in whole.steps]


@pytest.mark.parametrize("facts", [{"value": object()}, [1], {("a", 1): object()}])
def test_facts_that_json_cannot_hold_are_refused(facts: Any) -> None:
    class Odd(Agent):
        name = "odd"

        def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
            return [Decision(turn.legal_actions[0], facts=facts) for turn in turns]

    with pytest.raises(palestra.InvalidOption, match=r"Decision\.facts is a mapping that JSON"):
        palestra.play(Hangman(words=(SECRET,)), agents=[Odd()])


def test_a_game_that_fails_to_report_ends_its_own_episode_only() -> None:
    @dataclass(frozen=True)
    class Failing(Telling):
        def record_facts(self, state: HangmanState) -> Mapping[str, Any]:
            if state.secret == "aa":
                raise ValueError("no facts of this")
            return super().record_facts(state)

    game = Failing(words=("aa", "bb", "cc"))
    with pytest.warns(RuntimeWarning, match="no facts of this"):
        records = palestra.play(game, agents="first", episodes=9)
    failed = [record for record in records if record.error]
    assert 0 < len(failed) < 9
    assert all("no facts of this" in record.error for record in failed)
