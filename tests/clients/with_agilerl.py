"""AgileRL 2.58.0: MADDPG and IPPO, masks in infos."""

from __future__ import annotations

import numpy as np
from page import run


def test_the_page() -> None:
    names, ledger = run("AgileRL")
    assert ledger.games == {"Foraging", "KuhnPoker"}
    # after an episode it goes on with the last one's masks, and so may miss in the first step
    assert set(ledger.illegal_turns) <= {0}
    (maddpg,), (ippo,) = names["population"], names["trained"]
    assert maddpg.steps >= 60
    assert ippo.steps >= 128
    assert all(np.isfinite(names["fitness"]))
    assert all(np.isfinite(names["scores"]))
    assert ledger.moves > 3 * 60
