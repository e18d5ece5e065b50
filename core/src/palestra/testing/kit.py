"""Running the checks: one by one, as a table, or as pytest tests."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

from palestra.kernel.errors import UnknownName
from palestra.kernel.registry import registry
from palestra.kernel.specs import EnvSpec
from palestra.testing import (
    arrays,
    dealing,
    declared,
    endurance,
    facts,
    faults,
    golden,
    imagined,
    kept,
    measures,
    moves,
    newcomers,
    own,
    pictures,
    privacy,
    speech,
    standards,
    states,
)
from palestra.testing.givers import specs_given
from palestra.testing.subject import Failed, Skipped, Subject

Check = Callable[[Subject], None]

CHECKS: dict[str, Check] = {
    check.__name__: check
    for check in (
        facts.facts_are_true,
        facts.options_are_described,
        facts.options_are_checked,
        facts.options_are_read,
        facts.catalogue_is_current,
        facts.splits_play,
        declared.chance_is_declared,
        declared.seats_move_as_declared,
        declared.information_is_declared,
        declared.terms_are_declared,
        standards.found_by_id,
        standards.gymnasium_checker,
        standards.sb3_checker,
        standards.pettingzoo_api,
        standards.pettingzoo_parallel_api,
        standards.pettingzoo_seeds,
        states.clone_is_independent,
        states.looking_changes_nothing,
        states.forks_diverge,
        states.snapshot_gives_same_future,
        states.record_replays_exactly,
        states.pickles,
        states.seeds_decide,
        states.compiled_equals_interpreted,
        states.anchors_name_decisions,
        arrays.rules_stay_in_arrays,
        moves.masks_agree,
        moves.nonsense_is_refused,
        moves.scripts_play_legal_moves,
        moves.illegal_moves_never_pay,
        moves.ends_are_told,
        moves.numbers_stay_in_space,
        privacy.secrets_stay_hidden,
        privacy.transcripts_keep_secrets,
        privacy.private_events_stay_private,
        privacy.pictures_keep_secrets,
        privacy.sealed_moves_stay_sealed,
        imagined.imagined_worlds_keep_secrets,
        imagined.steps_tell_no_secret,
        dealing.imagined_worlds_are_dealt_as_often,
        own.turns_give_what_is_their_own,
        kept.kept_turns_tell_nothing_more,
        kept.forks_keep_secrets_at_the_end,
        kept.generators_stay_apart,
        newcomers.newcomers_start_afresh,
        speech.speech_stays_quoted,
        endurance.resets_leave_nothing,
        pictures.renders_offscreen,
        measures.measures_stay_in_bounds,
        golden.matches_golden_transcript,
    )
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one check found.

    detail: why it failed or was skipped. same_as: the check that reported the same cause before.
    """

    env: str
    check: str
    status: Literal["passed", "failed", "skipped"]
    detail: str = ""
    seconds: float = 0.0
    same_as: str = ""


def run_check(subject: Subject, name: str) -> Verdict:
    """Run one check by name.

    A cause that an earlier check of the same subject has reported is replaced by that check's name.
    """
    if name not in CHECKS:
        raise UnknownName("check", name, CHECKS)
    started = perf_counter()
    status: Literal["passed", "failed", "skipped"] = "passed"
    detail = same_as = ""
    try:
        CHECKS[name](subject)
    except Skipped as reason:
        status, detail = "skipped", str(reason)
    except Exception as error:
        status = "failed"
        detail, same_as = _detail(subject, name, error)
    return Verdict(subject.spec.id, name, status, detail, perf_counter() - started, same_as)


def _detail(subject: Subject, name: str, error: Exception) -> tuple[str, str]:
    """Why a check failed, and which check has already reported it, if any."""
    cause, detail = faults.explain(error, subject)
    if isinstance(error, Failed) and name != "seeds_decide":
        undecided = _why_undetermined(subject)
        if undecided:
            return f"the same cause as in seeds_decide: {undecided}", "seeds_decide"
    first = subject.causes.setdefault(cause, name)
    if first == name:
        return detail, ""
    return f"the same cause as in {first}: {cause}", first


def _why_undetermined(subject: Subject) -> str:
    """Why a seed does not determine the game, which fails many checks; empty if it does."""
    known = "seeds_decide"
    if known not in subject.__dict__:
        try:
            states.seeds_decide(subject)
            subject.__dict__[known] = ""
        except Failed as error:
            subject.__dict__[known] = error.cause or str(error)
        except Exception:  # which seeds_decide itself will report
            subject.__dict__[known] = ""
    return str(subject.__dict__[known])


def check(
    env: str | EnvSpec,
    *,
    only: Iterable[str] = (),
    golden_folder: Path | None = None,
    **options: Any,
) -> list[Verdict]:
    """Run the kit on one environment; `options` go to the game."""
    spec = env if isinstance(env, EnvSpec) else registry().environment(env)
    subject = Subject(spec, dict(options), golden_folder)
    return [run_check(subject, name) for name in (tuple(only) or CHECKS)]


def conformance(
    module: str,
    *,
    golden_folder: Path | None = None,
    variants: Mapping[str, Mapping[str, Any]] | None = None,
) -> Callable[..., None]:
    """Return a pytest test that runs every check on every environment of `module`.

    Golden transcripts are looked for in `golden/` beside the calling test file. `variants` are
    more option sets to test, as in `{"grid/Foraging-v0": {"sight": 2}}`.
    """
    import pytest

    folder = golden_folder or Path(sys._getframe(1).f_globals["__file__"]).parent / "golden"
    specs = {spec.id: spec for spec in specs_given(module, "palestra_environments")}
    subjects = {name: Subject(spec, golden=folder) for name, spec in specs.items()}
    for name, options in (variants or {}).items():
        named = ",".join(f"{key}={value}" for key, value in options.items())
        subjects[f"{name}[{named}]"] = Subject(specs[name], dict(options))
    cases = [pytest.param(env, name, id=f"{env}:{name}") for env in subjects for name in CHECKS]

    @pytest.mark.parametrize(("env", "name"), cases)
    def test_conformance(env: str, name: str) -> None:
        verdict = run_check(subjects[env], name)
        if verdict.status == "skipped":
            pytest.skip(verdict.detail)
        if verdict.status == "failed":
            pytest.fail(f"{env}, {name}: {verdict.detail}", pytrace=False)

    return test_conformance
