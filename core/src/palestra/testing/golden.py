"""Golden transcripts: one readable episode of every environment, kept beside its tests."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from palestra.files import read_file
from palestra.kernel.episode import Episode
from palestra.kernel.errors import cause, show
from palestra.kernel.rng import Rng
from palestra.testing.subject import Failed, Skipped, Subject, require

MAX_TURNS = 30


def play_through(subject: Subject, seed: int = 0) -> str:
    """Random legal moves from `seed`, with what every seat sees and may do before each."""
    episode, rng = subject.episode(seed), Rng(seed)
    game = subject.game
    lines = [f"{subject.spec.id}, seed {seed}, options {options_text(subject)}", ""]
    lines += _rules(subject)
    for event in episode.log[0]:
        lines.append(_event(episode, event))
    while not episode.over and episode.steps_played < MAX_TURNS:
        lines += ["", f"== turn {episode.steps_played}"]
        for seat in range(game.num_players):
            lines += _seat(subject, episode, seat)
        actions = {seat: episode.sample(seat, rng) for seat in episode.to_act}
        state = episode.state
        for seat, action in actions.items():
            written = game.action_text(state, seat, action)
            lines.append(f"> {episode.players[seat]}: {written}")
        episode.act(actions)
        lines += [_event(episode, event) for event in episode.log[-1]]
        paid = {p: dict(terms) for p, terms in episode.step.rewards.items() if terms}
        if paid:
            lines.append(f"rewards {_round(paid)}")
    lines += ["", _end(episode)]
    return "\n".join(lines) + "\n"


def _rules(subject: Subject) -> list[str]:
    """What every seat reads before the first move; seats that read the same are named together."""
    game, readers = subject.game, dict[str, list[str]]()
    for seat, player in enumerate(game.players):
        readers.setdefault(game.rules_for(seat), []).append(player)
    lines = []
    for text, players in readers.items():
        named = "everybody" if len(players) == game.num_players else ", ".join(players)
        lines += [f"rules for {named}:", *(f"  | {line}" for line in text.splitlines()), ""]
    return lines


def options_text(subject: Subject) -> str:
    return repr(dict(subject.spec.kwargs) | subject.options)


def _event(episode: Episode, event: Any) -> str:
    to = "" if event.audience is None else f" [only {sorted(event.audience)}]"
    return f"* {event.kind}{to}: {event.text}"


def _seat(subject: Subject, episode: Episode, seat: int) -> list[str]:
    lines = [f"{episode.players[seat]}:"]
    lines += [f"  | {line}" for line in episode.describe(seat).splitlines()]
    if subject.has_array_view:
        lines.append(f"  array {_array(episode.observation(seat))}")
    if seat in episode.to_act:
        lines.append(f"  legal {_clip(episode.legal_text(seat))}")
    return lines


def _array(values: Any) -> str:
    """Small arrays in full, large ones as shape and digest."""
    array = np.asarray(values)
    if array.size <= 48:
        return f"{array.dtype}{array.shape} {np.round(array, 4).ravel().tolist()}"
    digest = blake2b(array.tobytes(), digest_size=6).hexdigest()
    return f"{array.dtype}{array.shape} digest {digest}"


def _clip(text: str, limit: int = 400) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


def _round(paid: dict[int, dict[str, float]]) -> str:
    return repr({p: {k: round(v, 6) for k, v in terms.items()} for p, terms in paid.items()})


def _end(episode: Episode) -> str:
    if episode.outcome is None:
        return f"… {episode.steps_played} turns shown"
    scores = tuple(round(float(score), 6) for score in episode.outcome.scores)
    reason = f": {episode.outcome.reason}" if episode.outcome.reason else ""
    return f"over after {episode.steps_played} turns: {episode.outcome.results} {scores}{reason}"


def golden_path(subject: Subject) -> Path:
    if subject.golden is None:
        raise Skipped("no folder of golden transcripts was named; name one with --golden")
    return subject.golden / (subject.spec.id.split("/", 1)[1] + ".txt")


def matches_golden_transcript(subject: Subject) -> None:
    """The episode equals the transcript that was last reviewed and committed."""
    path = golden_path(subject)
    command = f"palestra check {subject.spec.id} --golden {path.parent}"
    require(path.exists(), f"{path} is missing; write it with: {command}")
    kept = _kept(path, command)
    now = play_through(subject).splitlines()
    for number, (old, new) in enumerate(zip(kept, now, strict=False), 1):
        require(
            old == new,
            f"{path.name}, line {number}: kept {show(old)}, now {show(new)}; if the change is "
            f"meant, raise the version in the id and write it again with: {command} --rewrite",
        )
    require(len(kept) == len(now), f"{path.name} has {len(kept)} lines, the game now {len(now)}")


def _kept(path: Path, command: str) -> list[str]:
    """The lines of a transcript that was kept."""
    try:
        return read_file(path).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = cause(error)
    raise Failed(f"{path} cannot be read: {why}; write it again with: {command} --rewrite")


def write_golden(subject: Subject, *, rewrite: bool = False) -> tuple[Path, bool]:
    """Write the transcript if it is missing, or with `rewrite`; returns whether it was written."""
    path = golden_path(subject)
    if path.exists() and not rewrite:
        return path, False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(play_through(subject), encoding="utf-8")
    return path, True
