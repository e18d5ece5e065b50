"""Pages of a seat and what a server answers it, byte for byte: no secret is in them.

The kit redraws what is hidden from a seat and looks at every view of the game. Here the same is
done to what others build from those views, and what was told in private is searched for in it. The
time in which legal moves are found is compared as well.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from types import FrameType
from typing import Any

import msgspec
import palestra
import palestra_renderers.html as pages
import pytest
from palestra import Decision, Episode, EpisodeRecord, Rng
from palestra.kernel.errors import OutOfTurn
from palestra.kernel.game import Game
from palestra.kernel.lives import newcomers
from palestra.records.record import record_episode
from palestra.testing.kept import MOVES
from palestra.testing.subject import Subject, random_actions
from palestra_renderers.plain import clean
from palestra_server.match import Match
from palestra_server.messages import OPEN, Answer, MatchPlan, SeatView
from palestra_server.words import in_words

SPECS = palestra.specs()
MANY = [spec for spec in SPECS if spec.players[1] > 1]
HIDING = [spec for spec in SPECS if not spec.perfect_information]
SHOW = ("legal_texts", "observation", "scene")
SEATS, STEPS, EVERY = 2, 24, 8
LONG = 12  # characters of a text that is searched for: shorter ones are part of others by chance


def seats_of(game: Game[Any, Any]) -> range:
    return range(min(game.num_players, SEATS))


def worlds(subject: Subject) -> Iterator[tuple[str, int, list[Episode]]]:
    """At some places, for some seats: an episode, and the same with others' secrets redrawn."""
    played, rng = subject.episode(3), Rng(3)
    for step in range(STEPS):
        if played.over:
            return
        for seat in seats_of(subject.game) if step % EVERY == 0 else ():
            two = [subject.episode(0), subject.episode(0)]
            two[0].load(played.state)
            two[1].load(subject.game.determinize(played.state, seat, Rng(step + 5)))
            yield f"step {step}, player {seat}", seat, two
        played.act(random_actions(played, rng))


@pytest.mark.parametrize("spec", HIDING, ids=lambda spec: spec.id)
def test_pages_and_answers_are_the_same_whatever_is_hidden(
    spec: palestra.EnvSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = Subject(spec)
    record = EpisodeRecord(spec.id, 0, subject.game.players)
    match = started(spec.id)
    for where, seat, two in worlds(subject):
        made = []
        for episode in two:
            monkeypatch.setattr(pages, "retrace", lambda _, one=episode: iter([one]))
            page = pages.page_data(record, seat)
            monkeypatch.setattr(match._running, "episode", episode)
            view = match.view(seat, 0, SHOW, with_rules=True)
            made.append(msgspec.json.encode([page, view, in_words(view)]))
        assert made[0] == made[1], where


def lines_executed(find: Callable[..., Any], *given: Any) -> int:
    """How many lines of Python a call executes, which tells more exactly than its time."""
    count, before = 0, sys.gettrace()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    sys.settrace(trace)
    try:
        find(*given)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("spec", HIDING, ids=lambda spec: spec.id)
def test_the_time_of_finding_legal_moves_tells_no_secret(spec: palestra.EnvSpec) -> None:
    subject = Subject(spec)
    game, played, rng = subject.game, subject.episode(1), Rng(1)
    for step in range(4):
        if played.over:
            break
        seat, spent = played.to_act[0], set()
        drawn = [game.determinize(played.state, seat, Rng(step + n)) for n in range(2)]
        for state in (played.state, *drawn):
            game.legal(state, seat)  # what is made once and kept
            spent.add(lines_executed(game.legal, state, seat))
        assert len(spent) == 1, f"step {step}, player {seat}: {spent} lines"
        assert min(spent) > 0
        played.act(random_actions(played, rng))


@pytest.mark.parametrize("look", MOVES)
def test_a_turn_that_was_answered_tells_nothing_of_the_moves_of_others(look: str) -> None:
    kept: list[palestra.Turn] = []

    def listener(turn: palestra.Turn) -> Any:
        for old in kept:
            if old.seat != turn.seat:
                with pytest.raises(OutOfTurn, match=f"player_{old.seat} is not to act now"):
                    MOVES[look](old)
        kept.append(turn)
        return turn.sample(turn.rng(0, 0))

    (record,) = palestra.play("games/Reference-v0", agents=listener, seed=5, rounds=3)
    assert len(kept) == len(list(record.turns)) > 4
    assert {turn.seat for turn in kept} == {0, 1}


FOLDED: list[tuple[str, dict[str, Any]]] = [
    ("games/Holdem-v0", {"num_players": 6}),
    ("games/AgentsNet-v0", {"task": "leader-election"}),
    ("games/DonorGame-v0", {"num_players": 6, "rounds": 3, "generations": 2}),
    ("markets/SealedAuction-v0", {"num_players": 5}),
]


@pytest.mark.parametrize(("env", "options"), FOLDED)
def test_nobody_looks_ahead_from_an_episode_that_is_over(env: str, options: dict[str, Any]) -> None:
    kept: list[palestra.Turn] = []

    def player(turn: palestra.Turn) -> Any:
        kept.append(turn)
        turn.fork(Rng(1))  # as long as it goes on
        return turn.sample(turn.rng(0, 0))

    palestra.play(env, agents=player, episodes=1, seed=2, **options)
    for turn in kept:
        with pytest.raises(OutOfTurn, match=r"the episode is over|somebody else is player"):
            turn.fork(Rng(1))


@pytest.mark.parametrize("look", ["text", "position", "scene", "observation", "mask"])
def test_a_turn_shows_nothing_of_who_sits_there_next(look: str) -> None:
    game = palestra.game("games/DonorGame-v0", num_players=6, rounds=2, generations=3)
    episode, rng = Episode(game, 4), Rng(4)
    first = [palestra.Turn(episode, seat) for seat in range(6)]
    told = [turn.transcript for turn in first]
    while not any(map(episode.life, range(6))):
        for turn in first:
            getattr(turn, look)
        episode.act({seat: episode.sample(seat, rng) for seat in episode.to_act})
    gone = [turn for turn in first if episode.life(turn.seat)]
    assert 0 < len(gone) < 6
    for turn in gone:
        with pytest.raises(OutOfTurn, match=f"somebody else is player_{turn.seat} now"):
            getattr(turn, look)
        assert turn.transcript[: len(told[turn.seat])] == told[turn.seat]
        assert not any(turn.seat in newcomers(event) for event in turn.transcript)


def test_a_turn_cannot_be_made_into_that_of_another_seat() -> None:
    turn = palestra.Turn(Episode(palestra.game("games/KuhnPoker-v0"), 1), 0)
    with pytest.raises(AttributeError, match="immutable"):
        turn.seat = 1  # type: ignore[misc]


def started(env: str) -> Match:
    seats = palestra.game(env).num_players
    match = Match("m", MatchPlan(env, (OPEN,) * seats, 7))
    for seat in range(seats):
        match.take(seat)
    return match


def told_in_private(record: EpisodeRecord, seat: int) -> set[str]:
    """What events told others, and no event told this seat."""
    own = "\n".join(event.text for event in record.transcript(seat))
    texts = {e.text for e in record.events if e.audience is not None and seat not in e.audience}
    return {text for text in texts if len(text) >= LONG and text not in own}


def sights(record: EpisodeRecord) -> dict[int, str]:
    """What the game itself shows each seat in its positions and pictures: it may say the same."""
    shown: dict[int, list[str]] = {}
    for episode in palestra.retrace(record):
        for seat in seats_of(episode.game):
            scene = episode.scene(seat)
            lines = [episode.describe(seat), *scene.texts()]
            lines += [episode.legal_text(seat)] if seat in episode.to_act else []
            shown.setdefault(seat, []).extend(lines)
    return {seat: "\n".join(lines) for seat, lines in shown.items()}


def whispering(turn: palestra.Turn) -> Decision:
    """A random move, with thoughts that are nobody else's."""
    action = turn.sample(turn.rng(3, 4))
    text = f"my own words of {turn.seat}\n{turn.action_text(action)}"
    return Decision(action, text=text, thought=f"a private thought of {turn.seat}")


@pytest.mark.parametrize("spec", MANY, ids=lambda spec: spec.id)
def test_nothing_private_is_in_the_bytes_of_a_seats_page(spec: palestra.EnvSpec) -> None:
    (record,) = palestra.play(spec.id, agents=whispering, seed=11, max_episode_steps=STEPS)
    shown = sights(record)
    for seat in seats_of(palestra.game(spec.id)):
        page = pages.page_data(record, seat)
        assert page["seed"] is None
        data = msgspec.json.encode(page).decode()
        said = data + "\n".join(text for frame in page["frames"] for text, _ in frame["events"])
        for text in told_in_private(record, seat):
            written = clean(text, pages.TEXT_LIMIT)
            assert written in shown[seat] or written not in said, (seat, text)
        for other in set(range(len(record.players))) - {seat}:
            assert f"private thought of {other}" not in data
            assert f"own words of {other}" not in data


@pytest.mark.parametrize("spec", MANY, ids=lambda spec: spec.id)
def test_nothing_private_is_in_what_a_server_answers(spec: palestra.EnvSpec) -> None:
    match, rng = started(spec.id), Rng(5)
    heard: dict[int, list[SeatView]] = {seat: [] for seat in seats_of(match.game)}
    for _ in range(STEPS):
        for seat, views in heard.items():
            views.append(match.view(seat, views[-1].cursor if views else 0))
        if match.over:
            break
        play_step(match, rng)
    record = record_episode(match.episode)
    shown = sights(record)
    for seat, views in heard.items():
        for earlier, later in pairwise(views):
            assert earlier.cursor <= later.cursor
        told = "\n".join(event.text for view in views for event in view.events)
        said = told + "".join(f"{view.position}\n{view.legal}\n{view.error}" for view in views)
        for text in told_in_private(record, seat):
            assert text in shown[seat] or text not in said, (seat, text)


def play_step(match: Match, rng: Rng) -> None:
    """A random answer for everybody who is due, written as its player would."""
    for seat in match.due():
        action = match.episode.sample(seat, rng)
        text = match.episode.action_text(seat, action)
        match.answer(Answer(seat, match.answers[seat], text=text))
