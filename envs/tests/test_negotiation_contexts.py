"""Contexts of "Deal or No Deal?" in the two formats that its authors published."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import palestra
import pytest
from palestra import Episode, InvalidOption, Rng
from palestra_envs.text.negotiation.contexts import Context, read_contexts
from palestra_envs.text.negotiation.game import Negotiation

SELF_PLAY = "1 0 1 4 3 2\n1 2 1 8 3 0\n\n2 3 1 4 2 0\n2 0 1 4 2 3\n1 0 1 4 3 2\n1 1 1 9 3 0\n"
DIALOGUES = (
    "<input> 1 4 4 1 1 2 </input> <dialogue> YOU: i want 4 hats <eos> THEM: <selection> </dialogue>"
    " <output> item0=0 item1=4 item2=0 item0=1 item1=0 item2=1 </output>"
    " <partner_input> 1 0 4 2 1 2 </partner_input>\n"
    "<input> 1 0 4 2 1 2 </input> <dialogue> THEM: i want 4 hats <eos> YOU: <selection> </dialogue>"
    " <output> <disagree> <disagree> <disagree> <disagree> <disagree> <disagree> </output>"
    " <partner_input> 1 4 4 1 1 2 </partner_input>\n"
)


def read(folder: Path, text: str) -> tuple[Context, ...]:
    path = folder / "contexts.txt"
    path.write_text(text, "utf-8")
    return read_contexts(str(path), most=5, worth=10)


def test_two_lines_of_self_play_are_one_context(tmp_path: Path) -> None:
    assert read(tmp_path, SELF_PLAY) == (
        ((1, 1, 3), ((0, 4, 2), (2, 8, 0))),
        ((2, 1, 2), ((3, 4, 0), (0, 4, 3))),
        ((1, 1, 3), ((0, 4, 2), (1, 9, 0))),
    )


def test_a_line_of_dialogue_holds_both_sides(tmp_path: Path) -> None:
    assert read(tmp_path, DIALOGUES) == (
        ((1, 4, 1), ((4, 1, 2), (0, 2, 2))),
        ((1, 4, 1), ((0, 2, 2), (4, 1, 2))),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0 1 4 3 2\n", r"line 1: the other side of this context is missing"),
        ("1 0 1 4 3 2\n2 0 1 4 2 3\n", r"line 2: both sides must see the same items"),
        ("1 0 1 4 3 2\n1 2 1 8 3\n", r"line 2: a side is six whole numbers"),
        ("1 0 1 4 3 2\n1 2 1 8 3 -1\n", r"line 2: a side is six whole numbers"),
        ("\n1 0 1 4 3 2\n1 2 1 8 3 1\n", r"line 3: all items together must be worth 10, not 13"),
        ("6 0 1 4 3 2\n6 0 1 4 3 2\n", r"line 2: there must be 1 to 5 items"),
        ("<input> 1 4 4 1 1 2 </input> <dialogue>\n", r"line 1: <input> … </input> and"),
        ("\n", r"has no context"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        read(tmp_path, text)


def test_a_file_that_is_not_there_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match=r"cannot read contexts from .*none\.txt"):
        palestra.make("text/Negotiation-v0", contexts=str(tmp_path / "none.txt"))


def test_episodes_draw_contexts_as_often_as_they_are_there(tmp_path: Path) -> None:
    expected = read(tmp_path, SELF_PLAY + SELF_PLAY[:24])
    game = Negotiation(contexts=str(tmp_path / "contexts.txt"))
    drawn: Counter[Context] = Counter()
    for seed in range(200):
        state = game.initial_state(seed)
        drawn[state.counts, state.values] += 1
    assert set(drawn) == set(expected)
    assert drawn[expected[0]] > 70  # two of four; the others are one of four each
    assert max(drawn[expected[1]], drawn[expected[2]]) < 70


def test_what_a_player_cannot_know_is_drawn_from_the_file(tmp_path: Path) -> None:
    read(tmp_path, SELF_PLAY)
    game = Negotiation(contexts=str(tmp_path / "contexts.txt"))
    episode = Episode(game, 0)
    while episode.state.values[0] != (0, 4, 2):
        episode = Episode(game, episode.seed + 1)
    rng = Rng(0)
    imagined = {game.determinize(episode.state, 0, rng).values[1] for _ in range(40)}
    assert imagined == {(2, 8, 0), (1, 9, 0)}
    other = game.determinize(episode.state, 1, rng)
    assert other.values == episode.state.values  # seat 1's values are in one context only


def test_a_record_of_the_original_contexts_replays(tmp_path: Path) -> None:
    read(tmp_path, DIALOGUES)
    path = str(tmp_path / "contexts.txt")
    (record,) = palestra.play("text/Negotiation-v0", agents="negotiator", contexts=path)
    assert palestra.replay(record).returns == list(record.returns)
    assert palestra.measure(record)["joint-value"] > 0
