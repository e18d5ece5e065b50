"""The plan of a training run: one typed file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from palestra import InvalidOption
from palestra.files import UNREADABLE

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
    spread: Rate = 0.02  # standard deviation of the first weights


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


class TrainPlan(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A run of `palestra train-llm`.

    model: a folder in the format of transformers; empty for a tiny one. opponents: agents that take
    the other seats; past: the number of saved versions of this learner that also play as opponents;
    matching: how often each is drawn, see `pool`; self_play: the share of groups in which the
    learner plays all seats. policies: "shared", or "seat" for one in each seat, with weights (or an
    adapter, with lora) of its own. ahead: 1 plays a round's episodes while the round before is
    being learned from, with older weights, which the ratios of the loss correct for. groups,
    group_size: starts per round, and rollouts of each. credit: estimators, as in `palestra credit
    --by`. average, clip, clip_high, beta: see `losses.policy_loss`; the reference is the initial
    policy. decay: let the learning rate fall evenly to 0 by the last round. minibatch: distinct
    streams per gradient step. save_every: rounds between checkpoints.
    precision: of matrix products; bfloat16 takes half the time where the processor has it. refused:
    the advantage of a refused answer if the game continued. mode: "choice" holds replies to the
    legal moves, in play and in learning alike.
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
    ahead: Annotated[int, Meta(ge=0, le=1)] = 0
    self_play: Share = 1.0
    rounds: Positive = 100
    save_every: Positive = 1
    groups: Positive = 16
    group_size: Positive = 8
    seed: Annotated[int, Meta(ge=0)] = 0
    credit: str = "grpo"
    average: str = "dapo"
    clip: Annotated[float, Meta(gt=0, lt=1)] = 0.2
    clip_high: Rate | None = None
    beta: Annotated[float, Meta(ge=0)] = 0.0
    entropy: Annotated[float, Meta(ge=0)] = 0.0
    learning_rate: Rate = 3e-4
    decay: bool = False
    epochs: Positive = 1
    minibatch: Positive = 256
    grad_norm: Rate = 1.0
    precision: Literal["float32", "bfloat16"] = "float32"
    refused: float = -1.0
    mode: Literal["free", "choice"] = "free"
    prompt: str = "raw"
    history: str = "bare"
    max_tokens: Positive = 8
    temperature: Rate = 1.0
    invalid: str = "forfeit"
    max_episode_steps: Positive | None = None
    warm_up: WarmUp = WarmUp()
    evaluation: Evaluation = Evaluation()


def read_plan(file: str | Path, **changes: Any) -> TrainPlan:
    """A plan from a TOML or JSON file, with fields changed; `InvalidOption` names what is wrong."""
    path = Path(file)
    try:
        content = path.read_bytes()
        read = (
            msgspec.json.decode(content)
            if path.suffix == ".json"
            else tomllib.loads(content.decode("utf-8"))
        )
        return msgspec.convert({**read, **changes}, TrainPlan)
    except OSError as error:
        raise InvalidOption(f"cannot read {path}: {error.strerror}") from error
    except UNREADABLE as error:
        raise InvalidOption(f"{path}: {error}; docs/training-llm.md lists the fields") from error
