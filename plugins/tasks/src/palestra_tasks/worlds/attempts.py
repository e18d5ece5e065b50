"""Attempts in a drawn world: what is pressed, what the dials show, what is paid, what is known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from palestra import Rng

from palestra_tasks.worlds.panels import (
    COMMON,
    ENDING,
    MADE_UP,
    NAMES,
    RARE,
    SIGHTS,
    SIZES,
    WRONG,
    Effect,
    Grammar,
    Labels,
    World,
    draw_world,
    grammar,
    labels_of,
    optimum,
    paid,
)

UNSEEN = "core"  # the name of a dial that is not shown
SAID = {kind: f"{kind} {{0}}" for kind in (*COMMON, *RARE)} | {
    "turn back": "turn {0} back",
    "copy": "copy {1} to {0}",
    "contrast": "set {0} against {1}",
    "pull": "pull {0} to {1}",
    "push": "push {0} from {1}",
}
Reading = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Pressed:
    """A button that was pressed, what the dials showed after it, and what was paid."""

    button: int
    reading: Reading
    pay: float


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the dials showed at the start, and the presses so far."""

    reading: Reading
    presses: tuple[Pressed, ...] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What the player knows of a world."""

    level: str
    rare: bool
    labels: Labels
    shown: int  # how many dials
    attempts: tuple[Attempt, ...]

    @property
    def grammar(self) -> Grammar:
        return grammar(self.level, self.rare)


@dataclass(frozen=True)
class Panel:
    """A drawn world, how it is shown and told, and the attempts so far."""

    world: World
    sight: str
    noise: int  # a word from which errors of readings are drawn
    names: tuple[str, ...]  # of the dials that are shown
    labels: Labels
    words: tuple[str, ...]  # on buttons, where they are made up
    attempts: tuple[Attempt, ...] = ()

    @property
    def known(self) -> Known:
        world = self.world
        return Known(world.level, world.rare, self.labels, len(self.names), self.attempts)

    @cached_property
    def buttons(self) -> tuple[str, ...]:
        """The words on the buttons."""
        named = (*self.names, UNSEEN)
        pairs = zip(self.labels, self.words, strict=True)
        return tuple(_told(label, named) if label else word for label, word in pairs)

    @cached_property
    def path(self) -> list[int]:
        """The states of this attempt."""
        found = [self.world.start]
        for one in self.attempts[-1].presses:
            found.append(self.world.press(found[-1], one.button))
        return found

    @property
    def left(self) -> int:
        """Presses that are left in this attempt."""
        return SIZES[self.world.level].length - len(self.attempts[-1].presses)

    @property
    def over(self) -> bool:
        """Whether this attempt is over."""
        met = self.world.grammar.shares[self.world.target][self.path[-1]] > 0.999
        return not self.left or bool(met and self.world.pays in ENDING)

    @property
    def gained(self) -> float:
        """The return of this attempt so far."""
        return sum(one.pay for one in self.attempts[-1].presses)

    @property
    def share(self) -> float:
        """The return of this attempt over the largest one."""
        return max(-1.0, self.gained / optimum(self.world))

    def begun(self) -> Panel:
        """The panel as another attempt begins."""
        return replace(self, attempts=(*self.attempts, Attempt(self._reading(self.world.start))))

    def pressed(self, button: int) -> Panel:
        """The panel after a press."""
        world, attempt = self.world, self.attempts[-1]
        path = [*self.path, world.press(self.path[-1], button)]
        pay = round(float(paid(world.grammar, world.target, world.pays, path)[-1]), 4)
        press = Pressed(button, self._reading(path[-1]), pay)
        attempt = replace(attempt, presses=(*attempt.presses, press))
        return replace(self, attempts=(*self.attempts[:-1], attempt))

    def _reading(self, state: int) -> Reading:
        """What the dials show in a state; a noisy one shows another value now and then."""
        values = self.world.grammar.digits[state][: len(self.names)].tolist()
        if self.sight != "noisy":
            return tuple(values)
        count = sum(1 + len(one.presses) for one in self.attempts)
        rng, many = Rng.seeded(self.noise, 64 + count), SIZES[self.world.level].values
        return tuple(
            (v + 1 + rng.below(many - 1)) % many if rng.random() < WRONG else v for v in values
        )

    def read(self, reading: Reading) -> str:
        return ", ".join(f"{name} {v}" for name, v in zip(self.names, reading, strict=True))

    def statement(self, attempts: int) -> str:
        """What the player reads in every turn."""
        top, length = SIZES[self.world.level].values - 1, SIZES[self.world.level].length
        buttons = "; ".join(f"{n}: {word}" for n, word in enumerate(self.buttons, 1))
        return (
            f"A panel shows {', '.join(self.names)}, each from 0 to {top}. Buttons: {buttons}.\n"
            f"There are {attempts} attempts of at most {length} presses, all from the same state "
            "of the same world. What is paid in the last attempt counts."
        )

    def notes(self, attempts: int) -> tuple[str, ...]:
        """Every attempt in a line, and where the player is."""
        lines = [
            f"Attempt {n}: {self.read(one.reading)}{''.join(map(_pressed, one.presses))}"
            for n, one in enumerate(self.attempts, 1)
        ]
        here = f"Attempt {len(self.attempts)} of {attempts}; presses left in it: {self.left}."
        return (*lines, here)

    def features(self) -> list[float]:
        """Readings, what words tell, attempts, presses left, and the last press with its pay."""
        size = SIZES["large"]
        attempt = self.attempts[-1]
        last = attempt.presses[-1] if attempt.presses else Pressed(-1, attempt.reading, 0.0)
        told = [(_CODES[one[0]], one[1] + 1.0, one[2] + 1.0) if one else (0.0, 0.0, 0.0)
                for one in self.labels]  # fmt: skip
        codes = [code for one in told for code in one]
        reading = [float(v) for v in last.reading]
        return [
            *reading, *[-1.0] * (size.dials - len(reading)),
            *codes, *[-1.0] * (3 * size.buttons - len(codes)),
            float(len(self.attempts)), float(self.left), last.button + 1.0, last.pay,
        ]  # fmt: skip


NUM_FEATURES = SIZES["large"].dials + 3 * SIZES["large"].buttons + 4
_CODES = {kind: n + 1.0 for n, kind in enumerate((*COMMON, *RARE))}


def _told(label: Effect, named: tuple[str, ...]) -> str:
    return SAID[label[0]].format(named[label[1]], named[label[2]])


def _pressed(one: Pressed) -> str:
    return f" | {one.button + 1}: {' '.join(map(str, one.reading))}, paid {one.pay:g}"


def draw_panel(level: str, rare: bool, rng: Rng) -> Panel:
    """A panel before its first press."""
    size = SIZES[level]
    world = draw_world(level, rare, rng.below(size.values**size.dials), rng)
    sight = rng.choice(SIGHTS)
    made_up, plain = list(MADE_UP), list(NAMES)
    rng.shuffle(made_up)
    rng.shuffle(plain)
    words = tuple(made_up[: size.buttons])
    names = made_up[size.buttons :] if world.words == "made-up" else plain
    shown = size.dials - (sight == "part")
    labels = labels_of(world.grammar, world.laws, world.words)
    return Panel(world, sight, rng.word(), tuple(names[:shown]), labels, words).begun()
