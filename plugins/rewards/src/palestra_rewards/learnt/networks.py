"""Seeded networks with one hidden layer, on the CPU in double precision; torch is imported late."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Annotated, Any
from zlib import crc32

import numpy as np
from palestra import InvalidOption, Meta, MissingExtra

from palestra_rewards.arrays import Floats, floats

Hidden = Annotated[
    int, Meta(ge=0, le=65_536, description="units of the hidden layer; 0 for a linear model")
]
Steps = Annotated[int, Meta(ge=1, le=1_000_000, description="steps of gradient descent")]
Rate = Annotated[float, Meta(gt=0, le=1_000, description="learning rate")]
Seed = Annotated[
    int, Meta(ge=0, lt=2**63, description="seed of the initial weights and of random draws")
]

WORD = re.compile(r"\w+")


def torch_module() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("torch", "palestra-rewards[torch]") from error
    return torch


def network(inputs: int, outputs: int, *, hidden: int, seed: int) -> Any:
    """A torch module from (n, inputs) to (n, outputs), with the same weights for the same seed."""
    torch = torch_module()
    sizes = [inputs, hidden, outputs] if hidden else [inputs, outputs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[Any] = []
        for before, after in pairwise(sizes):
            layers += [torch.nn.Linear(before, after, dtype=torch.float64), torch.nn.Tanh()]
    return torch.nn.Sequential(*layers[:-1])


def descend(
    networks: Sequence[Any],
    loss: Callable[[int], Any],
    *,
    steps: int,
    rate: float,
    fade: bool = False,
    after: Callable[[], None] | None = None,
) -> float:
    """Run Adam on the networks' weights; `loss` takes the step's number. Returns the last loss.

    With `fade` the rate falls linearly to 0. `after` is called after each step.
    """
    torch = torch_module()
    weights = [weight for one in networks for weight in one.parameters()]
    optimiser = torch.optim.Adam(weights, lr=rate)
    value = 0.0
    with _one_thread(torch):
        for step in range(steps):
            if fade:
                optimiser.param_groups[0]["lr"] = rate * (1 - step / steps)
            optimiser.zero_grad()
            found = loss(step)
            found.backward()
            optimiser.step()
            value = float(found.detach())
            if after is not None:
                after()
    return value


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Use one thread: small products are faster so, above all while other processes run."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def tensor(values: Any) -> Any:
    return torch_module().as_tensor(np.ascontiguousarray(values, dtype=np.float64))


def predict_rows(net: Any, rows: Any) -> Floats:
    """The network's outputs for these rows, as an array."""
    torch = torch_module()
    with torch.no_grad(), _one_thread(torch):
        return floats(net(tensor(rows)).numpy())


def weights_of(net: Any) -> list[Any]:
    """The weights as plain JSON."""
    return [weight.detach().tolist() for weight in net.parameters()]


def load_weights(net: Any, kept: Sequence[Any]) -> None:
    """Set weights that `weights_of` returned."""
    torch = torch_module()
    own = list(net.parameters())
    if [tuple(w.shape) for w in own] != [tuple(np.shape(k)) for k in kept]:
        raise InvalidOption(
            "these weights are of a network of another shape; use the options it was made with"
        )
    with torch.no_grad():
        for weight, values in zip(own, kept, strict=True):
            weight.copy_(tensor(values))


def hashed_words(texts: Iterable[str], size: int) -> Floats:
    """Words and bigrams hashed to `size` columns, each row of length 1; shape (texts, size)."""
    rows = []
    for text in texts:
        words = WORD.findall(text.lower())
        parts = [*words, *(f"{a} {b}" for a, b in pairwise(words))]
        row = np.zeros(size)
        np.add.at(row, [crc32(part.encode()) % size for part in parts], 1.0)
        rows.append(row / max(float(np.linalg.norm(row)), 1.0))
    return np.array(rows).reshape(-1, size)
