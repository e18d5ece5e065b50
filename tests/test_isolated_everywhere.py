"""What an agent sees from a process of its own, in every environment."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

import msgspec
import palestra
import pytest
from palestra.isolation.agent import IsolatedAgent
from palestra.isolation.system import unwalled_system
from palestra.kernel.registry import registry

pytestmark = pytest.mark.skipif(bool(unwalled_system()), reason=unwalled_system() or "walled")

LOOKER = r'''
import re

from palestra import Decision, Rng

SHOWN = (
    "text position legal_text scene transcript observation mask legal legal_actions legal_texts "
    "returns steps_played env start_key cursor result tries error since life"
)


def in_order(found):
    """The members of a set in an order that does not depend on how it was made."""
    return repr(sorted(re.findall(r"\(.*?\)", found[1])))


def looker():
    """An agent that tells all that it sees, and draws its moves."""

    def look(turn):
        rng = Rng(3)
        asked = {name: (lambda name=name: getattr(turn, name)) for name in SHOWN.split()}
        asked["keys"] = lambda: turn.state_key().hex() + turn.anchor().hex()
        asked["fork"] = lambda: turn.fork(rng).state_key(turn.seat).hex()
        asked["drawn"] = lambda: (repr(turn.sample(rng)), rng.counter)
        asked["script"] = turn.scripted_action
        seen = {}
        for name, look_at in asked.items():
            try:
                seen[name] = re.sub(r"frozenset\(\{(.*?)\}\)", in_order, repr(look_at()))
            except Exception as error:
                seen[name] = f"{type(error).__name__}: {error}"
        return Decision(turn.sample(turn.rng(1, 2)), facts=seen)

    return look
'''


@pytest.fixture(scope="module")
def lookers(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("agents")
    (folder / "lookers_of_a_test.py").write_text(LOOKER)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield import_module("lookers_of_a_test")


@pytest.mark.exhaustive(sample=8)
@pytest.mark.parametrize("env", sorted(registry().environments))
def test_an_isolated_agent_sees_what_one_in_the_same_process_sees(
    env: str, lookers: ModuleType
) -> None:
    told = [
        turns_of(palestra.play(env, agents=agent, episodes=1, seed=5, max_episode_steps=8))
        for agent in (lookers.looker(), IsolatedAgent(lookers.looker))
    ]
    assert told[0] == told[1]


def turns_of(records: list[palestra.EpisodeRecord]) -> Any:
    """The turns of records without the seconds that they took."""
    (record,) = records
    assert not record.error
    turns = [msgspec.to_builtins(turn) for step in record.steps for turn in step.turns]
    for turn in turns:
        turn.pop("usage", None)
    return turns
