"""Policies of a deployment: rules over tools and arguments that are checked before each call.

After Shi et al., "Progent: Programmable Privilege Control for LLM Agents", 2025. Rules are
tried from the highest priority down; the first that matches decides. A call that no rule matches is
denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec
from palestra import InvalidOption

Fallback = Literal["message", "stop", "ask"]


class Condition(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A condition on an argument."""

    enum: tuple[str | int | float, ...] = ()  # the value is one of these
    pattern: str = ""  # a regular expression that matches all of it
    minimum: float | None = None
    maximum: float | None = None

    def holds(self, value: Any) -> bool:
        """Whether a value meets the condition."""
        if self.enum and value not in self.enum:
            return False
        if self.pattern and not (isinstance(value, str) and re.fullmatch(self.pattern, value)):
            return False
        if self.minimum is None and self.maximum is None:
            return True
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        low = value if self.minimum is None else self.minimum
        high = value if self.maximum is None else self.maximum
        return low <= value <= high


class Rule(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A rule about calls of one tool or of several."""

    tool: str  # a name or a pattern such as "get_*"
    effect: Literal["allow", "forbid"]
    priority: int = 0
    when: tuple[tuple[str, Condition], ...] = ()  # conditions on arguments; all must hold
    fallback: Fallback = "message"  # answer a forbidden call, stop the run, or ask the user

    def matches(self, tool: str, values: Mapping[str, Any]) -> bool:
        """Whether the rule is about a call."""
        return fnmatchcase(tool, self.tool) and all(
            name in values and condition.holds(values[name]) for name, condition in self.when
        )


DENIED = Rule("*", "forbid")
Policy = tuple[Rule, ...]


def decide(policy: Policy, tool: str, values: Mapping[str, Any]) -> Rule:
    """The matching rule of highest priority; if none matches, a rule that denies the call."""
    ranked = sorted(policy, key=lambda rule: -rule.priority)
    return next((rule for rule in ranked if rule.matches(tool, values)), DENIED)


def read_policy(rules: Iterable[Any]) -> Policy:
    """A policy from `Rule`s or mappings; raises `InvalidOption` for anything else."""
    found = []
    for rule in rules:
        try:
            found.append(rule if isinstance(rule, Rule) else msgspec.convert(_plain(rule), Rule))
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise InvalidOption(
                f"{rule!r} is not a rule of a policy: {error}; write for example "
                '{"tool": "set_*", "effect": "allow", "when": {"order_tier": {"enum": ["gold"]}}}'
            ) from error
    policy = tuple(found)
    _check_patterns(policy)
    _refuse_contradictions(policy)
    return policy


def _plain(rule: Any) -> Any:
    rule = dict(rule)
    when = rule.get("when", ())
    return rule | {"when": list(when.items() if isinstance(when, Mapping) else when)}


def _check_patterns(policy: Policy) -> None:
    for rule in policy:
        for name, condition in rule.when:
            try:
                re.compile(condition.pattern)
            except re.error as error:
                raise InvalidOption(
                    f"the pattern for {name} is not a regular expression: {error}"
                ) from error


def _refuse_contradictions(policy: Policy) -> None:
    """Raise `InvalidOption` for rules of equal priority that decide the same calls differently."""
    for number, one in enumerate(policy):
        for other in policy[:number]:
            same = one.tool == other.tool and one.priority == other.priority
            alike = not one.when or not other.when or one.when == other.when
            if same and alike and one.effect != other.effect:
                raise InvalidOption(
                    f"two rules contradict each other: {one} and {other}; give one a higher "
                    "priority"
                )
