"""Linear and mixed-integer models, solved by HiGHS as SciPy ships it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

INFINITY = float("inf")
Status = Literal["optimal", "limit", "infeasible", "unbounded", "failed"]


@dataclass(frozen=True, slots=True)
class Solution:
    """What the solver says.

    `value` is the best objective value found (NaN if none), `bound` a proven bound on the optimum,
    `point` the values of the variables.
    """

    status: Status
    value: float = float("nan")
    bound: float = float("nan")
    point: tuple[float, ...] = ()


@dataclass(slots=True)
class Linear:
    """A model under construction; variables are numbered in the order in which they are added."""

    sense: Literal["min", "max"] = "min"
    costs: list[float] = field(default_factory=list)
    lows: list[float] = field(default_factory=list)
    highs: list[float] = field(default_factory=list)
    whole: list[int] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float, float]] = field(default_factory=list)

    def variable(
        self, cost: float = 0.0, low: float = 0.0, high: float = INFINITY, *, whole: bool = False
    ) -> int:
        """Add a variable with its coefficient in the objective; returns its number."""
        self.costs.append(cost)
        self.lows.append(low)
        self.highs.append(high)
        self.whole.append(int(whole))
        return len(self.costs) - 1

    def switch(self, cost: float = 0.0) -> int:
        """Add a variable that is 0 or 1."""
        return self.variable(cost, 0.0, 1.0, whole=True)

    def row(
        self, terms: Mapping[int, float], low: float = -INFINITY, high: float = INFINITY
    ) -> None:
        """Require low <= sum of terms <= high."""
        self.rows.append((dict(terms), low, high))

    def solve(
        self, *, relaxed: bool = False, nodes: int = 200_000, seconds: float = INFINITY
    ) -> Solution:
        """Solve it; `relaxed` drops that variables are whole, `nodes` ends the search early.

        The limit is on nodes, so that the answer is the same on every machine. `seconds` is for
        models of others: a node may take the solver any time, and nothing else could end it.
        """
        if not self.costs:
            return Solution("optimal", 0.0, 0.0)
        sign = 1.0 if self.sense == "min" else -1.0
        found = self._milp(sign * np.asarray(self.costs), relaxed, nodes, seconds)
        status = _status(found)
        if status in ("failed", "unbounded", "infeasible"):
            return Solution(self._why(relaxed, nodes, seconds))
        if found.x is None:
            return Solution(status)
        value = sign * float(found.fun)
        dual = getattr(found, "mip_dual_bound", None)
        bound = value if dual is None or status == "optimal" else sign * float(dual)
        return Solution(status, value, bound, tuple(float(x) for x in found.x))

    def _why(self, relaxed: bool, nodes: int, seconds: float) -> Status:
        """Whether there is any feasible point at all tells unbounded from infeasible."""
        status = _status(self._milp(np.zeros(len(self.costs)), relaxed, nodes, seconds))
        return "unbounded" if status == "optimal" else status

    def _milp(self, costs: NDArray[np.float64], relaxed: bool, nodes: int, seconds: float) -> Any:
        # importing SciPy takes most of a second, which no reset needs
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        places = [(n, v, c) for n, (terms, _, _) in enumerate(self.rows) for v, c in terms.items()]
        constraints = None
        if self.rows:
            at, of, by = zip(*places, strict=True) if places else ((), (), ())
            matrix = csr_array((by, (at, of)), shape=(len(self.rows), len(self.costs)))
            lows, highs = ([row[end] for row in self.rows] for end in (1, 2))
            constraints = LinearConstraint(matrix, lows, highs)
        return milp(
            costs,
            integrality=np.zeros(len(self.whole)) if relaxed else self.whole,
            bounds=Bounds(self.lows, self.highs),
            constraints=constraints,
            options={"node_limit": nodes, "mip_rel_gap": 0.0, "time_limit": seconds},
        )


def _status(found: Any) -> Status:
    """SciPy has no code of its own for HiGHS's status 16, which says that the nodes are used up."""
    at_limit = found.status == 4 and "HiGHS Status 16:" in found.message
    return "limit" if at_limit else _STATUS.get(int(found.status), "failed")


_STATUS: Mapping[int, Status] = {0: "optimal", 1: "limit", 2: "infeasible", 3: "unbounded"}
