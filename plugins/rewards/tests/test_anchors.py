"""Which decisions are the same: anchors in records, loops, and the groups they make."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import palestra
import pytest
from palestra import Episode, InvalidOption
from palestra.kernel.registry import registry
from palestra.records.record import retrace
from palestra_rewards import Group, estimate, shape
from palestra_rewards.estimators.gigpo import step_part
from palestra_rewards.repeats import measure, row, share_in_episodes

LIVELY = ("web/Shop-v0", "games/Quest-v0", "games/TrustDilemma-v0", "web/ToolWorld-v0")


def played(env: str, texts: list[str], **options: Any) -> Episode:
    """An episode of one player after these moves."""
    episode = palestra.make(env, view="episode", seed=0, **options)
    for text in texts:
        episode.act({0: episode.parse(0, text)})
    return episode


def anchor(episode: Episode) -> bytes:
    return episode.game.anchor(episode.state, 0)


@pytest.mark.parametrize(
    ("env", "loop"),
    [
        ("web/Shop-v0", ["Goto(url='/')"]),
        ("web/AppWorld-v0", ["Goto(url='/')"]),
        ("web/CRMDesk-v0", ["Goto(url='/')"]),
        ("web/Desktop-v0", ["Goto(url='/')"]),
    ],
)
def test_reloading_a_page_keeps_the_anchor(env: str, loop: list[str]) -> None:
    before, after = played(env, loop), played(env, loop * 3)
    assert anchor(before) == anchor(after)
    assert before.state_key(0) != after.state_key(0)


def test_a_page_by_another_way_is_the_same_but_for_what_was_typed() -> None:
    found = played("web/Shop-v0", ["Goto(url='/')"])
    box = re.search(r"\[(\d+)\] textbox", found.describe(0))
    assert box is not None
    typed = played("web/Shop-v0", [f"Fill(element={box[1]}, text='shoes')"])
    cleared = played("web/Shop-v0", [f"Fill(element={box[1]}, text='shoes')", "Goto(url='/')"])
    assert anchor(cleared) == anchor(found) != anchor(typed)


@pytest.mark.parametrize(
    ("env", "there", "back"),
    [
        ("games/Quest-v0", 2, 2),
        ("games/TrustDilemma-v0", 1, 1),
        ("games/Sokoban-v0", 1, 1),
        ("games/LogicGrid-v0", 1, 1),
    ],
)
def test_going_there_and_back_comes_to_the_same_decision(env: str, there: int, back: int) -> None:
    """Among all loops of so many moves, some lead back: those of the rules, whatever they are."""
    start = palestra.make(env, view="episode", seed=1)
    for _ in range(there):  # once around first, so that a map seen on the way is seen
        walk(start, 0)
    first, found = anchor(start), False
    for out in range(len(start.legal_actions(0))):
        once = start.fork()
        walk(once, out)
        for home in range(len(once.legal_actions(0)) if not once.over else 0):
            twice = once.fork()
            walk(twice, home)
            found |= not twice.over and anchor(twice) == first
    assert found


def walk(episode: Episode, choice: int) -> None:
    """Play a legal move of seat 0; whoever moves too plays their last."""
    episode.act(
        {seat: episode.legal_actions(seat)[choice if seat == 0 else -1] for seat in episode.to_act}
    )


@pytest.mark.parametrize("env", LIVELY)
def test_step_groups_of_real_play_are_real(env: str) -> None:
    """Random play, no tag by hand: decisions come up again, and get a baseline of their own."""
    records = palestra.rollouts(env, agents="random", seed=0, n=4, max_episode_steps=40)
    group = Group.of(records, one_task=True)
    by_step = Group.of(records, anchor=lambda game, state, seat: game.state_key(state, seat))
    assert share_in_episodes(group) > 0.1
    assert group.repeats > by_step.repeats
    paid = np.random.default_rng(0).normal(size=group.size)
    moved = step_part(group.replace(rewards=paid)) != 0
    assert moved.mean() == pytest.approx(group.repeats, abs=0.02)
    base = group.replace(rewards=paid)
    merged = estimate("turn-relative+salt:history=0", base).values
    assert (merged != estimate("turn-relative", base).values).any()


def test_novelty_pays_less_where_a_page_comes_up_again() -> None:
    records = palestra.play(
        "web/Shop-v0", agents="random", episodes=3, rewards=["novelty"], max_episode_steps=20
    )
    paid = {round(t["novelty"], 3) for r in records for s in r.steps for t in s.rewards.values()}
    assert {1.0, round(0.5**0.5, 3)} <= paid


@pytest.mark.parametrize("env", ["games/TrustDilemma-v0", "games/Quest-v0", "web/ToolWorld-v0"])
def test_records_hold_the_games_own_anchors(env: str) -> None:
    """Those of the compiled rules too, from what a replay reaches."""
    (record,) = palestra.play(env, agents="random", seed=4, max_episode_steps=12)
    found = [turn.anchor for turn in record.turns]
    expected = [
        episode.game.anchor(episode.state, turn.seat).hex()
        for episode, step in zip(retrace(record), record.steps, strict=False)
        for turn in step.turns
    ]
    assert found == expected
    assert any(turn.anchor != turn.state_key for turn in record.turns)


@pytest.mark.parametrize("env", ["web/Shop-v0", "games/Quest-v0", "games/PrisonersDilemma-v0"])
def test_the_page_of_repeats_holds_what_is_measured(env: str) -> None:
    from pathlib import Path

    page = Path(__file__).parents[3] / "docs" / "repeats.md"
    assert row(measure(env)) in page.read_text("utf-8").splitlines()


def test_the_page_of_repeats_has_every_environment() -> None:
    from pathlib import Path

    page = Path(__file__).parents[3] / "docs" / "repeats.md"
    rows = [line.split(" | ")[0].strip("| ") for line in page.read_text("utf-8").splitlines()]
    assert [name for name in registry().environments if name not in rows] == []


# Input that does not fit


def records(n: int = 2, **options: Any) -> list[Any]:
    return palestra.rollouts("games/TicTacToe-v0", agents="random", n=n, seed=1, **options)


def test_prefixes_are_left_out_of_the_group() -> None:
    start = palestra.make("games/ConnectFour-v0", view="episode", seed=3)
    for move in (3, 3, 2):
        start.act({start.to_act[0]: move})
    siblings = palestra.rollouts("games/ConnectFour-v0", agents="random", n=4, start=start)
    group = Group.of(siblings, one_task=True)
    assert group.size == sum(len(record.own_turns) for record in siblings)
    assert group.turn.min() == 3
    tagged = siblings[0]
    tagged.tags["values"] = list(range(len(tagged.turns)))
    assert Group.of([tagged]).turn_fact("values").tolist() == list(range(3, len(tagged.turns)))
    assert np.isfinite(estimate("segment-tree", siblings).values).all()


def test_segment_chain_reads_the_cuts_that_rollouts_make() -> None:
    """A trunk, and continuations from two of its positions: values are means of their returns."""
    env = "games/FrozenLake-v0"
    (trunk,) = palestra.rollouts(env, agents="random", n=1, seed=3, max_episode_steps=12)
    trunk.tags["id"] = "trunk"
    family, worth = [trunk], {}
    for cut in (2, 4):
        start = next(e.fork() for t, e in enumerate(retrace(trunk)) if t == cut)
        branches = palestra.rollouts(
            env, agents="random", n=6, seed=cut, start=start, parent="trunk", max_episode_steps=40
        )
        worth[cut] = float(np.mean([record.returns[0] for record in branches]))
        family += branches
    values = estimate("segment-chain", family).per_episode()
    own = trunk.returns[0]
    assert values[0][0] == pytest.approx(worth[2] - own)
    assert values[0][2] == pytest.approx(worth[4] - worth[2])
    assert values[0][-1] == pytest.approx(own - worth[4])
    assert not any(one.any() for one in values[1:])


def cut_short(record: Any) -> None:
    record.outcome, record.steps = None, record.steps[:2]


def without_its_last_step(record: Any) -> None:
    record.steps = record.steps[:-1]


def failed(record: Any) -> None:
    record.error = "Traceback …\nValueError: no such model"


def without_a_seat(record: Any) -> None:
    record.returns = record.returns[:1]


def with_a_short_tag(record: Any) -> None:
    record.tags["values"] = [0.5]


def with_a_short_anchor(record: Any) -> None:
    record.tags["anchor"] = ["a"]


def with_one_role(record: Any) -> None:
    record.tags["roles"] = ["solver"]


def with_one_success(record: Any) -> None:
    record.tags["success"] = [1.0]


def with_text_for_success(record: Any) -> None:
    record.tags["success"] = ["yes", "no"]


def with_too_much_success(record: Any) -> None:
    record.tags["success"] = 3


def branched_too_late(record: Any) -> None:
    record.branched_at = 99


def branched_too_early(record: Any) -> None:
    record.branched_at = -1


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (with_text_for_success, "the tag 'success' must hold numbers, not 'yes'"),
        (with_too_much_success, "success must be from 0 to 1, not 3"),
        (branched_too_late, "branched off at step 99, but it has . steps; branched_at is"),
        (branched_too_early, "branched off at step -1, but it has . steps"),
        (cut_short, "stops after 2 steps, before its end; finish the run with resume=True"),
        (without_its_last_step, "holds . of its . steps; read the whole record again"),
        (failed, "ended in an error, ValueError: no such model; leave such records out"),
        (without_a_seat, "has 1 returns for 2 seats"),
        (with_a_short_tag, "the tag 'values' has 1 entries; the record has . turns"),
        (with_a_short_anchor, "the tag 'anchor' has 1 entries"),
        (with_one_role, "the tag 'roles' has 1 entries; there are 2 seats"),
        (with_one_success, "the tag 'success' has 1 entries; there are 2 seats"),
    ],
)
def test_records_that_do_not_fit_are_named(spoil: Any, message: str) -> None:
    group = records(2)
    for record in group:
        spoil(record)
    with pytest.raises(InvalidOption, match=message):
        Group.of(group)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ({"seed": 2}, "seed is 1 and 2"),
        ({"env": "games/KuhnPoker-v0"}, "env is"),
        ({"option": True}, "options is"),
        ({"split": "held-out"}, "splits differ"),
    ],
)
def test_members_of_other_tasks_are_named(other: dict[str, Any], what: str) -> None:
    group = records(2)
    stranger = group[1]
    if "option" in other:
        stranger.options = {"size": 4}
    elif "split" in other:
        stranger.tags["split"] = other["split"]
    else:
        (name,) = other
        setattr(stranger, name, other[name])
    with pytest.raises(InvalidOption, match=what):
        Group.of(group, one_task=True)


@pytest.mark.parametrize(
    ("name", "columns", "message"),
    [
        ("grpo", {"episode": [-1, 0]}, "episode must number episodes from 0, not -1"),
        ("r3", {"logprob": [np.nan, 1], "success": [0, 0]}, "logprob must hold finite numbers"),
        ("egae", {"facts": {"values": [np.inf, 1]}}, "values must hold finite numbers"),
    ],
)
def test_numbers_that_are_none_are_named(name: str, columns: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        estimate(name, {"episode": [0, 1], "rewards": [0, 0], **columns})


@pytest.mark.parametrize(
    ("name", "tag", "value", "message"),
    [
        ("egae", "values", "text", "values must hold numbers, not 'text'"),
        ("ssl", "progress", "far", "progress must hold numbers, not 'far'"),
        ("ssl", "progress", [0.5, "far"], "progress must hold numbers, not 'far'"),
        ("ssl", "progress", [0.5], "'progress' has 1 entries; there are 2 seats"),
        ("shapley", "coalition", [7], r"coalition must list seats from 0 to 1 .*, not \[7\]"),
        ("shapley", "coalition", "all", "coalition must list seats .*, not 'all'"),
    ],
)
def test_tags_of_another_kind_are_named(name: str, tag: str, value: Any, message: str) -> None:
    group = records(2)
    for record in group:
        record.tags[tag] = [value] * len(record.turns) if value == "text" else value
    with pytest.raises(InvalidOption, match=message):
        estimate(name, group)


@pytest.mark.parametrize(
    ("parent", "at", "message"),
    [
        ([-1, 0], [0, 9], "branched_at of episode 1 is 9; .* from 0 to 2"),
        ([-1, 0], [0, -1], "branched_at of episode 1 is -1"),
        ([-1, 0], [0], r"branched_at must have shape \(2,\); it has shape \(1,\)"),
        ([-1, 5], [0, 1], "parent must name one of 2 episodes, or be -1"),
    ],
)
def test_cuts_that_cannot_be_are_named(parent: Any, at: Any, message: str) -> None:
    group = {"episode": [0, 0, 1], "rewards": [0, 1, 1], "parent": parent}
    with pytest.raises(InvalidOption, match=message):
        estimate("segment-chain", {**group, "facts": {"branched_at": at}})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("episode.jsonl", "read a file of them with palestra.read_records"),
        ([{"env": "x"}], "entry 0 is no EpisodeRecord but {'env': 'x'}"),
        (7, "a group is made of a list of records, not 7"),
    ],
)
def test_what_is_no_record_is_named(given: Any, message: str) -> None:
    with pytest.raises(InvalidOption, match=message):
        Group.of(given)


def test_one_seat_or_agent_must_be_in_a_list() -> None:
    one_seat: Any = 0
    with pytest.raises(InvalidOption, match=r"seats is a list, as in seats=\[0\]"):
        Group.of(records(2), seats=one_seat)
    with pytest.raises(InvalidOption, match=r"agents is a list, as in agents=\['random'\]"):
        Group.of(records(2), agents="random")
    one_record: Any = records(1)[0]
    with pytest.raises(InvalidOption, match=r"pass \[record\]"):
        Group.of(one_record)


def test_options_that_must_be_given_are_named() -> None:
    with pytest.raises(InvalidOption, match="rewarddance needs task and reference; pass task=…"):
        shape("rewarddance", records(1), judge="echo:yes")


def test_seats_without_turns_are_named() -> None:
    with pytest.raises(InvalidOption, match="seat 2 has no turn"):
        Group.of(records(2), seats=[2])
