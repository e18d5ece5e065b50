"""What the kit certifies holds for options that nobody chose: they are drawn from what is accepted.

`palestra check` and the tests of each distribution try the defaults, the splits and a few more.
"""

from __future__ import annotations

import random
from typing import Any

import palestra
import pytest
from palestra.kernel.errors import PalestraError
from palestra.kernel.options import option_hints
from palestra.kernel.registry import registry
from palestra.kernel.specs import load_entry_point
from palestra.testing.fuzzing.values import good_values, value_of
from palestra.testing.kit import run_check
from palestra.testing.subject import Subject

CHECKS = (
    "secrets_stay_hidden",
    "transcripts_keep_secrets",
    "private_events_stay_private",
    "steps_tell_no_secret",
    "imagined_worlds_keep_secrets",
    "imagined_worlds_are_dealt_as_often",
    "sealed_moves_stay_sealed",
    "rules_stay_in_arrays",
    "turns_give_what_is_their_own",
)
STUDIES = {  # options that fix what the players of a study believe to be drawn
    "games/Avalon-v0": ("shuffle",),
    "games/Werewolf-v0": ("shuffle",),
    "markets/Bargaining-v0": ("discount_0", "discount_1"),
    "markets/ContentAuction-v0": ("values",),
    "markets/Persuasion-v0": ("complete",),
    "markets/PriceNegotiation-v0": ("seller_value", "buyer_value"),
}
FOUND = (  # drawn once, and what a seat imagined told what was hidden from it
    ("games/DonorGame-v0", {"num_players": 2, "rounds": 2, "strategies": "newcomers"}),
    ("grid/Fruit-v0", {"rows": 16, "sight": 2, "num_players": 3, "num_fruits": 9}),
    ("grid/Kitchen-v0", {"max_steps": 2, "sight": 1}),
    ("grid/Particles-v0", {"scenario": "tag", "num_players": 7, "num_prey": 3, "sight": 0.9}),
    ("grid/Particles-v0", {"scenario": "adversary", "sight": 0.5}),
    ("grid/Pursuit-v0", {"shared_reward": False, "num_players": 3, "rows": 9, "max_steps": 60}),
    ("grid/Pursuit-v0", {"columns": 1, "num_players": 1, "num_evaders": 8}),
    ("grid/XLand-v0", {"sight": 4, "relation": "independent", "terrain": "rooms"}),
    ("grid/XLand-v0", {"sight": 2, "terrain": "maze"}),
    ("markets/Composer-v0", {"low": 0.1, "high": 0.1}),
    ("markets/Magentic-v0", {"search": "cheapest", "results": 7, "latency": 8}),
    ("markets/Magentic-v0", {"trade": "contractors", "customers": 1}),
    ("web/AppWorld-v0", {"distill": "text", "changes": True, "kind": "pay-debts"}),
    ("web/ToolWorld-v0", {"rows": 9, "user": "reveals", "discover": True, "outages": "error"}),
    ("web/ToolWorld-v0", {"task": "write", "goals": 2}),
)
MOST_SEATS = 12
LARGEST = 16
DRAWS, TRIES = 6, 30


def _is_small(value: Any) -> bool:
    """Whether numbers in a value are small enough for a game that is soon played."""
    if isinstance(value, list | tuple):
        return all(map(_is_small, value))
    return not isinstance(value, int | float) or abs(value) <= LARGEST


def drawn_subject(env: str, draw: int) -> Subject:
    """An environment with about half of its options drawn, such that it can be made."""
    spec = registry().environment(env)
    hints = option_hints(load_entry_point(spec.entry_point))
    free = [name for name in hints if name not in (*STUDIES.get(env, ()), "quoting")]
    for number in range(TRIES):
        rng = random.Random(f"{env} {draw} {number}")
        known = {name: good_values(hints[name], rng) for name in free if rng.random() < 0.5}
        drawn = {name: value_of(rng.choice(values)) for name, values in known.items() if values}
        chosen = {name: value for name, value in drawn.items() if _is_small(value)}
        try:
            subject = Subject(spec, chosen)
            seats = subject.game.num_players
        except PalestraError:  # options that do not go together
            continue
        if chosen and seats <= MOST_SEATS:
            return subject
    return Subject(spec, {})


@pytest.mark.exhaustive(sample=3)
@pytest.mark.slow
@pytest.mark.parametrize("draw", range(DRAWS))
@pytest.mark.parametrize(
    "env", [spec.id for spec in palestra.specs() if spec.options and not spec.runs_programs]
)
def test_secrets_are_kept_with_drawn_options(env: str, draw: int) -> None:
    _keeps_secrets(drawn_subject(env, draw))


@pytest.mark.slow
@pytest.mark.parametrize(("env", "options"), FOUND)
def test_secrets_are_kept_where_they_once_were_not(env: str, options: dict[str, Any]) -> None:
    _keeps_secrets(Subject(registry().environment(env), options))


def _keeps_secrets(subject: Subject) -> None:
    verdicts = [run_check(subject, check) for check in CHECKS]
    failed = [f"{v.check}: {v.detail}" for v in verdicts if v.status == "failed"]
    assert not failed, (subject.spec.id, subject.options, failed)
