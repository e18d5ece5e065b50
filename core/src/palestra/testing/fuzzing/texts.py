"""Hostile speech through prompts, records, pages and terminals."""

from __future__ import annotations

import io
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from palestra.agents.agent import Decision, Turn
from palestra.kernel.actions import Grammar
from palestra.kernel.episode import Episode
from palestra.kernel.errors import InvalidAction
from palestra.kernel.registry import registry, renderer
from palestra.kernel.rng import Rng
from palestra.kernel.specs import EnvSpec
from palestra.quoting import open_console
from palestra.records.record import write_records
from palestra.talk import Talking
from palestra.testing.fuzzing.case import Case
from palestra.testing.fuzzing.options import is_installed, write_and_replay
from palestra.testing.fuzzing.values import SPEECH, value_of
from palestra.testing.speech import hostile_fields
from palestra.testing.subject import Subject, random_actions, require

STEPS = 30
SHOWN = 3  # positions of an episode that are drawn
_OBEYED = re.compile(
    "\x1b(?!\\[[0-9;]*m)|[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]"
)
_RAW = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]"
)


def draw_texts(spec: EnvSpec, rng: random.Random) -> Iterator[Case]:
    """Yield cases in which seats that may speak say hostile texts."""
    for _ in range(1_000_000_000):
        values = tuple(rng.sample(SPEECH, 3))
        yield Case(spec.id, "texts", rng.randrange(1_000), rng.randrange(2, STEPS), values=values)


def try_texts(spec: EnvSpec, case: Case) -> None:
    """Say the texts of a case wherever that is legal, and check everything that shows them."""
    subject = Subject(spec, {name: value_of(value) for name, value in case.options.items()})
    texts = [value_of(value) for value in case.values]
    episode = _talk(subject, case, texts)
    _write(episode, case.env)
    _narrate(subject, case, texts)


def _talk(subject: Subject, case: Case, texts: list[str]) -> Episode:
    """Play random moves in which seats that may speak say the texts; check what others read."""
    game = subject.game
    raw = isinstance(game, Talking) and game.quoting == "none"
    episode, rng = subject.episode(case.seed), Rng(case.seed)
    shown = {case.steps * part // SHOWN for part in range(1, SHOWN + 1)}
    for number in range(case.steps):
        if episode.over:
            break
        said = random_actions(episode, rng)
        for seat in said:
            spoken = _saying(episode, seat, texts[number % len(texts)], rng)
            said[seat] = said[seat] if spoken is None else spoken
        episode.act(said)
        if number + 1 in shown or episode.over:
            for seat in range(min(game.num_players, 6)):
                scene = episode.scene(seat)
                for read in (episode.prompt(seat), *scene.texts()):
                    found = None if raw else _RAW.search(read)
                    require(
                        found is None or (found[0] in "\t\r" and game.num_players == 1),
                        f"player {seat} reads a raw {found[0]!r}" if found else "",
                    )
            _draw(episode)
    return episode


def _saying(episode: Episode, seat: int, text: str, rng: Rng) -> Any:
    """A legal action that says a text; None if the seat may not say it."""
    grammar = episode.legal(seat)
    if not isinstance(grammar, Grammar):
        return None
    speaking = [(option, said) for option in grammar if (said := hostile_fields(option, text))]
    if not speaking:
        return None
    option, said = rng.choice(speaking)
    try:
        action = msgspec.structs.replace(option.sample(rng), **said)
    except (TypeError, ValueError):
        return None
    return action if action in grammar else None


def _draw(episode: Episode) -> None:
    """What renderers write for a terminal has no control character but colours and line breaks."""
    for name in ("ansi", "terminal"):
        if f"* {name}" not in registry().renderers:
            continue
        kind = renderer(episode.spec, name)
        for viewer in (None, 0):
            text = _draw_text(kind, name, episode, viewer)
            found = _OBEYED.search(text)
            require(
                found is None, f"the {name} renderer writes a raw {found[0]!r}" if found else ""
            )


def _draw_text(kind: Any, name: str, episode: Episode, viewer: int | None) -> str:
    if name == "ansi":
        return str(kind().draw(episode, viewer))

    out = io.StringIO()
    made = kind(open_console(file=out, width=200))
    made.draw(episode, viewer)
    made.close()
    return out.getvalue()


def _write(episode: Episode, env: str) -> None:
    """The record can be written, read and verified, and its page holds nothing that runs."""
    record = write_and_replay(episode)
    if "* html" not in registry().renderers or not is_installed(episode.spec):
        return
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        renderer(episode.spec, "html")([record], page)
        text = page.read_text("utf-8")
        write_records(Path(folder) / "episode.jsonl", [record])
    for injected in ("</script><script>alert", "<img src=x onerror"):
        require(injected not in text, f"the page of {env} holds {injected!r} raw")


def _narrate(subject: Subject, case: Case, texts: list[str]) -> None:
    """Play agents whose answers, thoughts and names are the texts, in a terminal and on record."""

    from palestra.cli.listeners import Narrator

    out = io.StringIO()
    narrator = Narrator(open_console(file=out, width=200))
    episode = subject.episode(case.seed)
    for text in texts:
        if episode.over:
            break
        turn = Turn(episode, episode.to_act[0])
        narrator.palestra_turn_ready(turn=turn)
        narrator.palestra_action_chosen(turn=turn, decision=Decision(text=text, thought=text))
        try:
            turn.parse(text)
        except InvalidAction as error:
            refused = Turn(episode, turn.seat, error=str(error))
            narrator.palestra_turn_ready(turn=refused)
    found = _OBEYED.search(out.getvalue())
    require(found is None, f"--verbose writes a raw {found[0]!r}" if found else "")
