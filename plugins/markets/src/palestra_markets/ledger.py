"""A double-entry ledger in whole minor units of money.

Every entry takes an amount from one account and gives it to another, so that all balances always
sum to zero. Money enters from the account `ISSUER`, the only one with a negative balance. Every
entry has a reference that is used once. A refused payment leaves the ledger unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from palestra.kernel.errors import PalestraError

ISSUER = "issuer"
ESCROW = "escrow"


class PaymentRefused(PalestraError):
    """Raised for a payment that cannot be made; the ledger is unchanged."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`amount` minor units from `source` to `target`, under a reference used once."""

    source: str
    target: str
    amount: int
    reference: str


@dataclass(slots=True)
class Ledger:
    """Balances in minor units, all entries behind them, and what escrow holds."""

    balances: dict[str, int] = field(default_factory=lambda: {ISSUER: 0, ESCROW: 0})
    entries: list[Entry] = field(default_factory=list)
    used: dict[str, int] = field(default_factory=dict)  # index in `entries` by reference
    held: dict[str, Entry] = field(default_factory=dict)  # in escrow, by reference

    def open(self, account: str, amount: int = 0) -> None:
        """Open an account with money from the issuer."""
        if account in self.balances:
            raise PaymentRefused(f"account {account!r} is open already")
        whole_amount(amount, least=0)
        self.balances[account] = 0
        if amount:
            self._enter(Entry(ISSUER, account, amount, f"open {account}"))

    def transfer(self, source: str, target: str, amount: int, reference: str) -> None:
        """Move money between accounts; raises `PaymentRefused` if the source does not have it."""
        self._check_payment(source, target, amount, reference)
        self._enter(Entry(source, target, amount, reference))

    def hold(self, source: str, target: str, amount: int, reference: str) -> None:
        """Take money into escrow for `target`, until `settle` or `refund`."""
        self._check_payment(source, target, amount, reference)
        entry = Entry(source, target, amount, reference)
        self._enter(Entry(source, ESCROW, amount, reference))
        self.held[reference] = entry

    def settle(self, reference: str) -> None:
        """Pay what escrow holds under a reference to its target."""
        entry = self._release(reference)
        self._enter(Entry(ESCROW, entry.target, entry.amount, f"settle {reference}"))

    def refund(self, reference: str) -> None:
        """Return what escrow holds under a reference to its source."""
        entry = self._release(reference)
        self._enter(Entry(ESCROW, entry.source, entry.amount, f"refund {reference}"))

    def check(self) -> None:
        """Raise `PaymentRefused` unless the books balance.

        Balances are those of the entries, they sum to zero, only the issuer's is negative, and the
        balance of escrow is the sum of what it holds.
        """
        sums = dict.fromkeys(self.balances, 0)
        for entry in self.entries:
            sums[entry.source] -= entry.amount
            sums[entry.target] += entry.amount
        held = sum(entry.amount for entry in self.held.values())
        if sums != self.balances or self.balances[ESCROW] != held or not self.is_conserved():
            raise PaymentRefused(f"the books do not balance: {self.balances}, held {held}")

    def is_conserved(self) -> bool:
        """Whether balances sum to zero and only the issuer's is negative; quick for every step."""
        owing: Iterable[str] = (name for name, money in self.balances.items() if money < 0)
        return sum(self.balances.values()) == 0 and all(name == ISSUER for name in owing)

    def _check_payment(self, source: str, target: str, amount: int, reference: str) -> None:
        whole_amount(amount, least=1)
        for account in (source, target):
            if account not in self.balances or account in (ISSUER, ESCROW):
                raise PaymentRefused(f"there is no account {account!r} to pay from or to")
        if source == target:
            raise PaymentRefused(f"{source!r} cannot pay itself")
        if reference in self.used:
            raise PaymentRefused(f"{reference!r} has been paid already")
        if self.balances[source] < amount:
            raise PaymentRefused(f"{source!r} has {self.balances[source]}, not {amount}")

    def _release(self, reference: str) -> Entry:
        if reference not in self.held:
            raise PaymentRefused(f"escrow holds nothing under {reference!r}")
        return self.held.pop(reference)

    def _enter(self, entry: Entry) -> None:
        self.balances[entry.source] -= entry.amount
        self.balances[entry.target] += entry.amount
        self.used[entry.reference] = len(self.entries)
        self.entries.append(entry)


def whole_amount(amount: object, *, least: int) -> None:
    """Raise `PaymentRefused` unless an amount is a whole number of minor units."""
    if isinstance(amount, bool) or not isinstance(amount, int) or amount < least:
        raise PaymentRefused(f"an amount must be a whole number from {least}, not {amount!r}")
