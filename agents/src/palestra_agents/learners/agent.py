"""Trained learners of several seats as an agent: `marl:runs/…`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from palestra import Agent, Decision, InvalidOption, Meta, MissingExtra, Turn, agent

try:
    import torch

    from palestra_agents.learners.training import Remembering, read_learner
    from palestra_agents.recurrence import Memories
except ModuleNotFoundError as error:
    raise MissingExtra(f"{error.name} (for marl:)", "palestra-agents[torch]") from error


@agent(
    "marl",
    kind="learned",
    needs=("array",),
    summary="A team trained by palestra train with any --algo but ppo and mappo.",
)
class LearnerAgent(Agent):
    """Plays the best actions of the learner in the folder `target`.

    A team with a central part (MANSA, HAMMER with messages) must be one agent for all seats, as
    that part plays by what all of them see: list it once for every seat in Python, or name it once
    on the command line. HAMMER's central agent sends the messages in play too; a seat's move
    depends on its own observation and message alone.
    """

    def __init__(
        self,
        *,
        target: Annotated[str, Meta(description="folder of the trained learner")] = "",
    ) -> None:
        if not target:
            raise InvalidOption("name the folder of a trained team, as in marl:runs/qmix")
        self._learner, self._kept = read_learner(Path(target))
        self._field: Any = self._learner.field
        self._memories = Memories()  # of recurrent learners

    def forget(self, episode_key: int) -> None:
        self._memories.forget(episode_key)

    def act(self, turns: Sequence[Turn]) -> Sequence[Decision]:
        chosen: dict[tuple[int, int], int] = {}
        for key in {turn.episode_key for turn in turns}:
            together = {turn.seat: turn for turn in turns if turn.episode_key == key}
            for seat, action in self._play(together).items():
                chosen[key, seat] = action
        return [Decision(chosen[turn.episode_key, turn.seat]) for turn in turns]

    @torch.no_grad()
    def _play(self, turns: dict[int, Turn]) -> dict[int, int]:
        """Actions of the seats of one episode."""
        field = self._field
        seen = torch.zeros(1, field.seats, field.width)
        masks = torch.ones(1, field.seats, field.actions, dtype=torch.bool)
        for seat, turn in turns.items():
            self._check(turn)
            own = torch.from_numpy(np.asarray(turn.observation, np.float32)).flatten()
            seen[0, seat] = own / field.scale
            masks[0, seat] = torch.from_numpy(turn.mask.copy()).bool()
        if self._learner.sees_all and len(turns) < field.seats:
            raise InvalidOption(
                f"{self._kept['algo']} plays by what all seats see; give it every seat of the game"
            )
        learner = self._learner
        if isinstance(learner, Remembering):
            learner.going = self._before(turns)
        actions = learner.act(seen, masks)
        if isinstance(learner, Remembering) and learner.going is not None:
            parts = learner.going if isinstance(learner.going, tuple) else (learner.going,)
            for seat, turn in turns.items():
                self._memories.keep(turn, tuple(part[:, seat] for part in parts))
        return {seat: int(actions[0, seat]) for seat in turns}

    def _before(self, turns: dict[int, Turn]) -> Any:
        """What the seats remember before their turns, as the learner keeps it; None if nothing."""
        rows = {seat: self._memories.before(turn) for seat, turn in turns.items()}
        known = {seat: row for seat, row in rows.items() if row is not None}
        if not known:
            return None
        first = next(iter(known.values()))
        parts = tuple(torch.zeros(1, self._field.seats, *part.shape[1:]) for part in first)
        for seat, row in known.items():
            for part, own in zip(parts, row, strict=True):
                part[:, seat] = own
        return parts if len(parts) > 1 else parts[0]

    def _check(self, turn: Turn) -> None:
        field = self._field
        given = turn.game.observation_space(turn.seat).shape
        wanted = field.game.observation_space(0).shape
        if given != wanted or turn.game.num_players != field.seats:
            raise InvalidOption(
                f"this team was trained on {self._kept['env']} for {field.seats} players who see "
                f"arrays of shape {wanted}; {turn.env} has {turn.game.num_players} who see arrays "
                f"of shape {given}"
            )
