"""Options of agents and rewards: any value of any declared option is taken or refused by name."""

from __future__ import annotations

import inspect
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import palestra
import pytest
from palestra.kernel.options import parameter_hints
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point
from palestra.shaping import load_shaper
from palestra.testing.fuzzing.values import OBJECTS, edge_values, good_values, value_of

TRIED = 6  # values of an option: a different few every time the list of options changes
AGENTS = sorted(registry().agents)
REWARDS = sorted(registry().rewards)
MEMBERS = dict.fromkeys(("relay", "escalation", "free-agent", "knapsack"), "random+first")
NEEDED: dict[str, dict[str, Any]] = {"directed": {"towards": "right=1"}}
TRAINED = {"archer", "turn-critic", "oprl"}  # every call trains networks, for seconds
CODE = {"len", "object"}  # functions that the caller gives: what they raise is theirs


def options_of(made: Any) -> dict[str, Any]:
    """The options of a callable, and those that a class hands to its bases, with annotations."""
    kinds = [k for k in made.__mro__[:-1] if "__init__" in vars(k)] if inspect.isclass(made) else []
    named = [p for k in kinds or [made] for p in inspect.signature(k).parameters.values()]
    hints = parameter_hints(made)
    return {p.name: hints.get(p.name) for p in named if p.kind is p.KEYWORD_ONLY}


def values(name: str, hint: Any) -> Iterator[Any]:
    rng = random.Random(name)
    edges = edge_values(hint)
    known = [*OBJECTS, *edges, *good_values(hint, rng)]
    chosen = [*rng.sample(known, TRIED), *edges[:2], "nan", "'x'", "Shy()", "None"]
    for text in chosen:
        if text not in CODE:
            yield value_of(text)


def _refusal(call: Callable[..., None], *given: Any) -> str:
    """The message with which a call is refused; "" if it is not."""
    try:
        call(*given)
    except palestra.PalestraError as error:
        return str(error)
    return ""


def _open(name: str, options: dict[str, Any]) -> None:
    palestra.make_agent(name, **options).close()


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_takes_or_refuses_any_value(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a memory's file has the name that it is given
    made = load_entry_point(registry().agents[name].entry_point)
    options = options_of(made)
    given: dict[str, Any] = {"target": MEMBERS.get(name, "echo:")} if "target" in options else {}
    given |= NEEDED.get(name, {})
    for option, hint in options.items():
        for value in values(f"{name} {option}", hint):
            assert len(_refusal(_open, name, given | {option: value})) < 3_000


@pytest.mark.parametrize("name", REWARDS)
def test_a_reward_takes_or_refuses_any_value(name: str) -> None:
    pytest.importorskip("palestra_rewards")
    spec = registry().rewards[name]
    records = palestra.play("games/TicTacToe-v0", agents=["random", "random"], episodes=2)
    for option, hint in options_of(load_entry_point(spec.entry_point)).items():
        for value in values(f"{name} {option}", hint):
            assert len(_refusal(_pay, spec, records, {option: value})) < 3_000


def _pay(spec: Any, records: Any, options: dict[str, Any]) -> None:
    from palestra_rewards import estimate, shape
    from palestra_rewards.chain import estimator

    if spec.shape == "step":
        load_shaper(spec.name, options)
    elif spec.shape == "episode":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a reward program that fails
            shape(spec.name, records, **options)
    elif spec.name in TRAINED:
        estimator(spec.name, **options)
    else:
        estimate(spec.name, records, **options)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("dylan", {"ratings": "x"}, "ratings must be finite numbers"),
        ("dylan", {"ratings": [[[1.0, 1.0], [1.0, 1.0]]], "final": [0, 0]}, "do not add up to 0"),
        ("self-play-preference", {"prefer": "x"}, "prefer must be finite numbers"),
        ("archer", {"hidden": 2**31}, "hidden of archer must be an integer from 0 to 65536"),
        ("archer", {"features": "wrods"}, "did you mean 'words'"),
        ("a-grae", {"lean": 1e308}, "a-grae cannot compute with these rewards and options"),
        ("gigpo", {"weight": float("inf")}, "gigpo cannot compute"),
    ],
)
def test_what_an_estimator_cannot_use_is_named(
    name: str, options: dict[str, Any], says: str
) -> None:
    rewards = pytest.importorskip("palestra_rewards")
    records = palestra.play("games/TicTacToe-v0", agents=["random", "random"], episodes=4)
    with pytest.raises(palestra.PalestraError, match=says):
        rewards.estimate(name, records, **options)


def test_a_missing_option_is_named() -> None:
    rewards = pytest.importorskip("palestra_rewards")
    records = palestra.play("games/TicTacToe-v0", agents=["random", "random"])
    with pytest.raises(palestra.InvalidOption, match="needs human"):
        rewards.shape("human-gain", records, unaided=0.5)
    with pytest.raises(palestra.InvalidOption, match="needs task"):
        rewards.shape("rewarddance", records, judge="echo:")


def test_options_of_a_step_reward_are_checked_when_it_is_named() -> None:
    pytest.importorskip("palestra_rewards")
    for text, says in (("krc-step:parts=3", "must be a text"), ("krc-step:step=1", "'step'")):
        with pytest.raises(palestra.PalestraError, match=says):
            palestra.make("games/TicTacToe-v0", rewards=["env", text])


def test_salt_with_any_history_ends() -> None:
    rewards = pytest.importorskip("palestra_rewards")
    records = palestra.play("games/TicTacToe-v0", agents=["random", "random"], episodes=4)
    longest = max(len(record.turns) for record in records)
    far, whole = (rewards.estimate("salt", records, history=n) for n in (2**62, longest))
    assert far.values.tolist() == whole.values.tolist()
