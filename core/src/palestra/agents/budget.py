"""Limits on what a run may spend, and what it has spent: one ledger, kept by the runner."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import msgspec

from palestra.kernel.errors import InvalidOption

MOST = 2**53  # of any amount: records and pages that add them up can still write the sums
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]  # checked where a record or message is read
Amount = Annotated[float, msgspec.Meta(ge=0, le=MOST)]


class Usage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What one or more decisions used; two of them can be added.

    tokens_in: tokens of prompts. tokens_out: tokens of completions. tokens_cached: those of the
        prompts that came from a cache. calls: requests to a model. cost: money, in the currency of
        the price table. seconds: time.
    """

    tokens_in: Count = 0
    tokens_out: Count = 0
    tokens_cached: Count = 0
    calls: Count = 0
    cost: Amount = 0.0
    seconds: Amount = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.tokens_cached + other.tokens_cached,
            self.calls + other.calls,
            self.cost + other.cost,
            self.seconds + other.seconds,
        )

    @property
    def uncountable(self) -> bool:
        """Whether any amount is negative, not a number, or more than `MOST`."""
        return not (
            0 <= self.tokens_in <= MOST
            and 0 <= self.tokens_out <= MOST
            and 0 <= self.tokens_cached <= MOST
            and 0 <= self.calls <= MOST
            and 0 <= self.cost <= MOST
            and 0 <= self.seconds <= MOST
        )

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.tokens_in + self.tokens_out


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits for one agent over one run; None is no limit.

    tokens: read and written together. calls: requests to a model.
    money: in the currency of the price table. seconds: time spent inside the agent.
    steps: decisions.

    Raises `InvalidOption` for a negative limit. `UNITS` names the limits.
    """

    tokens: int | None = None
    calls: int | None = None
    money: float | None = None
    seconds: float | None = None
    steps: int | None = None

    UNITS: ClassVar[tuple[str, ...]] = ("tokens", "calls", "money", "seconds", "steps")

    def __post_init__(self) -> None:
        for unit in self.UNITS:
            limit = getattr(self, unit)
            if limit is not None and not limit >= 0:
                raise InvalidOption(f"budget {unit} must be 0 or more, not {limit!r}")


UNLIMITED = Budget()


@dataclass(slots=True)
class Account:
    """One agent's limits and what it has used."""

    budget: Budget = field(default_factory=Budget)
    used: Usage = field(default_factory=Usage)
    steps: int = 0
    limited: bool = field(init=False)

    def __post_init__(self) -> None:
        self.limited = self.budget != UNLIMITED

    def spend(self, usage: Usage) -> None:
        self.used += usage
        self.steps += 1

    def spent(self) -> dict[str, float]:
        used = self.used
        return {
            "tokens": used.tokens,
            "calls": used.calls,
            "money": used.cost,
            "seconds": used.seconds,
            "steps": self.steps,
        }

    def left(self) -> dict[str, float]:
        """The remaining amount of every limit that was set."""
        limits = {unit: getattr(self.budget, unit) for unit in Budget.UNITS}
        spent = self.spent()
        return {unit: max(0, cap - spent[unit]) for unit, cap in limits.items() if cap is not None}

    def exhausted(self) -> str | None:
        """The first limit with nothing left, or None."""
        for unit, left in self.left().items():
            if left <= 0:
                return unit
        return None


class Ledger:
    """One account per name of an agent, as records call it; agents of one name share it."""

    def __init__(self, budgets: dict[str, Budget] | Budget | None = None) -> None:
        self._budgets = budgets
        self._accounts: dict[str, Account] = {}
        self.started = time.monotonic()

    def account(self, agent: str) -> Account:
        """The account of an agent, by its name."""
        if agent not in self._accounts:
            shared = self._budgets if isinstance(self._budgets, Budget) else Budget()
            budget = (
                self._budgets.get(agent, Budget()) if isinstance(self._budgets, dict) else shared
            )
            self._accounts[agent] = Account(budget)
        return self._accounts[agent]

    @property
    def accounts(self) -> dict[str, Account]:
        return dict(self._accounts)
