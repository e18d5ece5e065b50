"""TRL's `rollout_func`: whole games with one learning seat, as exact tokens.

Tested with TRL 1.16.0. It calls `rollout_func(prompts, trainer)` (`trl/trainer/grpo_trainer.py`,
line 2210) with the prompts of one process, each repeated `num_generations` times, and reads
"prompt_ids", "completion_ids", "logprobs" and "env_mask" (line 2272); all else that is returned
reaches the reward functions (line 2741).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from palestra import Agent, EpisodeRecord, InvalidOption, make_agent
from palestra.kernel.registry import open_game
from palestra.records.trace import SeatTrace, trace_seats

from palestra_training.learner import Learner
from palestra_training.play import LEARNER, Start, play_starts
from palestra_training.trl_starts import read_start, start_rows

Opponent = str | Agent


class SeatRollouts:
    """A `rollout_func` of GRPOTrainer: it plays an environment with the model that is trained.

    Each prompt names a start and the learning seat (`data` makes them); the row that is returned
    is the token stream of that seat, from its first answer to its last, in which `env_mask` is 1
    for what the model sampled. A seat that was never asked has a row without sampled tokens, and
    the reward that it was paid.

    opponents: an agent for all other seats, or one for each in order of seat; "learner" is the
    model itself: self-play, of which one seat is learned from. invalid, max_episode_steps: as in
    `palestra.play`. prompt: "chat" or "raw", as the agent `llm` has it; max_tokens bounds a reply.
    longer: what happens where a conversation outgrew the model's context and had to be cut, or a
    new person came to the seat: "raise", or "last" to learn from what followed. told: called with
    the records of every call. options: the game's own.
    """

    def __init__(
        self,
        env: str,
        *,
        opponents: Opponent | Sequence[Opponent] = "random",
        invalid: str = "retry:2",
        max_episode_steps: int | None = None,
        prompt: str = "chat",
        max_tokens: int = 64,
        longer: Literal["raise", "last"] = "raise",
        seed: int = 0,
        told: Callable[[list[EpisodeRecord]], None] | None = None,
        **options: Any,
    ) -> None:
        self.env, self.options = env, options
        self.spec, self.game = open_game(env, options)
        self._opponents = self._seat_opponents(opponents)
        self._invalid, self._max_episode_steps = invalid, max_episode_steps
        self._prompt, self._max_tokens = prompt, max_tokens
        self._longer, self._seed, self._told = longer, seed, told

    def _seat_opponents(self, given: Opponent | Sequence[Opponent]) -> list[Agent | None]:
        """An agent for each of the other seats; None is the learner."""
        others = self.game.num_players - 1
        named = [given] * others if isinstance(given, str | Agent) else list(given)
        if len(named) != others:
            raise InvalidOption(f"{self.env} has {others} other seats; got {len(named)} opponents")
        made = {
            name: make_agent(name) for name in named if isinstance(name, str) and name != LEARNER
        }
        return [
            None if one == LEARNER else made[one] if isinstance(one, str) else one for one in named
        ]

    def data(self, starts: int, *, seed: int = 0, seats: Sequence[int] | None = None) -> Any:
        """The data set: so many seeds from `seed` on, each once for every learning seat."""
        return start_rows(self.env, starts, seed=seed, seats=seats, **self.options)

    @staticmethod
    def seat_return(seat_return: Sequence[float], **_: Any) -> list[float]:
        """A reward function of TRL: what the learning seat was paid in all."""
        return list(seat_return)

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        """Play a game for each prompt; the rows that TRL reads, in their order."""
        _check_trainer(trainer)
        starts = [read_start(prompt) for prompt in prompts]
        first = trainer.accelerator.process_index * len(prompts)
        with _playing(trainer) as net:
            records = self._play(starts, net, trainer, first)
        if self._told is not None:
            self._told(records)
        end = trainer.processing_class.eos_token_id
        rows: dict[str, list[Any]] = {
            name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask")
        }
        for record, (_, seat) in zip(records, starts, strict=True):
            _add_row(rows, self._trace(record, seat), end)
        rows["seat_return"] = [
            float(record.returns[seat]) for record, (_, seat) in zip(records, starts, strict=True)
        ]
        rows["result"] = [
            record.outcome.results[seat] if record.outcome else "none"
            for record, (_, seat) in zip(records, starts, strict=True)
        ]
        rows["mistakes"] = [
            record.mistakes[seat] for record, (_, seat) in zip(records, starts, strict=True)
        ]
        return rows

    def _play(
        self, starts: Sequence[tuple[int, int]], net: Any, trainer: Any, first: int
    ) -> list[EpisodeRecord]:
        step = int(trainer.state.global_step)
        model = Learner.around(net, trainer.processing_class)
        model.version = step
        learner = make_agent(
            "llm",
            model=model,
            prompt=self._prompt,
            max_tokens=self._max_tokens,
            temperature=trainer.temperature,
            keep_tokens=True,
            seed=self._seed + step,
        )
        learner.name = LEARNER
        for rival in self._opponents:
            if rival is not None:
                rival.reseed(self._seed + step)
        line_ups = [self._line_up(learner, seat) for seat in range(self.game.num_players)]
        seen: Counter[tuple[int, int]] = Counter()
        rollouts = []
        for seed, seat in starts:
            if seat >= len(line_ups):
                raise InvalidOption(
                    f"{self.env} has seats 0 to {len(line_ups) - 1}, and a prompt names {seat}"
                )
            rollouts.append(Start(line_ups[seat], seed, first + seen[seed, seat]))
            seen[seed, seat] += 1
        return play_starts(
            self.game,
            self.spec,
            rollouts,
            invalid=self._invalid,
            max_episode_steps=self._max_episode_steps,
        )

    def _line_up(self, learner: Agent, seat: int) -> list[Agent]:
        others = [learner if rival is None else rival for rival in self._opponents]
        return [*others[:seat], learner, *others[seat:]]

    def _trace(self, record: EpisodeRecord, seat: int) -> SeatTrace | None:
        traces = trace_seats(record, [seat])
        if len(traces) > 1 and self._longer == "raise":
            raise InvalidOption(
                f"seat {seat} of seed {record.seed} has {len(traces)} token streams, and TRL takes "
                "one per rollout: its conversation outgrew the model's context, or the game gave "
                "the seat to a new person; play shorter episodes, take a model with a longer "
                'context, or say longer="last"'
            )
        return traces[-1] if traces else None


def _add_row(rows: dict[str, list[Any]], trace: SeatTrace | None, end: int) -> None:
    if trace is None:  # the seat was never asked: TRL needs a token to score
        ids, sampled, logprobs, start = [end, end], [False, False], [0.0, 0.0], 1
    else:
        ids, sampled, logprobs = trace.ids, trace.sampled, trace.logprobs
        start = trace.turns[0].start
    rows["prompt_ids"].append(ids[:start])
    rows["completion_ids"].append(ids[start:])
    rows["logprobs"].append(logprobs[start:])
    rows["env_mask"].append([int(mark) for mark in sampled[start:]])


def _check_trainer(trainer: Any) -> None:
    if trainer.use_vllm:
        raise InvalidOption(
            "SeatRollouts generates with the trainer's own weights; set use_vllm=False"
        )
    if trainer.top_p not in (None, 1, 1.0) or trainer.top_k not in (None, 0, -1):
        raise InvalidOption(
            f"SeatRollouts samples from the whole distribution; leave out top_p={trainer.top_p} "
            f"and top_k={trainer.top_k}"
        )


@contextmanager
def _playing(trainer: Any) -> Iterator[Any]:
    """The trainer's model, whole and in eval mode, while a block lasts."""
    from trl.models.utils import unwrap_model_for_generation

    with unwrap_model_for_generation(
        trainer.model_wrapped,
        trainer.accelerator,
        gather_deepspeed3_params=trainer.args.ds3_gather_for_generation,
    ) as net:
        was = net.training
        net.eval()
        try:
            yield net
        finally:
            net.train(was)
