"""The plan of a training run: one typed file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta
from palestra import InvalidOption
from palestra.files import UNREADABLE, read_file, read_toml
from palestra.kernel.errors import show
from palestra.kernel.policy import InvalidMovePolicy

LEARNING_SEEDS = 1_500_000_000  # the first seed that is never learned from
Positive = Annotated[int, Meta(ge=1)]
Share = Annotated[float, Meta(ge=0, le=1)]
Rate = Annotated[float, Meta(gt=0)]


class TinyModel(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A model made for the run, with the words that occur in play; see `tiny.make_tiny`."""

    kind: Literal["llama", "gpt2"] = "llama"
    layers: Positive = 4
    width: Positive = 128
    heads: Positive = 4
    context: Positive = 512
    spread: Annotated[float, Meta(gt=0, le=1)] = 0.02  # standard deviation of the first weights
    tokens: Literal["pieces", "words"] = "pieces"

    def __post_init__(self) -> None:
        part = self.heads * (2 if self.kind == "llama" else 1)  # rotary positions turn pairs
        if self.width % part:
            raise InvalidOption(
                f"tiny.width is {self.width}; with {self.heads} heads of {self.kind} it must be a "
                f"multiple of {part}"
            )


class Lora(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Low-rank adapters instead of all weights; rank 0 for none.

    targets: "all-linear", or module names joined by "+", as in "q_proj+v_proj".
    """

    rank: Annotated[int, Meta(ge=0)] = 0
    alpha: Annotated[int, Meta(ge=1)] = 16
    targets: str = "all-linear"


class WarmUp(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Supervised learning of legal moves from an agent's play; 0 episodes for none."""

    episodes: Annotated[int, Meta(ge=0)] = 0
    agent: str = "random"
    epochs: Positive = 1
    learning_rate: Rate = 1e-3


class Evaluation(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Episodes played without learning, every `every` rounds, from each seat in turn.

    opponents: agents that take all other seats; each is played `episodes` times. split and options
    name held-out settings; its seeds are never trained on.
    """

    every: Positive = 10
    episodes: Positive = 100
    opponents: tuple[str, ...] = ("random",)
    split: str = ""
    options: dict[str, Any] = {}
    temperature: Annotated[float, Meta(ge=0)] = 0.0


class TaskChoice(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Starts worth playing are chosen every `every` rounds among `candidates`; 0 for all starts.

    A start is kept if in some seat the learner is paid more than `good` in less than `solved` of
    its `episodes`, more than random play plus `margin` in more than `better` of the comparisons,
    and random play less than `free` (if given) on average.
    """

    good: float = 0.0
    solved: Share = 0.9
    margin: Annotated[float, Meta(ge=0)] = 0.0
    better: Share = 0.1
    free: float | None = None
    episodes: Positive = 10
    candidates: Annotated[int, Meta(ge=0)] = 0
    every: Positive = 20


class Hints(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Rollouts that begin from a part of an expert's episode; no agent for none.

    share: of the rollouts of a start. most: the longest hint, as a share of the expert's steps.
    """

    agent: str = ""
    share: Share = 0.5
    most: Share = 0.8


class RayWorkers(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Workers on a Ray cluster that play everything, while this process learns; 0 for none.

    address: host:port, "auto" for the cluster of this machine, or "local" to start one. cpus, gpus:
    of each worker, in Ray's count. at_once: groups that a worker is handed at a time. seconds:
    after which a worker that does not answer is given up.
    """

    workers: Annotated[int, Meta(ge=0)] = 0
    address: str = "auto"
    cpus: Rate = 1.0
    gpus: Annotated[float, Meta(ge=0)] = 0.0
    at_once: Positive = 1
    seconds: Rate = 600.0


class TrainPlan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A run of `palestra train-llm`.

    model: a folder in the format of transformers; empty for a tiny one. opponents: agents that take
    the other seats; past: the number of saved versions of this learner that also play as opponents;
    matching: how often each is drawn, see `pool`; self_play: the share of groups in which the
    learner plays all seats. policies: "shared", or "seat" for one in each seat, with weights (or an
    adapter, with lora) of its own. ahead: 1 plays a round's episodes while the round before is
    being learned from, with older weights, which the ratios of the loss correct for. asynchronous:
    each reply of vLLM is awaited by itself, as in `palestra.play`. groups,
    group_size: starts per round, and rollouts of each. dynamic_sampling: groups whose rollouts are
    all paid alike are replaced by further starts, until a round has played so many times `groups`;
    1 for no replacement. credit: estimators, as in `palestra credit --by`. average, clip,
    clip_high, beta: see `losses.policy_loss`; the reference is the initial policy. engine: who
    generates the learner's replies: "transformers", with the trained model itself, or "vllm" in
    this process, which takes the weights after each update; vllm: its options, under its own names.
    tis_cap: the bound of truncated importance sampling (TIS), which corrects the loss where the
    engine's probabilities differ from the trainer's; none for no correction. decay: let the
    learning rate fall evenly to 0 by the last round. minibatch: distinct streams per gradient step.
    micro_batch_tokens: most tokens of one forward pass, padding included; the gradients of a step's
    passes are added up. gradient_checkpointing: compute activations again in the backward pass
    instead of keeping them. save_every: rounds between checkpoints. precision: of matrix products,
    and of the frozen weights under adapters; bfloat16 takes half the time where the processor has
    it. Learned weights and the optimiser's moments are always float32, whatever the model's folder
    has. refused: the advantage of a refused answer if the game continued. mode: "choice" holds
    replies to the legal moves, in play and in learning alike. horizon: the most steps of an episode
    from a round on, as in [[0, 5], [30, 10]], which grow; evaluation plays whole episodes. tasks:
    the starts to learn from. hints: an expert who leads some rollouts a part of the way. ray: who
    plays on other machines.
    """

    env: str
    model: str = ""
    tiny: TinyModel = TinyModel()
    options: dict[str, Any] = {}
    split: str = ""
    opponents: tuple[str, ...] = ()
    past: Annotated[int, Meta(ge=0)] = 0
    past_every: Positive = 20
    matching: Literal["uniform", "pfsp", "nash"] = "uniform"
    policies: Literal["shared", "seat"] = "shared"
    lora: Lora = Lora()
    engine: Literal["transformers", "vllm"] = "transformers"
    vllm: dict[str, Any] = {}
    ahead: Annotated[int, Meta(ge=0, le=1)] = 0
    asynchronous: bool = False
    self_play: Share = 1.0
    rounds: Positive = 100
    save_every: Positive = 1
    groups: Positive = 16
    group_size: Positive = 8
    dynamic_sampling: Annotated[float, Meta(ge=1)] = 1.0
    seed: Annotated[int, Meta(ge=0)] = 0
    credit: str = "grpo"
    average: Literal["grpo", "bnpo", "dr_grpo", "dapo", "rloo", "reinforce"] = "dapo"
    clip: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    clip_high: Rate | None = None
    beta: Annotated[float, Meta(ge=0)] = 0.0
    tis_cap: Rate | None = None
    entropy: Annotated[float, Meta(ge=0)] = 0.0
    learning_rate: Rate = 3e-4
    decay: bool = False
    epochs: Positive = 1
    minibatch: Positive = 256
    micro_batch_tokens: Positive | None = None
    gradient_checkpointing: bool = False
    grad_norm: Rate = 1.0
    precision: Literal["float32", "bfloat16"] = "float32"
    refused: float = -1.0
    mode: Literal["free", "choice"] = "free"
    prompt: Literal["chat", "raw"] = "raw"
    history: Literal["conversation", "position", "bare"] = "bare"
    max_tokens: Positive = 8
    temperature: Rate = 1.0
    invalid: str = "forfeit"
    max_episode_steps: Positive | None = None
    horizon: tuple[tuple[Annotated[int, Meta(ge=0)], Positive], ...] = ()
    tasks: TaskChoice = TaskChoice()
    hints: Hints = Hints()
    warm_up: WarmUp = WarmUp()
    evaluation: Evaluation = Evaluation()
    ray: RayWorkers = RayWorkers()

    def __post_init__(self) -> None:
        _require_finite(self)
        InvalidMovePolicy.read(self.invalid)
        end = self.seed + self.rounds * int(self.groups * self.dynamic_sampling)
        if end > LEARNING_SEEDS:
            raise InvalidOption(
                f"seed = {self.seed} and the plan's rounds use seeds up to {end - 1}, and those "
                f"from {LEARNING_SEEDS} on are not learned from; choose a smaller seed or fewer "
                "rounds"
            )
        rounds = [first for first, _ in self.horizon]
        steps = [most for _, most in self.horizon]
        if rounds[:1] not in ([], [0]) or sorted(set(rounds)) != rounds or sorted(steps) != steps:
            raise InvalidOption(
                f"horizon is {list(map(list, self.horizon))}; it needs [round, steps] from round 0 "
                "on, with rounds and steps that grow, as in [[0, 5], [30, 10]]"
            )
        if self.tasks.candidates and self.ahead:
            raise InvalidOption(
                "tasks are chosen by the learner of the same round; set ahead = 0, or leave "
                "tasks out"
            )
        if self.ray != RayWorkers() and not self.ray.workers:
            raise InvalidOption(
                "[ray] has options, but no workers; set ray.workers to 1 or more, or leave it out"
            )
        if self.vllm and self.engine != "vllm":
            raise InvalidOption('[vllm] has options, but engine is not "vllm"; set engine = "vllm"')
        if self.ahead and self.engine == "vllm":
            raise InvalidOption(
                "ahead = 1 plays with weights of its own, and vLLM has one set; set ahead = 0, or "
                'engine = "transformers"'
            )
        if self.asynchronous and self.engine != "vllm":
            raise InvalidOption(
                'asynchronous = true awaits replies of vLLM; set engine = "vllm", or leave it out'
            )
        if self.dynamic_sampling > 1 and (self.group_size == 1 or self.hints.agent):
            raise InvalidOption(
                f"dynamic_sampling = {self.dynamic_sampling} compares all rollouts of a start; set "
                "group_size above 1 and leave hints out, or set dynamic_sampling = 1"
            )
        hinted = round(self.group_size * self.hints.share)
        if self.hints.agent and not 0 < hinted < self.group_size:
            raise InvalidOption(
                f"hints.share = {self.hints.share} of {self.group_size} rollouts is {hinted}; some "
                "need a hint and some none, so choose another share or group_size"
            )


def _require_finite(table: msgspec.Struct, prefix: str = "") -> None:
    """Raise `InvalidOption` for a number that is not finite, which no file of JSON can keep."""
    for name in table.__struct_fields__:
        value = getattr(table, name)
        if isinstance(value, msgspec.Struct):
            _require_finite(value, f"{prefix}{name}.")
        elif isinstance(value, float) and not math.isfinite(value):
            raise InvalidOption(f"{prefix}{name} is {value}; it must be a finite number")


def checked_plan(fields: TrainPlan | Mapping[str, Any]) -> TrainPlan:
    """A plan whose fields all have their types; `InvalidOption` names the one that has not."""
    given: Any = msgspec.to_builtins(fields)
    kind: Any = TrainPlan
    try:
        return msgspec.convert(given, TrainPlan)
    except msgspec.ValidationError as error:
        place = re.search(r"`\$\.([\w.]+)`$", str(error))
        value = given
        for name in place[1].split(".") if place else ():
            value = value.get(name) if isinstance(value, Mapping) else ...
            kind = get_type_hints(kind).get(name, Any)
        if place is None or get_origin(kind) is not Literal:
            raise InvalidOption(f"{error}; docs/training-llm.md lists the fields") from error
        choices = ", ".join(map(repr, get_args(kind)))
        raise InvalidOption(f"{place[1]} is {show(value)}; choose from: {choices}") from error


def read_plan(file: str | Path, **changes: Any) -> TrainPlan:
    """A plan from a TOML or JSON file, with fields changed; `InvalidOption` names what is wrong."""
    path = Path(file)
    try:
        is_json = path.suffix == ".json"
        read = msgspec.json.decode(read_file(path)) if is_json else read_toml(path)
        return checked_plan({**read, **changes})
    except OSError as error:
        raise InvalidOption(f"cannot read {path}: {error.strerror}") from error
    except InvalidOption as error:
        raise InvalidOption(f"{path}: {error}") from error
    except UNREADABLE as error:
        raise InvalidOption(f"{path}: {error}; docs/training-llm.md lists the fields") from error
