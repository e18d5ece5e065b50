"""Ten thousand resets of every environment, five times as many as the kit makes."""

from __future__ import annotations

import palestra
import pytest
from palestra.testing.endurance import resets_leave_nothing
from palestra.testing.subject import Subject

SPECS = palestra.specs()


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("spec", SPECS, ids=[spec.id for spec in SPECS])
def test_ten_thousand_resets_leave_nothing(spec: palestra.EnvSpec) -> None:
    resets_leave_nothing(Subject(spec), 10_000)
