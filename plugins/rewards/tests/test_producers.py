"""Every entry that reads what agents and environments report, fed by runs alone.

No tag is set anywhere here. What an entry gives is compared with what follows from the record's
own facts, worked out here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import permutations
from math import exp, log
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import palestra
import pytest
from palestra import EpisodeRecord, InvalidOption, read_records
from palestra.cli import main
from palestra.records.record import replay
from palestra_agents.cfr import solve
from palestra_rewards import Group, Lacking, entries, estimate, nest_records, shape
from palestra_rewards.judges import Judge
from palestra_rewards.needs import NEEDS
from palestra_rewards.producers import RUNS, Run, measure, of_agent, of_environment, reports
from palestra_rewards.reading import turn_rewards
from scipy.stats import spearmanr

Records = list[EpisodeRecord]
PAGE = Path(__file__).parents[3] / "docs" / "producers.md"
BY_NAME = {run.entry.split(":")[0]: run for run in RUNS}
ELSEWHERE = {"red-team", "comas", "dylan"}  # fed by the agent of that name, and tested beside it
LEARNS_IT = {"oprl", "duration"}  # take what was reported, and else the rollouts or the clock


@cache
def played(name: str) -> tuple[EpisodeRecord, ...]:
    return tuple(BY_NAME[name].play())


def fed(name: str) -> np.ndarray:
    return BY_NAME[name].feed(list(played(name)))


# What follows from the facts


def last(record: EpisodeRecord, name: str) -> Any:
    """What the game said last, straight from the record."""
    said = [
        record.facts.get(name),
        *(step.facts[name] for step in record.steps if name in step.facts),
    ]
    return said[-1]


def after(record: EpisodeRecord, name: str) -> list[Any]:
    """What the game said after every step."""
    now, found = record.facts[name], []
    for step in record.steps:
        now = step.facts.get(name, now)
        found.append(now)
    return found


def on_last(records: Records, value: Callable[[EpisodeRecord], float]) -> np.ndarray:
    """A number on the last turn of each record of one player."""
    rows = [[0.0] * (len(record.turns) - 1) + [value(record)] for record in records]
    return np.array([number for row in rows for number in row])


def spread(records: Records, of_records: Any) -> np.ndarray:
    return np.repeat(of_records, [len(record.turns) for record in records])


def standard(values: Any) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    return (array - array.mean()) / array.std() if array.std() > 1e-12 else array * 0


def of_turns(records: Records, name: str) -> np.ndarray:
    return np.array([turn.facts[name] for record in records for turn in record.turns], dtype=float)


def by_ssl(records: Records) -> np.ndarray:
    zones = [np.floor(last(record, "progress") * 4 + 1e-9) / 4 for record in records]
    return spread(records, standard(zones))


def by_prs(records: Records) -> np.ndarray:
    def value(record: EpisodeRecord) -> float:
        valid, done, clean = last(record, "stages")
        return 0.1 * valid + (0.2 * done + 0.7 * clean * (done == 1)) * (valid == 1)

    return on_last(records, value)


def by_planner_r1(records: Records) -> np.ndarray:
    return on_last(
        records, lambda r: np.mean([c for group in last(r, "checks").values() for c in group])
    )


def calls(record: EpisodeRecord) -> list[int]:
    return [sum("tool" in event.data for event in step.events) for step in record.steps]


def by_smart(records: Records) -> np.ndarray:
    won = on_last(records, lambda record: record.outcome.results[0] == "win")  # type: ignore[union-attr]
    made = np.concatenate([calls(record) for record in records])
    wasted = np.concatenate([np.diff(after(r, "needless"), prepend=0) for r in records])
    return won - 0.05 * made - 0.2 * wasted


def by_milestones(records: Records) -> np.ndarray:
    found = []
    for record in records:
        counts = [len(names) for names in after(record, "milestones")]
        paid = 0.1 * np.diff(counts, prepend=0)
        if record.outcome.results == ("win",):  # type: ignore[union-attr]
            paid = np.array([0.0] * (len(counts) - 1) + [1.0])
        found.append(paid)
    assert {len(row) for row in found} > {2}
    assert {round(float(row.sum()), 6) for row in found} > {1.0}
    return np.concatenate(found)


def by_duration(records: Records) -> np.ndarray:
    took = np.concatenate([after(record, "duration") for record in records])
    who = np.array([record.agents[0] for record in records for _ in record.turns])
    for agent in set(who):
        took[who == agent] /= took[who == agent].mean()
    return took * spread(records, standard([record.returns[0] for record in records]))


def by_statefactory(records: Records) -> np.ndarray:
    return np.concatenate(
        [
            [
                np.mean([thing["done"] for thing in objects.values()])
                for objects in after(r, "objects")
            ]
            for r in records
        ]
    )


def by_curiosity(records: Records) -> np.ndarray:
    (record,) = records
    held = [record.facts["belief"], *after(record, "belief")]
    return np.diff([belief[record.facts["type"]] for belief in held])


def by_comam(records: Records) -> np.ndarray:
    local = np.array([last(record, "local") for record in records])
    team = np.array([record.returns[0] for record in records])
    weights = np.array([(1 + spearmanr(own, team).statistic) / 2 for own in local.T])
    value = local + team[:, None] * weights / weights.sum()
    value -= value.mean(axis=0)
    return np.array([value[n, turn.seat] for n, r in enumerate(records) for turn in r.turns])


def worths(records: Records) -> dict[frozenset[int], float]:
    return {
        frozenset(s for s, name in enumerate(record.agents) if name != "absent"): record.returns[0]
        for record in records
    }


def in_coalitions(records: Records, credit: np.ndarray) -> np.ndarray:
    return np.array(
        [
            credit[turn.seat] if record.agents[turn.seat] != "absent" else 0.0
            for record in records
            for turn in record.turns
        ]
    )


def by_shapley(records: Records) -> np.ndarray:
    worth = worths(records)
    gains = [
        [worth[frozenset(order[: n + 1])] - worth[frozenset(order[:n])] for n in np.argsort(order)]
        for order in permutations(range(4))
    ]
    return in_coalitions(records, np.mean(gains, axis=0))


def by_counterfactual(records: Records) -> np.ndarray:
    worth, everybody = worths(records), frozenset(range(4))
    return in_coalitions(
        records, np.array([worth[everybody] - worth[everybody - {seat}] for seat in range(4)])
    )


def learners(record: EpisodeRecord) -> list[Any]:
    return [turn for turn in record.turns if turn.seat == 0]


def by_egae(records: Records) -> np.ndarray:
    found = []
    for record in records:
        value = [turn.facts["value"] for turn in learners(record)]
        paid = turn_rewards(record)[[turn.seat == 0 for turn in record.turns]]
        ahead, row = 0.0, []
        for place in reversed(range(len(value))):
            after_it = value[place + 1] if place + 1 < len(value) else value[-1]  # it was cut off
            ahead = paid[place] + after_it - value[place] + 0.95 * ahead
            row.append(ahead)
        found += row[::-1]
    return np.array(found)


def by_inverse_prm(records: Records) -> np.ndarray:
    rows = [[turn.facts["value"] for turn in learners(record)] for record in records]
    return np.concatenate([np.array(row) - np.array([*row[1:], 0.0]) for row in rows])


def by_agentrm(records: Records) -> np.ndarray:
    found = []
    for record in records:
        so_far = {0: 0.0, 1: 0.0}
        for turn in record.turns:
            so_far[turn.seat] += turn.facts["implicit"]
            found.append(so_far[turn.seat])
    return np.array(found)


def by_steve(records: Records) -> np.ndarray:
    return np.where(of_turns(records, "verdicts") == 1, 1.0, -1.0)


def by_spae(records: Records) -> np.ndarray:
    found = []
    for record in records:
        before, overtime = {0: 0.0, 1: 0.0}, {0: -1, 1: -1}
        for turn in record.turns:
            now = turn.facts["confidence"] * turn.facts["correctness"]
            if overtime[turn.seat] >= 0 or now >= 0.95:
                overtime[turn.seat] += 1
            found.append(now - before[turn.seat] - 0.05 * max(overtime[turn.seat], 0))
            before[turn.seat] = now
    return np.array(found)


def by_process(name: str) -> Callable[[Records], np.ndarray]:
    def follow(records: Records) -> np.ndarray:
        rows = [(np.array([t.facts["process"] for t in r.turns]), turn_rewards(r)) for r in records]
        found = []
        for score, paid in rows:
            low = np.minimum(score - 0.5, 0)
            first = np.append(low[1:], 0.0) if name == "clip-delta" else np.append(score[1:], 0.0)
            bonus = np.zeros(score.size)
            bonus[-1] = 2 * (score[-1] - score[0])
            even = (paid.sum() - score.sum()) / score.size
            found.append(
                {
                    "clip": paid + low,
                    "clip-delta": paid + low - first,
                    "delta": paid + score - first,
                    "score": score + bonus,
                    "spa-rl": score + even + 0.5,
                }[name]
            )
        return np.concatenate(found)

    return follow


def by_dual_level(records: Records) -> np.ndarray:
    to_go = []
    for record in records:
        ahead, row = 0.0, []
        for turn in reversed(record.turns):
            ahead = turn.facts["process"] + 0.9 * ahead
            row.append(ahead)
        to_go += row[::-1]
    return spread(records, standard([r.returns[0] for r in records])) + standard(to_go)


def by_a2fm(records: Records) -> np.ndarray:
    won = np.array([{"win": 1.0, "draw": 0.5}.get(r.outcome.results[0], 0.0) for r in records])  # type: ignore[union-attr]
    quick = np.array([learners(record)[0].facts["mode"] == "instant" for record in records])
    rate = won[quick].mean()
    assert rate >= 0.5, "the task must be easy, or the mode makes no difference"
    score = standard(np.where(quick, won, won * (1 - rate)))
    return np.concatenate([[s] * len(learners(r)) for s, r in zip(score, records, strict=True)])


def by_agent_omit(records: Records) -> np.ndarray:
    full = of_turns(records, "full tokens").sum()
    read = sum(turn.usage.tokens_in for turn in records[0].turns)
    assert full > read > 0
    return on_last(records, lambda record: 1 + 0.5 * (full - read) / full)


def by_matpo(records: Records) -> np.ndarray:
    roots = [record for record in records if not record.parent]
    score = dict(
        zip([r.tags["id"] for r in roots], standard([r.returns[0] for r in roots]), strict=True)
    )
    return np.concatenate([[score[r.parent or r.tags["id"]]] * len(r.turns) for r in records])


def by_segment_chain(records: Records) -> np.ndarray:
    trunk, *branches = records
    value = {0: trunk.returns[0], len(trunk.steps): trunk.returns[0]}
    for cut in {branch.branched_at for branch in branches}:
        value[cut] = np.mean([b.returns[0] for b in branches if b.branched_at == cut])
    cuts = sorted(value)
    gains = [
        value[min(c for c in cuts if c > step)] - value[max(c for c in cuts if c <= step)]
        for step in range(len(trunk.steps))
    ]
    return np.array(gains + [0.0] * sum(len(branch.own_turns) for branch in branches))


FOLLOWS: dict[str, Callable[[Records], np.ndarray]] = {
    "ssl": by_ssl,
    "prs": by_prs,
    "planner-r1": by_planner_r1,
    "smart": by_smart,
    "milestones": by_milestones,
    "duration": by_duration,
    "statefactory": by_statefactory,
    "curiosity": by_curiosity,
    "comam": by_comam,
    "shapley": by_shapley,
    "counterfactual": by_counterfactual,
    "egae": by_egae,
    "inverse-prm": by_inverse_prm,
    "agentrm": by_agentrm,
    "steve": by_steve,
    "spae": by_spae,
    **{name: by_process(name) for name in ("clip", "clip-delta", "delta", "score", "spa-rl")},
    "dual-level": by_dual_level,
    "a2fm": by_a2fm,
    "agent-omit": by_agent_omit,
    "matpo": by_matpo,
    "segment-chain": by_segment_chain,
}


@pytest.mark.parametrize("name", FOLLOWS)
def test_numbers_follow_from_what_was_reported(name: str) -> None:
    records = list(played(name))
    assert not any(set(record.tags) - {"id"} for record in records)
    found = fed(name)
    assert np.abs(found).max() > 0
    np.testing.assert_allclose(found, FOLLOWS[name](records), atol=1e-9)


def silent(record: EpisodeRecord) -> EpisodeRecord:
    """A copy of a record in which nobody reports anything, nor says where it came from."""
    steps = [
        msgspec.structs.replace(
            step,
            facts={},
            events=[msgspec.structs.replace(event, data={}) for event in step.events],
            turns=[msgspec.structs.replace(turn, facts={}) for turn in step.turns],
        )
        for step in record.steps
    ]
    return msgspec.structs.replace(record, steps=steps, facts={}, parent="", branched_at=0)


@pytest.mark.parametrize("name", sorted(set(BY_NAME) - LEARNS_IT))
def test_an_entry_refuses_the_same_run_if_nobody_reports(name: str) -> None:
    run = BY_NAME[name]
    with pytest.raises(Lacking, match="needs"):
        run.feed([silent(record) for record in played(name)])


def test_every_entry_that_reads_facts_has_a_run() -> None:
    read = {need for need, how in NEEDS.items() if "docs/producers.md" in how.how}
    read |= {"scores", "verdicts", "reward model", "parents", "workers"}
    wanted = {entry.name for entry in entries() if set(entry.needs) & read}
    assert wanted - ELSEWHERE <= set(BY_NAME)
    assert set(BY_NAME) - LEARNS_IT <= wanted


# Entries that a judge or a caller's reference is part of


def test_calls_of_the_reference_score_one_and_others_less() -> None:
    found, records = fed("matchtir"), played("matchtir")
    per = np.split(found, np.cumsum([len(record.turns) for record in records])[:-1])
    for record, values in zip(records, per, strict=True):
        made = np.array(calls(record))
        assert (values[made == 0] == 0).all()
        if record.agents == ("tool-solver",):
            np.testing.assert_allclose(values, made)
        else:
            assert values.sum() < made.sum()


def test_an_arbiter_is_asked_about_the_moves_that_the_search_weighed() -> None:
    (record,) = played("webarbiter")
    asked: list[str] = []

    def judge(request: Any) -> str:
        text = request.messages[-1].content
        asked.append(text)
        return request.choices[0] if request.choices else "principles"

    for turn in record.turns:
        assert turn.text in turn.facts["candidates"]
    found = shape("webarbiter", record, judge=Judge(judge))
    rivals = sum(len(turn.facts["candidates"]) - 1 for turn in record.turns)
    assert rivals == 3 * len(record.turns)
    assert len(found) == len(record.turns)
    assert len(asked) >= 2 * rivals
    rest = [move for move in record.turns[0].facts["candidates"] if move != record.turns[0].text]
    assert all(any(f"> {move}" in text for text in asked) for move in rest)


def test_a_judge_sees_the_turns_that_the_agent_handed_in() -> None:
    (record,) = played("smartsnap")
    assert [turn.facts["evidence"] for turn in record.turns] == [[], [1], [1]]
    shown: list[str] = []

    def judge(request: Any) -> str:
        shown.append(request.messages[-1].content)
        return "yes"

    found = shape("smartsnap:task=walk", record, judge=Judge(judge))
    assert found.tolist() == [0.0, 0.0, 1.0]
    assert len(shown) == 1
    assert shown[0].count("Plan(path='R')") == 1


def test_ratios_are_those_of_the_two_strategies() -> None:
    game = palestra.game("games/KuhnPoker-v0")
    sampled, now = solve(game, 5), solve(game, 200)
    seen = 0
    for record in played("seeupo"):
        for turn in record.turns:
            key = bytes.fromhex(turn.state_key)
            ratio = now[key][turn.action] / sampled[key][turn.action]
            assert turn.facts["ratio"] == pytest.approx(ratio)
            assert turn.logprob == pytest.approx(log(sampled[key][turn.action]))
            seen += abs(ratio - 1) > 0.1
    assert seen > 3
    group = Group.of(list(played("seeupo")))
    even = estimate("seeupo", group.with_facts(ratio=np.ones(group.size))).values
    assert np.abs(fed("seeupo") - even).max() > 0.1


def test_implicit_rewards_are_those_of_the_two_strategies() -> None:
    game = palestra.game("games/KuhnPoker-v0")
    policy, reference = solve(game, 200), solve(game, 5)
    for record in played("oprl"):
        for turn in record.turns:
            key = bytes.fromhex(turn.state_key)
            worth = log(policy[key][turn.action] / reference[key][turn.action])
            assert turn.facts["implicit"] == pytest.approx(worth)
    group = Group.of(list(played("oprl")))
    none = estimate("oprl", group.with_facts(implicit=np.zeros(group.size))).values
    assert np.abs(fed("oprl") - none).max() > 0.1


def test_marks_of_the_verifier_move_attributed_advantages() -> None:
    records = list(played("agentevolver"))
    group = Group.of(records)
    np.testing.assert_array_equal(group.turn_fact("verdicts"), of_turns(records, "verdicts"))
    flipped = group.with_facts(verdicts=1 - group.turn_fact("verdicts"))
    assert np.abs(fed("agentevolver") - estimate("agentevolver", flipped).values).max() > 0.05


# In a terminal, and in files


def test_what_is_played_in_a_terminal_feeds_an_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = ["--episodes", "3", "--out", str(tmp_path), "--no-replays"]
    for arguments in (
        ["play", "games/TicTacToe-v0", "--agents", "probe:random,by=minimax", *to],
        ["credit", str(tmp_path), "--by", "steve"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert not ended.value.code
    assert "+1.000" in capsys.readouterr().out
    records = read_records(tmp_path / "episode.jsonl")
    np.testing.assert_array_equal(shape("steve", records), by_steve(records))
    assert {-1.0, 1.0} == set(shape("steve", records))


def test_facts_are_read_back_as_they_were_written_and_replay(tmp_path: Path) -> None:
    records = [*played("prs"), *played("matpo")[:1], *played("statefactory")]
    path = palestra.records.record.write_records(tmp_path / "kept.jsonl", records)
    kept = read_records(path)
    assert kept == records
    for record in kept:
        if not record.tags:
            replay(record)


def test_a_fact_that_does_not_replay_is_named() -> None:
    record = msgspec.structs.replace(played("statefactory")[0])
    step = msgspec.structs.replace(record.steps[0], facts={"progress": 0.77})
    record.steps = [step, *record.steps[1:]]
    with pytest.raises(palestra.Divergence, match="facts"):
        replay(record)


@pytest.mark.parametrize("name", ["ssl", "steve", "agent-omit", "segment-chain"])
def test_the_page_holds_what_is_measured(name: str) -> None:
    from palestra_rewards.producers import _row

    assert _row(measure(BY_NAME[name])) in PAGE.read_text("utf-8").splitlines()


def test_the_page_says_who_reports_what() -> None:
    lines = PAGE.read_text("utf-8").splitlines()
    for run in RUNS:
        assert any(line.startswith(f"| `{run.entry.split(':')[0]}` |") for line in lines), run.entry
    told = [of_environment("web/ToolWorld-v0"), of_environment("games/Quest-v0")]
    told += [of_agent("cfr"), of_agent("snap")]
    for line in reports("who", told).splitlines()[2:]:
        assert line in lines


# Bad input


def test_turns_of_agents_that_report_nothing_are_named() -> None:
    records = list(played("inverse-prm"))
    with pytest.raises(InvalidOption, match=r"values is not reported by random; keep the turns"):
        estimate("inverse-prm", records)


def test_two_records_of_one_name_cannot_both_be_a_parent() -> None:
    trunks = palestra.rollouts("games/Quest-v0", agents="random", n=2, max_episode_steps=3)
    start = palestra.make("games/Quest-v0", view="episode", seed=0)
    (branch,) = palestra.rollouts("games/Quest-v0", agents="random", n=1, start=start, parent="0")
    Group.of([*trunks, branch])  # two trunks of other numbers
    twice = [trunks[0], trunks[0], branch]
    with pytest.raises(InvalidOption, match="both known as '0'"):
        Group.of(twice)


def test_workers_are_episodes_below_their_planner() -> None:
    records = list(played("matpo"))
    planners = [record for record in records if not record.parent]
    workers = [record for record in records if record.parent]
    assert len(planners) == 2
    assert len(workers) >= 2
    assert {record.parent for record in workers} <= {record.tags["id"] for record in planners}
    assert all(sum(record.returns) == 0 for record in workers)
    whole = BY_NAME["matpo"]
    plain = Run(whole.entry, "", "", whole.env, whole.casts, n=1, seed=11, options=whole.options)
    for planner, record in zip(planners, plain.play(), strict=True):
        of_it = [planner, *(w for w in workers if w.parent == planner.tags["id"])]
        assert sum(len(part.turns) for part in of_it) == len(record.turns)
        assert turn_rewards(planner).sum() == pytest.approx(record.returns[0])
    again = nest_records(plain.play())
    assert [record.tags for record in again] == [record.tags for record in records]


def test_confidence_is_the_mean_chance_of_a_token() -> None:
    (record,) = palestra.play(
        "games/FrozenLake-v0", agents="llm:echo:,mode=score", max_episode_steps=2
    )
    for turn in record.turns:
        chances = turn.facts["strategy"]
        assert sum(chances.values()) == pytest.approx(1)
        assert max(chances, key=chances.get) == turn.text
        assert turn.facts["confidence"] == pytest.approx(exp(-len(turn.text)), rel=1e-6)
