"""An adapter around another: it adds to the inner adapter's prompt, and the inner one decides."""

from __future__ import annotations

from typing import Any

from palestra import InvalidOption
from palestra.kernel.naming import construct
from palestra.kernel.specs import load_entry_point

from palestra_adapters.adapter import Adapter, Plain
from palestra_adapters.plugin import CATALOGUE

SHARED = ("prompt", "max_tokens", "temperature", "seed", "adapter")  # options of both


class Wrapper(Adapter):
    """Wraps the adapter that `target` begins with, as in `reflexion:react:local:`.

    If it begins with a model, the model is asked only for its move. Options that the wrapper does
    not know are passed to the inner adapter.
    """

    def __init__(self, *, target: str = "", inner: Adapter | None = None, **settings: Any) -> None:
        self.inner = inner or open_inner(target, settings)
        own = {name: settings[name] for name in SHARED if name in settings}
        super().__init__(model=self.inner.models, **own)

    def reseed(self, seed: int) -> None:
        super().reseed(seed)
        self.inner.reseed(seed)

    def forget(self, episode_key: int) -> None:
        super().forget(episode_key)
        self.inner.forget(episode_key)

    def close(self) -> None:
        self._talks.clear()
        self.inner.close()
        for model in self.models:
            if model not in self.inner.models:  # which are closed already
                model.close()


def open_inner(target: str, settings: dict[str, Any]) -> Adapter:
    """The adapter that `target` names, or the model alone."""
    name, _, rest = target.partition(":")
    entries = {spec.name: spec.entry_point for spec in CATALOGUE.agents}
    if name not in entries:
        return Plain(target=target, **settings)
    made = construct(
        load_entry_point(entries[name]), f"agent {name!r}", {"target": rest, **settings}
    )
    if not isinstance(made, Adapter):
        raise InvalidOption(f"{name} is made of agents and cannot be wrapped; wrap its members")
    made.name = target
    return made
