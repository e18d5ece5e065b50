"""What the kit certifies holds for options that nobody chose: they are drawn from what is accepted.

`palestra check` and the tests of each distribution try the defaults, the splits and a few more.
"""

from __future__ import annotations

import re
from typing import Any

import palestra
import pytest
from palestra.kernel.errors import PalestraError
from palestra.kernel.registry import registry
from palestra.kernel.rng import Rng
from palestra.kernel.specs import OptionSpec
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
}
MOST_SEATS = 12
DRAWS, TRIES = 6, 12


def _value(option: OptionSpec, rng: Rng) -> Any:
    """A value that an option accepts, near the least for a number; None where it is not known."""
    if option.accepts == "True or False":
        return bool(rng.below(2))
    if found := re.fullmatch(r"an integer from (-?\d+) to (-?\d+)", option.accepts):
        least, most = map(int, found.groups())
        return rng.between(least, min(most, least + rng.choice((1, 3, 8, 15))))
    if found := re.fullmatch(r"a number from (-?[\d.]+) to (-?[\d.]+)", option.accepts):
        low, high = map(float, found.groups())
        return round(low + (min(high, low + 5) - low) * rng.random(), 2)
    words = re.findall(r"'([^']*)'", option.accepts)
    return rng.choice(words) if words and "text" not in option.accepts else None


def drawn_subject(env: str, draw: int) -> Subject:
    """An environment with about half of its options drawn, such that it can be made."""
    spec = registry().environment(env)
    kept = (*STUDIES.get(env, ()), "quoting")
    free = [option for option in spec.options if option.name not in kept]
    for number in range(TRIES):
        rng = Rng.seeded(TRIES * draw + number)
        values = {option.name: _value(option, rng) for option in free if rng.below(2)}
        chosen = {name: value for name, value in values.items() if value is not None}
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
    subject = drawn_subject(env, draw)
    verdicts = [run_check(subject, check) for check in CHECKS]
    failed = [f"{v.check}: {v.detail}" for v in verdicts if v.status == "failed"]
    assert not failed, (env, subject.options, failed)
