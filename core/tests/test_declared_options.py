"""Options: declared once in an annotation, checked by type and range, described in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import InvalidOption, Meta
from palestra.catalogue.describe import describe_options, described_parameters, option_range
from palestra.cli.explaining import all_options
from palestra.kernel.options import check_options
from palestra.kernel.registry import registry
from palestra.kernel.specs import AgentSpec, RewardSpec


@dataclass(frozen=True)
class Options:
    """A dataclass with one option of every kind that games have."""

    seats: Annotated[int, Meta(ge=2, le=6, description="how many play")] = 2
    ante: Annotated[int, Meta(ge=1, description="chips put in", extra={"unit": "chips"})] = 1
    share: Annotated[float, Meta(ge=0, le=1, description="chance of rain")] = 0.5
    talk: Annotated[bool, Meta(description="whether players may talk")] = True
    style: Annotated[Literal["fair", "greedy"], Meta(description="how they bid")] = "fair"
    values: Annotated[tuple[int, ...], Meta(min_length=1, description="what cards are worth")] = (
        1,
        2,
    )
    pair: Annotated[tuple[int, float], Meta(description="a count and a price")] = (1, 2.0)
    names: Annotated[Mapping[str, int], Meta(description="stock by name")] = (  # type: ignore[assignment]
        None  # type: ignore[assignment]
    )
    most: Annotated[int, Meta(ge=0, le=2**63 - 1, description="a large number")] = 0
    anything: Any = None
    limit: Annotated[int | None, Meta(description="most steps, None for no end")] = None

    def __post_init__(self) -> None:
        if self.names is None:
            object.__setattr__(self, "names", {})
        check_options(self)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("seats", 7, "seats must be an integer from 2 to 6, not 7 .*how many play"),
        ("seats", 2.0, "an integer from 2 to 6, not 2.0"),
        ("seats", True, "not True"),
        ("seats", None, "not None"),
        ("seats", "3", "not '3'"),
        ("seats", [3], "not "),
        pytest.param("seats", 10**6000, "not <int>", id="seats-huge"),
        ("ante", 0, "an integer at least 1, not 0"),
        ("share", float("nan"), "a number from 0 to 1, not nan"),
        ("share", 1.5, "not 1.5"),
        pytest.param("share", 10**400, "a number from 0 to 1", id="share-huge"),
        ("talk", 1, "True or False, not 1"),
        ("style", "Fair", "'fair' or 'greedy', not 'Fair'"),
        ("style", 5, "not 5"),
        ("values", (), "of length 1 or more"),
        ("values", (1, 2.5), "a list .each item an integer."),
        ("values", "12", "not '12'"),
        ("pair", (1,), "a list of 2 items: an integer, a number"),
        ("names", {"a": "b"}, "a mapping from a text to an integer"),
        ("names", {1: 1}, "a mapping"),
        ("limit", "none", "an integer or None"),
        ("most", 2**63, "from 0 to 9223372036854775807"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_does(name: str, value: Any, says: str) -> None:
    with pytest.raises(InvalidOption, match=says):
        Options(**{name: value})


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("seats", np.int64(3), 3),
        ("share", 1, 1.0),
        ("share", np.float32(0.25), 0.25),
        ("talk", np.bool_(False), False),
        ("values", [3, np.int8(4)], (3, 4)),
        ("pair", [1, 2], (1, 2.0)),
        ("limit", 9, 9),
        ("anything", (1, "a"), (1, "a")),
        ("names", {"a": 1}, {"a": 1}),
    ],
)
def test_equal_values_are_kept_in_one_plain_form(name: str, value: Any, kept: Any) -> None:
    held = getattr(Options(**{name: value}), name)
    assert held == kept
    assert type(held) is type(kept)


@given(st.sampled_from(["seats", "share", "talk", "style", "values", "pair", "names", "limit"]),
       st.recursive(
           st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
           lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
       ))  # fmt: skip
def test_any_value_is_kept_or_refused_and_nothing_else(name: str, value: Any) -> None:
    try:
        Options(**{name: value})
    except InvalidOption as error:
        said = str(error)
    else:
        said = name
    assert said.startswith(name)


def test_options_are_described_with_range_default_and_unit() -> None:
    found = {option.name: option for option in describe_options(Options)}
    assert found["seats"].accepts == "an integer from 2 to 6"
    assert (found["ante"].default, found["ante"].unit) == ("1", "chips")
    assert found["style"].accepts == "'fair' or 'greedy'"
    assert found["limit"].description == "most steps, None for no end"
    assert option_range(Options, "seats") == (2, 6)
    assert option_range(Options, "ante") is None


class Agentlike:
    def __init__(self, *, depth: Annotated[int, Meta(ge=1, description="plies")] = 4) -> None:
        self.depth = depth


def test_options_of_agents_are_checked_by_their_annotations() -> None:
    from palestra.kernel.naming import construct

    assert described_parameters(Agentlike)[0].accepts == "an integer at least 1"
    assert construct(Agentlike, "agent 'x'", {"depth": 2}).depth == 2
    with pytest.raises(InvalidOption, match="depth of agent 'x' must be an integer at least 1"):
        construct(Agentlike, "agent 'x'", {"depth": "deep"})


@pytest.mark.parametrize("spec", palestra.specs(), ids=lambda spec: spec.id)
def test_every_option_of_every_environment_is_described(spec: palestra.EnvSpec) -> None:
    bare = [option.name for option in spec.options if not option.description]
    assert not bare, f"{spec.id}: no description of {bare}"


@pytest.mark.parametrize("spec", registry().agents.values(), ids=lambda spec: spec.name)
def test_every_option_of_every_agent_is_described(spec: AgentSpec) -> None:
    bare = [option.name for option in all_options(spec) if not option.description]
    assert not bare, f"{spec.name}: no description of {bare}"


@pytest.mark.parametrize("spec", registry().rewards.values(), ids=lambda spec: spec.name)
def test_every_option_of_every_reward_is_described(spec: RewardSpec) -> None:
    bare = [option.name for option in spec.options if not option.description]
    assert not bare, f"{spec.name}: no description of {bare}"


def test_info_explains_every_option(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from palestra.cli import main

    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit):
        main(["info", "games/ConnectFour-v0"])
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    (spec,) = (spec for spec in palestra.specs() if spec.id == "games/ConnectFour-v0")
    assert spec.options
    for option in spec.options:
        words = [option.name, *option.default.split(), *option.accepts.split()]
        assert [*words, *option.description.split()] in lines
