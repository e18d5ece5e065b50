"""Which calls a deployment lets through: rules over tools and arguments, checked before each call.

After Shi et al., "Progent: Programmable Privilege Control for LLM Agents", 2025: rules are tried
from the highest priority down, the first that matches decides, and what no rule matches is denied.
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
    """What an argument must be: one of `enum`, wholly like `pattern`, in a range."""

    enum: tuple[str | int | float, ...] = ()
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None

    def holds(self, value: Any) -> bool:
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
    """`tool` is a name or a pattern such as "get_*"; every condition in `when` must hold.

    A forbidden call is answered with a message, stops the run, or is put to the user ("ask").
    """

    tool: str
    effect: Literal["allow", "forbid"]
    priority: int = 0
    when: tuple[tuple[str, Condition], ...] = ()
    fallback: Fallback = "message"

    def matches(self, tool: str, values: Mapping[str, Any]) -> bool:
        return fnmatchcase(tool, self.tool) and all(
            name in values and condition.holds(values[name]) for name, condition in self.when
        )


DENIED = Rule("*", "forbid")
Policy = tuple[Rule, ...]


def decide(policy: Policy, tool: str, values: Mapping[str, Any]) -> Rule:
    """The rule that decides about a call."""
    ranked = sorted(policy, key=lambda rule: -rule.priority)
    return next((rule for rule in ranked if rule.matches(tool, values)), DENIED)


def read_policy(rules: Iterable[Any]) -> Policy:
    """Rules given as `Rule`s or as mappings; raises `InvalidOption` for what is none."""
    found = []
    for rule in rules:
        try:
            found.append(rule if isinstance(rule, Rule) else msgspec.convert(_plain(rule), Rule))
        except (msgspec.ValidationError, TypeError, ValueError) as error:
            raise InvalidOption(
                f"{rule!r} is no rule of a policy: {error}; write, say, "
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
                    f"the pattern for {name} is no regular expression: {error}"
                ) from error


def _refuse_contradictions(policy: Policy) -> None:
    """Two rules of one priority that may both match and say opposite things leave it to chance."""
    for number, one in enumerate(policy):
        for other in policy[:number]:
            same = one.tool == other.tool and one.priority == other.priority
            alike = not one.when or not other.when or one.when == other.when
            if same and alike and one.effect != other.effect:
                raise InvalidOption(
                    f"two rules contradict each other: {one} and {other}; give one a higher "
                    "priority"
                )
