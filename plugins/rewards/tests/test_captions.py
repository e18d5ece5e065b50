"""Captions of what a step has changed, and models of what they are worth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import palestra
import pytest
from palestra import InvalidOption, Rng
from palestra.agents.models import Request
from palestra.records.record import retrace
from palestra_rewards.judges import Judge
from palestra_rewards.steps.captions import (
    CaptionModel,
    CaptionReward,
    difference,
    label_captions,
    rank_captions,
)

SOME = {"You open the door.": 0.75, "A wall blocks everything.": 0.2}


@pytest.mark.parametrize(
    ("before", "after", "caption"),
    [
        ("You stand in a hall.", "You stand in a hall.", ""),
        ("You have a key.", "You have a key. The door is open.", "now The door is open"),
        ("Steps: 3 of 50. Gold: 9.", "Steps: 4 of 50. Gold: 2.", "Gold: less; Steps: more"),
        ("- a fox three cells north", "- a fox two cells north and one cell east", ""),
        (
            "- a fox three cells north\n- a fox one cell east",
            "- a fox one cell east",
            "no longer a fox",
        ),
        (
            "You hold nothing.\n##..#\n#...#",
            "You hold a lamp.\n##..#\n#..@#",
            "no longer You hold nothing; now You hold a lamp",
        ),
        ("##..#", "##.@#", "no longer ##..#; now ##.@#"),
        (
            "You are in the hall: empty.",
            "You are in the attic: empty.",
            "no longer You are in the hall empty; now You are in the attic empty",
        ),
    ],
)
def test_a_caption_is_the_difference_in_words(before: str, after: str, caption: str) -> None:
    assert difference(before, after) == caption


@pytest.mark.parametrize("env", ["games/Quest-v0", "grid/Foraging-v0", "grid/XLand-v0"])
def test_captions_come_up_again_in_real_play(env: str) -> None:
    """Where whole states never do: look-ups hit."""
    seats = palestra.make(env, view="episode", seed=0).game.num_players
    records = palestra.play(
        env, agents=["random"] * seats, episodes=4, seed=1, max_episode_steps=40
    )
    again: dict[str, list[bool]] = {"difference": [], "state": []}
    seen: dict[str, set[str]] = {"difference": set(), "state": set()}
    for record in records:
        before = ""
        for number, episode in enumerate(retrace(record)):
            after = episode.game.describe(episode.state, 0)
            if number and not episode.over:
                for kind, text in (("difference", difference(before, after)), ("state", after)):
                    again[kind].append(text in seen[kind])
                    seen[kind].add(text)
            before = after
    assert np.mean(again["difference"]) > 0.25
    assert np.mean(again["state"]) < 0.1


def test_a_classifier_fits_the_odds_of_its_labels() -> None:
    """Captions without a word in common: a linear model meets every label, as logits by hand."""
    model = CaptionModel(steps=800).fit(SOME)
    np.testing.assert_allclose(model.scores(SOME), np.log([3, 0.25]), atol=1e-3)
    assert [model.worth(caption) for caption in SOME] == [1, 0]
    assert model.worth("You open the chest.") == 1  # nobody has labelled it
    again = CaptionModel(steps=800).fit(SOME)
    assert (again.scores(SOME) == model.scores(SOME)).all()


def test_a_ranking_fits_bradley_and_terry() -> None:
    """A beats B three times of four, B beats C four of five: strengths differ by log 3 and 4."""
    pairs = [("apple", "brick", 1.0)] * 3 + [("brick", "apple", 1.0)]
    pairs += [("brick", "cloud", 1.0)] * 4 + [("brick", "cloud", 0.0)]
    model = CaptionModel(steps=1500, rate=0.05).fit(pairs)
    a, b, c = model.scores(["apple", "brick", "cloud"])
    assert a - b == pytest.approx(np.log(3), abs=1e-3)
    assert b - c == pytest.approx(np.log(4), abs=1e-3)
    worth = [model.worth(caption) for caption in ("apple", "brick", "cloud")]
    scores = np.array([a, b, c])
    expected = np.maximum((scores - scores.mean()) / scores.std(), 0)
    np.testing.assert_allclose(worth, expected, atol=1e-9)


@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("variant", ["classifier", "ranking"])
def test_learnt_captions_pay_from_the_next_play_through_on(tmp_path: Path, variant: str) -> None:
    """A judge who likes full hands labels half of what random walkers did; the rest is paid too."""
    path = tmp_path / "labels.json"
    name = f"captions:labels={path},variant={variant},weight=1"
    settings = {"agents": ["random"], "episodes": 6, "seed": 3, "max_episode_steps": 40}
    blind = palestra.play("games/Quest-v0", rewards=["env", name], **settings)
    assert not terms(blind).any()

    shaper = CaptionReward(labels=str(path), variant=variant)
    playing = shaper.begin()
    for record in blind:
        before = ""
        for number, episode in enumerate(retrace(record)):
            after = episode.game.describe(episode.state, 0)
            if number:
                playing.bonus(0, difference(before, after))
            before = after
    assert len(shaper.unlabelled) > 20

    def likes_holding(request: Request) -> str:
        said = request.messages[-1].content
        if "Candidate 1" not in said:
            return "yes" if "now In hand" in said else "no"
        first, second = (part.count("now In hand") for part in said.split("Candidate 2"))
        return "1" if first > second else "2"

    judge, known = Judge(likes_holding), sorted(shaper.unlabelled)
    half = known[::2]
    if variant == "ranking":
        rank_captions(judge, "eat", half, path, n=300, rng=Rng.seeded(0))
    else:
        label_captions(judge, "eat", half, path)
    following = shaper.begin()
    rest = known[1::2]
    eaten = [following.bonus(0, c) for c in rest if "now In hand" in c]
    others = [following.bonus(0, c) for c in rest if "now In hand" not in c]
    assert np.mean(eaten) > np.mean(others)
    paid = palestra.play("games/Quest-v0", rewards=["env", name], **settings)
    assert terms(paid).any()
    again = palestra.play("games/Quest-v0", rewards=["env", name], **settings)
    assert (terms(paid) == terms(again)).all()


def terms(records: list[palestra.EpisodeRecord]) -> np.ndarray:
    """What the term "caption" paid, seat by seat and step by step."""
    paid = [
        step.rewards.get(seat, {}).get("caption", 0.0)
        for record in records
        for step in record.steps
        for seat in range(len(record.players))
    ]
    return np.array(paid)


def test_labels_of_another_variant_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.json"
    path.write_text(json.dumps({"a": 1.0}))
    with pytest.raises(InvalidOption, match="labels of a ranking must be a list"):
        CaptionReward(labels=str(path), variant="ranking")
    with pytest.raises(InvalidOption, match="labels must be a mapping"):
        CaptionReward(labels=[["a", "b", 1.0]])
    with pytest.raises(InvalidOption, match="a list of"):
        CaptionReward(labels=[["a", "b", 3]], variant="ranking")
