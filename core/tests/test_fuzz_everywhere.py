"""Every installed environment against one corpus of hostile options, actions and texts."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from itertools import islice
from types import FrameType
from typing import Any

import palestra
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palestra import Episode, InvalidAction, InvalidOption
from palestra.kernel.array_game import ArrayGame
from palestra.kernel.options import option_hints
from palestra.kernel.registry import load_game
from palestra.kernel.specs import load_entry_point
from palestra.testing.fuzzing import Case, check, draw_cases, fuzz, snippet
from palestra.testing.fuzzing.values import LONG, OBJECTS, TEXTS, position_names, value_of

SPECS = palestra.specs()
IDS = [spec.id for spec in SPECS]
READERS = (  # one of each kind: numbers, names, calls, calls of tools, coordinates
    "games/MatrixGame-v0",
    "games/Chess-v0",
    "text/Negotiation-v0",
    "web/ToolWorld-v0",
    "web/Desktop-v0",
    "games/Codenames-v0",
    "games/Catan-v0",
)
WRONG = ("object()", "Shy()", "b'x'", "'\\ud83d'", "nan", "10**5000", "[[]]", "{'a': []}", "1j")
TODAY = date.today().toordinal()
ROTATION, CASES = 4, 12  # environments a day, and cases of each


def sample(values: tuple[str, ...], count: int, name: str) -> tuple[str, ...]:
    """Some of the corpus for one environment; all of it is in use over all environments."""
    return tuple(random.Random(name).sample(values, count))


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_options_of_another_type_are_refused_by_name(spec: palestra.EnvSpec) -> None:
    kind = load_entry_point(spec.entry_point)
    for name, hint in option_hints(kind).items():
        for value in WRONG:
            if hint is Any:
                continue
            with pytest.raises(InvalidOption, match=rf"\b{name}\b") as refused:
                load_game(spec, {name: value_of(value)})
            str(refused.value).encode()


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_hostile_texts_and_objects_are_refused_or_played(spec: palestra.EnvSpec) -> None:
    texts, objects = sample(TEXTS, 16, spec.id), sample(OBJECTS, 10, spec.id)
    spoilt = tuple(f"spoilt({n}, {n}, {value})" for n, value in enumerate(objects[:5]))
    check(Case(spec.id, "actions", seed=1, steps=1, values=texts, view="reading"))
    check(Case(spec.id, "actions", seed=2, steps=1, values=(*objects, *spoilt), view="episode"))


OWN = [
    ({"message_limit": "0"}, "markets/Shopping-v0"),
    ({"message_limit": "1"}, "markets/Magentic-v0"),
    ({"message_limit": "14"}, "markets/Magentic-v0"),
    ({"plan_limit": "1"}, "games/PlanPath-v0"),
    ({"plan_limit": "1", "num_players": "2", "rows": "30"}, "games/PlanPath-v0"),
    ({"max_turns": "30000"}, "text/Negotiation-v0"),
    ({"natural": "True"}, "games/Blackjack-v0"),
    ({"sab": "None"}, "games/Blackjack-v0"),
    ({"fen": "9223372036854775808"}, "games/Chess-v0"),
    ({"rows": "8.0"}, "games/ConnectFour-v0"),
    ({"payoffs_table": "Shy()"}, "games/Chicken-v0"),
    ({"payoffs_table": "np.array('')"}, "games/Chicken-v0"),
    ({"message_limit": "10**5000"}, "text/Negotiation-v0"),
    ({"side": "20", "frozen": "0.1", "grid": "'random'"}, "games/FrozenLake-v0"),
    ({"data": "'\\0'"}, "markets/Trading-v0"),
    ({"data": "'..'"}, "markets/Trading-v0"),
    ({"contacts": "'\\0'"}, "markets/Population-v0"),
    ({"components": "[(2, 7)]"}, "markets/Composer-v0"),
    ({"words": "'x' * 100_000"}, "games/Hangman-v0"),
    ({"max_turns": "1000000"}, "text/Negotiation-v0"),
    ({"split": "[]"}, "games/ConnectFour-v0"),
    ({"cars": "[('a', '', 'b', 0, 0), ('', 'b', '', 1, 7)]"}, "games/CarDealer-v0"),
    *(
        ({name: value}, env)
        for env in ("games/Werewolf-v0", "games/Avalon-v0", "games/Sanctions-v0")
        for name in ("num_players", "no_such_option")
        for value in ("[]", "{'a': 1}", "[[1]]")
    ),
]


@pytest.mark.parametrize(("options", "env"), OWN)
def test_settings_that_once_broke_a_game(options: dict[str, str], env: str) -> None:
    for seed in range(2):
        check(Case(env, "options", seed=seed, steps=30, options=options))


# Time


class TooLong(BaseException):
    """Reading takes many times longer than it should."""


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """Raise `TooLong` after so many seconds of processor time, hundreds of times what is needed."""

    def bite(_: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, bite)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@pytest.mark.parametrize("spec", SPECS, ids=IDS)
def test_long_texts_are_read_in_50_milliseconds(spec: palestra.EnvSpec) -> None:
    """Every environment reads some of the corpus, and all of it is read somewhere."""
    check(Case(spec.id, "actions", seed=3, steps=1, values=sample(LONG, 5, spec.id), view="long"))


def test_all_long_texts_are_read_somewhere() -> None:
    assert {text for env in IDS for text in sample(LONG, 5, env)} == set(LONG)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")
@pytest.mark.parametrize("env", READERS)
def test_a_megabyte_is_read_in_linear_time(env: str) -> None:
    episode = opened(env)
    seat = episode.to_act[0]
    names = position_names(episode, seat)
    for expression in LONG:
        text = value_of(expression, names)
        said = ""
        with watchdog(20.0):
            try:
                episode.check(seat, episode.parse(seat, text))
            except InvalidAction as error:
                said = str(error)
        assert len(said) < 20_000


def opened(env: str) -> Episode:
    game = palestra.game(env)
    return Episode(game, 0, compiled=False if isinstance(game, ArrayGame) else None)


# Any text at all

letters = st.characters(exclude_categories=())
pieces = st.one_of(
    st.sampled_from(("(", ")", "[", "]", "{", "}", "'", '"', "\\", "\n", "=", ",", ":", ".", "-")),
    st.sampled_from(("Move: ", "Action:", "**", "`", "> ", "<think>", "</think>", '"type"', "0x")),
    st.integers().map(str),
    st.floats().map(str),
    st.text(letters, max_size=5),
)


@pytest.mark.parametrize("env", READERS)
def test_any_text_is_read_as_a_legal_action_or_refused(env: str) -> None:
    episode = opened(env)
    seat = episode.to_act[0]
    written = [position_names(episode, seat)["written"](n) for n in range(3)]
    cut = st.tuples(st.sampled_from(written), st.integers(0, 30), st.integers(0, 30))
    parts = st.one_of(pieces, cut.map(lambda c: c[0][c[1] : c[2]]), st.sampled_from(written))

    @settings(max_examples=60)
    @given(st.lists(parts, max_size=12).map("".join))
    def reads(text: str) -> None:
        try:
            action = episode.parse(seat, text)
        except InvalidAction as error:
            str(error).encode()
        else:
            episode.check(seat, action)

    reads()


# A few environments a day


@pytest.mark.slow
@pytest.mark.exhaustive(sample=1)
@pytest.mark.parametrize("number", range(ROTATION))
@pytest.mark.essential
def test_the_environments_of_the_day_are_fuzzed(number: int) -> None:
    """Each day others, in rotation: the day's number is the seed, and is printed."""
    env = IDS[(TODAY * ROTATION + number) % len(IDS)]
    print(f"palestra fuzz {env} --seed {TODAY}  # the first {CASES} cases")
    findings = fuzz(env, seed=TODAY, cases=CASES, minutes=5)
    assert not findings, "\n\n".join(
        f"palestra fuzz {env} --seed {TODAY}: {f.problem}\n{snippet(f)}" for f in findings
    )


def test_every_environment_has_its_day() -> None:
    turns = {
        (day * ROTATION + number) % len(IDS)
        for day in range(TODAY, TODAY + len(IDS) // ROTATION + 1)
        for number in range(ROTATION)
    }
    assert turns == set(range(len(IDS)))


@pytest.mark.parametrize("spec", SPECS[:: len(SPECS) // 8], ids=lambda spec: spec.id)
def test_cases_can_be_drawn_for(spec: palestra.EnvSpec) -> None:
    cases = list(islice(draw_cases(spec, 0), 40))
    assert all(case.env == spec.id for case in cases)
