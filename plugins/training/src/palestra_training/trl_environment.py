"""TRL's `environment_factory`: a class of an environment whose tool is to move.

Tested with TRL 1.16.0, which calls `reset(**row)`, offers the model every public method as a tool,
and asks `get_reward()` once a rollout is over (`trl/trainer/grpo_trainer.py`, lines 676 to 735).
The tokens are TRL's own; what was played is `record`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from palestra import Agent, EpisodeRecord, InvalidOption, OutOfTurn, make_agent, record_episode
from palestra.kernel.registry import open_game
from palestra.views.gym import GymView

from palestra_training.play import LEARNER


class SeatEnvironment:
    """One learning seat of an environment, for TRL; `environment_class` binds it to one.

    The model sees rules and position in its first message, and what followed in the answer to each
    move. A move that is refused is a failed call of the tool, which says why; one too many, and the
    seat forfeits. A seat that stops calling the tool before the game is over forfeits too, or the
    game is cut off where it is not zero-sum: to stop pays no more than to play.
    """

    _env: Any = None
    _opponents: str | Agent | Sequence[str | Agent] = "random"
    _invalid = "retry:2"
    _options: Mapping[str, Any] = MappingProxyType({})

    def __init__(self) -> None:
        self._views: dict[int, GymView] = {}
        self._names: dict[int, list[str]] = {}
        self._view: GymView | None = None

    def reset(self, seed: int | None = None, seat: int = 0, **_: Any) -> str:
        """Begin an episode from a row's `seed`, with the model in its `seat`."""
        if seed is None:
            raise InvalidOption(
                "each row needs a seed, or rollouts of one row start unlike; make the data set by "
                "start_rows(…, chat=True)"
            )
        if seat not in self._views:
            self._views[seat] = self._open(seat)
        self._view = self._views[seat]
        shown, info = self._view.reset(seed=seed)
        return f"{info['rules']}\n\n{self._ending(info) or shown}"

    def move(self, text: str) -> str:
        """Play a move.

        Args:
            text: The move, written as the legal moves are.

        Returns:
            What happened, and the position to move in next, or how the game ended.
        """
        view = self._playing()
        if view.episode.over:
            raise OutOfTurn("the game is over; there is nothing to move")
        shown, _, ended, cut, info = view.step(text)
        if "error" in info:
            raise ValueError(info["error"])
        return self._ending(info) if ended or cut else str(shown)

    def get_reward(self) -> float:
        """What the seat was paid in all; a game that was left is ended first."""
        view = self._playing()
        if not view.episode.over:
            if view.game.payoffs == "zero-sum":
                view.episode.forfeit(view.seat, "no move was made")
            else:
                view.episode.truncate("no move was made")
        return float(view.episode.returns[view.seat])

    @property
    def record(self) -> EpisodeRecord:
        """The episode as it was played, with the model as "learner"."""
        view = self._playing()
        return record_episode(view.episode, self._names[view.seat])

    @property
    def seat(self) -> int:
        """The seat of the model."""
        return self._playing().seat

    def _open(self, seat: int) -> GymView:
        _, game = open_game(self._env, self._options)
        others, given = game.num_players - 1, self._opponents
        named = [given] * others if isinstance(given, str | Agent) else list(given)
        rivals = [make_agent(name) for name in named]
        names = [rival.name for rival in rivals]
        self._names[seat] = [*names[:seat], LEARNER, *names[seat:]]
        return GymView(
            self._env,
            seat=seat,
            opponents=rivals,
            obs="text",
            invalid=self._invalid,
            **self._options,
        )

    def _playing(self) -> GymView:
        if self._view is None:
            raise InvalidOption("call reset() before anything else")
        return self._view

    def _ending(self, info: dict[str, Any]) -> str:
        """What is said when the episode is over; nothing before."""
        if not self._playing().episode.over:
            return ""
        return f"The game is over: {info['outcome']}. {info['reason']}".strip()


def environment_class(
    env: str,
    *,
    opponents: str | Agent | Sequence[str | Agent] = "random",
    invalid: str = "retry:2",
    **options: Any,
) -> type[SeatEnvironment]:
    """A class to give to GRPOTrainer as `environment_factory`, named after the game.

    opponents: an agent for all other seats, or one for each in order of seat. invalid: the policy
    for moves that cannot be played. options: the game's own. Rewards are logged under its name.
    """
    _, game = open_game(env, options)
    bound = {"_env": env, "_opponents": opponents, "_invalid": invalid, "_options": options}
    return type(type(game).__name__, (SeatEnvironment,), bound)
