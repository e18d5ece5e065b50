"""Verification: a record in which anything derivable was forged is found out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Decision, Divergence, EpisodeRecord, Turn, verify
from palestra.records.record import Attempt


def stubborn(turn: Turn) -> Decision:
    """Answers nonsense first, then plays."""
    text = "I refuse" if not turn.tries and turn.steps_played % 3 == 0 else turn.legal_texts[-1]
    return Decision(text=text, thought="hm", model="m")


@pytest.fixture(scope="module", params=["games/ConnectFour-v0", "games/KuhnPoker-v0"])
def record(request: pytest.FixtureRequest) -> EpisodeRecord:
    (made,) = palestra.play(request.param, agents=[stubborn, "random"], seed=3)
    return made


def copied(record: EpisodeRecord) -> EpisodeRecord:
    return msgspec.json.decode(msgspec.json.encode(record), type=EpisodeRecord)


def test_a_true_record_says_what_was_taken_on_trust(record: EpisodeRecord) -> None:
    trusted = verify(copied(record))
    assert {"agents", "versions", "raw", "thought", "model"} <= set(trusted)
    assert {"seed", "status"} <= set(trusted), "which only have an effect on some moves"
    assert not {"outcome", "returns", "mistakes", "steps"} & set(trusted)


def test_another_seed_deals_other_cards(record: EpisodeRecord) -> None:
    forged = copied(record)
    if forged.env != "games/KuhnPoker-v0":
        pytest.skip("a game without chance is the same under every seed")
    forged.seed += 1000
    with pytest.raises(Divergence):
        verify(forged)


def set_turn(name: str, value: Any) -> Callable[[EpisodeRecord], None]:
    return lambda record: setattr(record.steps[0].turns[0], name, value)


def set_last_turn(name: str, value: Any) -> Callable[[EpisodeRecord], None]:
    return lambda record: setattr(record.steps[1].turns[0], name, value)


@pytest.mark.parametrize(
    "forge",
    [
        lambda r: setattr(r, "returns", tuple(-value for value in r.returns)),
        lambda r: setattr(r, "mistakes", tuple(n + 1 for n in r.mistakes)),
        lambda r: setattr(r, "mistakes", tuple(0 for _ in r.mistakes)),
        lambda r: setattr(r, "players", ("ann", "bob")),
        lambda r: setattr(r, "options", {"rows": 5}),
        lambda r: setattr(r, "outcome", msgspec.structs.replace(r.outcome, scores=(9.0, 9.0))),
        lambda r: setattr(r, "outcome", msgspec.structs.replace(r.outcome, reason="forged")),
        lambda r: setattr(r, "outcome", msgspec.structs.replace(r.outcome, results=("draw",) * 2)),
        lambda r: r.steps.pop(),
        lambda r: setattr(r, "branched_at", 99),
        lambda r: r.steps[0].turns[0].errors.append("forged"),
        lambda r: setattr(r.steps[0], "unplayed", {0: [Attempt(raw="I am to move here")]}),
        lambda r: setattr(r.steps[0], "unplayed", {9: [Attempt(raw="nobody said this")]}),
        *(set_turn("status", status) for status in ("ok", "forfeit", "won")),
        *(set_last_turn("status", status) for status in ("retried", "replaced", "forfeit")),
        set_turn("text", "something else"),
        set_turn("legal", [0]),
        set_turn("seen", (0, 99)),
        set_turn("state_key", "00"),
        set_turn("action", 10**30),
        set_turn("action", "x"),
        set_turn("seat", 1),
        set_turn("status", "forfeit"),
    ],
)
def test_what_was_forged_is_named(
    record: EpisodeRecord, forge: Callable[[EpisodeRecord], None]
) -> None:
    forged = copied(record)
    forge(forged)
    with pytest.raises(palestra.PalestraError) as caught:
        verify(forged)
    assert str(caught.value)


def test_the_command_names_every_broken_record_and_fails(
    record: EpisodeRecord, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    from palestra.cli import main

    forged = copied(record)
    forged.returns = (7.0, 7.0)
    file = palestra.write_records(tmp_path / "episode.jsonl", [record, forged])
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(file), "--verify"])
    said = capsys.readouterr()
    assert ended.value.code == 1
    assert "episode 0" in said.out
    assert "replays exactly; taken on trust: seed, " in said.out
    assert "episode 1" in said.err
    assert "1 of 2 records do not replay" in said.err
