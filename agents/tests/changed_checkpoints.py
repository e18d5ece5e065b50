"""Resumes training runs from copies of their checkpoints, each with one part changed.

python changed_checkpoints.py PART SHARE FOLDER...: one line of JSON for each copy, with the part,
what became of it and what was said. PART may be "all"; SHARE is that of all changes that are tried.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from palestra import PalestraError
from palestra_agents.learners.training import STATE, resume_team
from palestra_agents.ppo.checkpoint import CHECKPOINT
from palestra_agents.ppo.trainer import Trainer
from palestra_agents.ppo.training import one_thread
from torch import Tensor


def tensors_like(value: Tensor, rng: random.Random) -> Iterator[Tensor]:
    """Tensors in place of one: random bytes, extreme values, another shape, another type."""
    random_bytes = torch.tensor([rng.randrange(256) for _ in range(max(1, value.nbytes))])
    if value.dtype != torch.bool:
        yield random_bytes.to(torch.uint8)[: value.nbytes].view(value.dtype).reshape(value.shape)
    if value.dtype.is_floating_point:
        yield torch.full_like(value, float("nan"))
        yield torch.full_like(value, -float("inf"))
        yield torch.full_like(value, -3e38)
    elif value.dtype != torch.bool:
        yield torch.full_like(value, torch.iinfo(value.dtype).max)
        yield torch.full_like(value, torch.iinfo(value.dtype).min)
    yield torch.cat([value.flatten(), value.flatten()])
    yield value.flatten()[:0]
    yield value.to(torch.float64 if value.dtype != torch.float64 else torch.int16)
    yield value.unsqueeze(0).expand(3, *value.shape)


def values_like(value: Any, rng: random.Random) -> Iterator[Any]:
    """What a stranger may put in the place of a value."""
    if isinstance(value, Tensor):
        yield from tensors_like(value, rng)
    if isinstance(value, dict) and value:
        yield {**value, "unknown": 1}
        yield dict(list(value.items())[1:])
    if isinstance(value, list | tuple) and value:
        yield value[1:]
        yield [*value, *value]
    yield from (None, -1, 2**70, 0.5, float("nan"), "x", [], {}, {1: 2}, torch.zeros(()))


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of nested data."""
    if way:
        yield way
    if isinstance(value, dict):
        for name, part in value.items():
            yield from places(part, (*way, name))
    elif isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from places(part, (*way, number))


def part_at(value: Any, way: tuple[Any, ...]) -> Any:
    for name in way:
        value = value[name]
    return value


def replaced(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    """A copy of nested data with another value in one place."""
    if not way:
        return new
    first, *rest = way
    inner = replaced(value[first], tuple(rest), new)
    if isinstance(value, dict):
        return {**value, first: inner}
    return type(value)([*value[:first], inner, *value[first + 1 :]])


def resume_ppo(folder: Path) -> bool:
    """Resume, learn twice, save, and say whether all weights are finite."""
    trainer = Trainer.load(folder)
    for _ in range(2):
        trainer.update()
    trainer.save(folder)
    return all(bool(weight.isfinite().all()) for weight in trainer.network.parameters())


def resume_team_run(folder: Path, algo: str, env: str) -> bool:
    run = resume_team(algo, env, {}, {}, folder)
    for _ in range(2):
        run.learner.update()
    run.save(folder)
    return True


def outcome(resume: Callable[[Path], bool], folder: Path) -> tuple[str, str]:
    """What becomes of a run, and what is said."""
    try:
        return ("resumed" if resume(folder) else "not finite"), ""
    except PalestraError as error:
        return "refused", str(error)
    except Exception as error:
        return "traceback", f"{type(error).__name__}: {error}"


def main(folder: Path, part: str, share: float) -> None:
    ppo = (folder / CHECKPOINT).exists()
    file = folder / (CHECKPOINT if ppo else STATE)
    kept, rng = torch.load(file, weights_only=True), random.Random(0)
    resume = resume_ppo if ppo else lambda f: resume_team_run(f, kept["algo"], kept["env"])
    for way in list(places(kept)):
        if part != "all" and way[0] != part:
            continue
        for new in values_like(part_at(kept, way), rng):
            if rng.random() > share:
                continue
            torch.save(replaced(kept, way, new), file)
            found, said = outcome(resume, folder)
            shown = f"{type(new).__name__} {new!r}"[:80]
            print(json.dumps({"way": list(map(str, way)), "to": shown, "is": found, "said": said}))
    torch.save(kept, file)


if __name__ == "__main__":
    with one_thread():
        for folder in sys.argv[3:]:
            main(Path(folder), sys.argv[1], float(sys.argv[2]))
