"""The fuzzer finds what is planted in a game, makes it small, and keeps what it found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace as replace_spec
from itertools import islice
from pathlib import Path

import palestra
import pytest
from msgspec.structs import replace
from palestra import EnvSpec, InvalidOption, UnknownName
from palestra.testing.fuzzing import Case, Finding, check, draw_cases, fuzz, snippet
from palestra.testing.fuzzing.case import append_finding, read_findings
from palestra.testing.fuzzing.shrink import shrink, simpler_expressions, smaller_cases
from palestra.testing.fuzzing.values import OBJECTS, TEXTS, value_of
from palestra.testing.fuzzing.worker import judge

PLUGIN = '''
"""A plugin with one game and as many faults as its options name."""

import os
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from gymnasium import spaces
from palestra import (
    EnvSpec, Event, Grammar, InvalidAction, Meta, Option, Outcome, Rng, Step, Text, TextAction,
    TextGame, hookimpl,
)


class Say(TextAction, frozen=True):
    text: str = ""


@dataclass(slots=True)
class Talk:
    rng: Rng
    said: int = 0
    last: str = ""


@dataclass(frozen=True)
class Faulty(TextGame[Talk]):
    """Two seats say something in turn."""

    size: Annotated[int, Meta(ge=0, description="numbers that are kept")] = 2
    fault: Annotated[
        Literal["none", "step", "raw", "pay", "crash", "hang", "record"], Meta(description="x")
    ] = "none"
    loud: Annotated[bool, Meta(description="changes nothing")] = False
    depth: Annotated[int, Meta(ge=0, le=90, description="changes nothing")] = 3

    rules_text = "Say something."
    order = "sequential"
    payoffs = "general"
    num_players = 2
    action_types = (Say,)
    menu = (Say("a"), Say("b"))

    def validate(self):
        if self.size > 50_000_000:
            np.zeros((min(self.size, 10**10), 8))  # more is a ValueError of numpy's

    def initial_state(self, seed=None):
        while self.fault == "hang":
            pass
        if self.fault == "crash":
            os._exit(3)
        return Talk(Rng.seeded(seed))

    def to_act(self, state):
        return () if state.said >= 6 else (state.said % 2,)

    def legal(self, state, seat):
        return Grammar((Option(Say, {"text": Text(100, ("a", "b"))}),))

    def step(self, state, actions):
        (text,) = [action.text for action in actions.values()]
        if self.fault == "step":
            text.encode("ascii")
        state.said, state.last = state.said + 1, text
        paid = 7.0 if self.fault == "pay" else 0.0
        data = {"kept": object()} if self.fault == "record" else {}
        return Step({0: {"payoff": paid}}, {}, [Event("say", self.shown(text), data)])

    def shown(self, text):
        return text if self.fault == "raw" else repr(text)

    def outcome(self, state):
        return None if self.to_act(state) else Outcome(("draw", "draw"), (0.0, 0.0))

    def observation_space(self, seat):
        return spaces.Box(0, 9, (1,), np.int8)

    def observe(self, state, seat):
        return np.array([state.said], np.int8)

    def describe(self, state, seat):
        return f"{state.said} things are said, the last {self.shown(state.last)}."


@dataclass(frozen=True)
class Deep(Faulty):
    def initial_state(self, seed=None):
        if self.depth == 61 or (self.loud and self.depth == 90):
            raise RuntimeError("a depth that nobody has tried")
        return super().initial_state(seed)


@hookimpl
def palestra_environments():
    players, seen = (2, 2), ("array", "text")
    return [
        EnvSpec("faulty/Talk-v0", "faulty_plugin:Faulty", players, "sequential", "general", seen),
        EnvSpec(
            "faulty/Pays-v0", "faulty_plugin:Faulty", players, "sequential", "general", seen,
            kwargs={"fault": "pay"},
        ),
    ]
'''
METADATA = "Metadata-Version: 2.1\nName: faulty-plugin\nVersion: 1.0\n"
TALK = EnvSpec(
    "faulty/Talk-v0",
    "faulty_plugin:Faulty",
    (2, 2),
    "sequential",
    "general",
)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a stranger's plugin, as installed."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "faulty_plugin.py").write_text(PLUGIN, "utf-8")
    about = folder / "faulty_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(METADATA, "utf-8")
    (about / "entry_points.txt").write_text("[palestra]\nfaulty = faulty_plugin\n", "utf-8")
    return folder


@pytest.fixture
def talk(plugin: Path, monkeypatch: pytest.MonkeyPatch) -> EnvSpec:
    monkeypatch.syspath_prepend(str(plugin))
    return TALK


def first_failure(spec: EnvSpec, what: str, options: dict[str, str], cases: int = 60) -> Case:
    """The first of the drawn cases that fails with these options."""
    for case in islice(draw_cases(spec, 0, [what]), cases):
        tried = replace(case, options={**options, **case.options})
        if fails(tried, spec):
            return tried
    raise AssertionError(f"nothing was found in {cases} cases")


def fails(case: Case, spec: EnvSpec) -> str:
    """Where a case fails; empty if it holds."""
    return judge(case, spec).place


@pytest.mark.parametrize("what", ["options", "actions", "texts", "faults"])
def test_nothing_is_found_in_a_game_without_faults(talk: EnvSpec, what: str) -> None:
    for case in islice(draw_cases(talk, 1, [what]), 25):
        if not {"fault", "size"} & set(case.options):
            check(case, talk)


@pytest.mark.parametrize(
    ("fault", "what", "small"),
    [
        ("step", "actions", 1),  # an action that is called legal and cannot be played
        ("raw", "texts", 1),  # speech that reaches another seat as it was written
        ("record", "actions", 1),  # an event that no file can hold
    ],
)
def test_a_planted_fault_is_found_and_shrunk(
    talk: EnvSpec, fault: str, what: str, small: int
) -> None:
    case = first_failure(talk, what, {"fault": repr(fault)})
    place = fails(case, talk)
    shrunk = shrink(case, lambda smaller: fails(smaller, talk) == place)
    assert fails(shrunk, talk) == place
    assert shrunk.options == {"fault": repr(fault)}
    assert len(shrunk.values) == small
    assert shrunk.seed <= case.seed
    assert not fails(replace(shrunk, options={}), talk), "the fault is in the option"


@pytest.mark.parametrize("seed", range(3))
def test_every_value_of_every_option_is_tried_soon_and_then_pairs(talk: EnvSpec, seed: int) -> None:
    """One value in 91 is wrong, and one pair; random draws needed minutes for either."""
    deep = replace_spec(talk, entry_point="faulty_plugin:Deep")
    cases = [case.options for case in islice(draw_cases(deep, seed), 450)]
    alone = {next(iter(options.items())) for options in cases[:240] if len(options) == 1}
    assert {("depth", str(depth)) for depth in range(91)} <= alone
    assert {("loud", "True"), ("loud", "False"), ("size", "0"), ("fault", "'pay'")} <= alone
    assert fails(Case(talk.id, "options", options={"depth": "61"}), deep)
    assert not fails(Case(talk.id, "options", options={"depth": "60"}), deep)
    wrong = {"loud": "True", "depth": "90"}
    assert any(options.items() >= wrong.items() for options in cases)
    assert fails(Case(talk.id, "options", options=wrong), deep)


def test_options_that_do_not_matter_are_left_out(talk: EnvSpec) -> None:
    given = {"fault": "'pay'", "loud": "True", "depth": "7"}
    case = Case(talk.id, "options", 11, 40, given)
    place = fails(case, talk)
    shrunk = shrink(case, lambda smaller: fails(smaller, talk) == place)
    assert shrunk.options == {"fault": "'pay'"}
    assert shrunk.seed == 0
    assert shrunk.steps == 6  # the payoff leaves its bounds at the end of the episode


# Shrinking


def test_the_smallest_number_and_the_shortest_text_are_found() -> None:
    case = Case("x/Y-v0", "options", 900, 40, {"a": "10**9", "b": "'spam eggs'", "c": "[1, 9]"})

    def too_large(smaller: Case) -> bool:
        return "a" in smaller.options and value_of(smaller.options["a"]) > 700

    shrunk = shrink(case, too_large, 400)
    assert list(shrunk.options) == ["a"]
    assert 700 < value_of(shrunk.options["a"]) < 1_500
    assert (shrunk.seed, shrunk.steps) == (0, 0)


def test_values_that_do_not_matter_are_left_out() -> None:
    case = Case("x/Y-v0", "actions", values=("1", "'\\ud83d'", "None", "[2, [3]]", "'x' * 99"))
    shrunk = shrink(case, lambda smaller: any("3" in value for value in smaller.values[-2:]))
    assert shrunk.values in (("3",), ("[3]",), ("[[3]]",), ("'\\ud83d'",))


def test_a_case_that_cannot_be_smaller_stays() -> None:
    case = Case("x/Y-v0", "actions", values=("Shy()",))
    assert list(smaller_cases(case)) == []
    assert list(simpler_expressions("Shy()")) == []
    assert list(simpler_expressions("not an expression")) == []
    assert shrink(case, lambda smaller: True) == case


# Cases as data


def test_the_same_seed_draws_the_same_cases() -> None:
    spec = palestra.specs()[0]
    one, again, other = (list(islice(draw_cases(spec, seed), 40)) for seed in (3, 3, 4))
    assert one == again
    assert one != other
    assert {case.what for case in one} == {"options", "actions", "texts", "faults"}
    with pytest.raises(UnknownName, match="kind of case 'option'; did you mean 'options'"):
        next(draw_cases(spec, 0, ["option"]))
    with pytest.raises(InvalidOption, match="above 0"):
        fuzz(spec.id, minutes=0)


@pytest.mark.parametrize("expression", [*OBJECTS, *(t for t in TEXTS if "written" not in t)])
def test_every_value_of_the_corpus_is_one(expression: str) -> None:
    value_of(expression)


def test_findings_are_read_back_without_a_line_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "findings.jsonl"
    findings = [Finding(Case("x/Y-v0", "options", n), f"problem {n}") for n in range(3)]
    for finding in findings:
        append_finding(path, finding)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert list(read_findings(path)) == findings[:2]


# The command, on a stranger's plugin


def run_fuzz(plugin: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "palestra", "fuzz", *arguments]
    environment = os.environ | {"PYTHONPATH": str(plugin)}
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def finished(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


def run_snippet(plugin: Path, folder: Path, finding: Finding) -> int:
    test = folder / "test_finding.py"
    test.write_text(snippet(finding), "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    environment = os.environ | {"PYTHONPATH": str(plugin)}
    return subprocess.run(
        command, env=environment, cwd=folder, capture_output=True, check=False, timeout=120
    ).returncode


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_command_finds_crashes_hangs_and_memory_eaters(plugin: Path, tmp_path: Path) -> None:
    limits = ("--seconds", "1", "--megabytes", "500", "--minutes", "0.7", "--what", "options")
    code, out, _ = finished(run_fuzz(plugin, "faulty/Talk-v0", *limits, "--out", str(tmp_path)))
    assert code == 1
    findings = [f for f in read_findings(tmp_path / "findings.jsonl") if f.shrunk]
    by_fault = {f.case.options.get("fault", "size"): f for f in findings}
    assert "code 3" in by_fault["'crash'"].problem
    assert "runs longer" in by_fault["'hang'"].problem
    assert "MemoryError" in by_fault["size"].problem
    for finding in findings:
        assert snippet(finding) in out
        assert len(finding.case.options) == 1
    assert run_snippet(plugin, tmp_path, by_fault["'pay'"]) == 1


@pytest.mark.slow
def test_findings_outlive_the_command(plugin: Path, tmp_path: Path) -> None:
    for number, how in enumerate((signal.SIGKILL, signal.SIGINT)):
        folder = tmp_path / str(number)
        process = run_fuzz(plugin, "faulty/Pays-v0", "--minutes", "3", "--out", str(folder))
        path, patience = folder / "findings.jsonl", time.monotonic() + 120
        while not (path.exists() and path.read_bytes()) and time.monotonic() < patience:
            time.sleep(0.05)
        process.send_signal(how)
        code, _, err = finished(process)
        assert code != 0
        assert "Traceback" not in err
        found = read_findings(path)  # the plugin has several faults; which is found first is luck
        assert found
        assert all(finding.problem for finding in found)


@pytest.mark.slow
def test_a_sound_game_passes(tmp_path: Path) -> None:
    out_folder = tmp_path / "new"
    arguments = ("games/TicTacToe-v0", "--minutes", "0.1", "--out", str(out_folder))
    code, out, err = finished(run_fuzz(tmp_path, *arguments))
    assert code == 0, out
    assert "nothing found" in err
    assert not out_folder.exists()


def test_unknown_kinds_are_named() -> None:
    with pytest.raises(UnknownName, match="kind of case"):
        check(Case("games/TicTacToe-v0", "moves"))
