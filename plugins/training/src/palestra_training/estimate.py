"""What a plan needs on accelerators, before anything is run: memory, and the time of a round.

The model is made of tensors without memory, from its config.json alone, and read forwards and
backwards: PyTorch counts what the backward pass keeps and how many operations there are. Lengths
are those of random play. Times are those of a device that reaches `LEARNING` of its peak where it
multiplies matrices, and `READING` of its bandwidth where it reads all weights to write one token;
what Python and the rules take is not in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers
from palestra import InvalidOption
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils.flop_counter import FlopCounterMode

from palestra_training.exchanges import exchanges
from palestra_training.learner import AT_ONCE
from palestra_training.lora import add_adapters
from palestra_training.losses import chosen_logprobs
from palestra_training.plan import TrainPlan
from palestra_training.play import random_play
from palestra_training.policies import PRECISIONS

GB = 10**9
LEARNING, READING = 0.4, 0.6  # of the peak and of the bandwidth
EPISODES = 16  # of random play, for lengths
LETTERS = 3.5  # of a token, where the model's folder has no tokenizer
VLLM_SHARE = 0.9  # of the memory, which vLLM takes unless its options say otherwise
FULL = 4  # bytes of a number in float32


def _attending(query: Sequence[int], key: Sequence[int], *_: Any, **__: Any) -> int:
    """Operations of two products of matrices, by the shapes of queries and keys."""
    streams, heads, asked, width = query
    return 4 * streams * heads * asked * key[2] * width


def _attending_back(_: Any, query: Sequence[int], key: Sequence[int], *__: Any, **___: Any) -> int:
    """Operations of five products of matrices, one of which computes the scores again."""
    return _attending(query, key) * 5 // 2


FLASH = "_scaled_dot_product_flash_attention_for_cpu"
ATTENTION = {  # PyTorch counts these on accelerators alone
    getattr(torch.ops.aten, FLASH): _attending,
    getattr(torch.ops.aten, f"{FLASH}_backward"): _attending_back,
}


class Device(NamedTuple):
    """An accelerator: bytes, bytes a second, operations a second by precision (data sheets)."""

    memory: float
    bandwidth: float
    operations: dict[str, float]


DEVICES = {
    "a100": Device(80 * GB, 2.04e12, {"float32": 19.5e12, "bfloat16": 312e12}),
    "h100": Device(80 * GB, 3.35e12, {"float32": 67e12, "bfloat16": 989e12}),
    "h200": Device(141 * GB, 4.8e12, {"float32": 67e12, "bfloat16": 989e12}),
}


class Lengths(NamedTuple):
    """Of an episode: streams, and of each its tokens, those that are sampled, and its turns."""

    streams: float
    tokens: float
    sampled: float
    turns: float


class Reading(NamedTuple):
    """One forward and backward pass: bytes kept whatever is read, and by token, and operations."""

    kept: float
    kept_per_token: float
    operations_per_token: float
    forward_per_token: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a round of a plan needs on every one of `devices` devices.

    weights, learned: numbers in the model, and those that are learned. memory: bytes by what they
    are for. capacity: bytes of the device. streams, tokens: of a round, over all devices. seconds:
    of a round, by what they are for.
    """

    device: str
    devices: int
    weights: int
    learned: int
    memory: dict[str, float]
    capacity: float
    streams: float
    tokens: float
    sampled: float
    seconds: dict[str, float]

    @property
    def needed(self) -> float:
        """Bytes on each device."""
        return sum(self.memory.values())

    @property
    def fits(self) -> bool:
        return self.needed <= self.capacity

    def to_dict(self) -> dict[str, Any]:
        """All fields and sums, as JSON can hold them."""
        total = sum(self.seconds.values())
        return {
            **asdict(self),
            "needed": self.needed,
            "fits": self.fits,
            "tokens_per_second": self.tokens / total,
            "sampled_per_second": self.sampled / total,
        }

    def lines(self) -> Iterator[str]:
        """A table for people."""
        millions = f"{self.weights / 1e6:,.1f} million weights"
        yield f"{millions}, {self.learned / 1e6:,.1f} million learned"
        yield f"a round: {self.streams:,.0f} streams of {self.tokens / self.streams:,.0f} tokens"
        yield f"memory of each {self.device.upper()}, in GB"
        for name, size in self.memory.items():
            yield f"  {name:34} {size / GB:8.2f}"
        yield f"  {'all, of ' + format(self.capacity / GB, '.0f'):34} {self.needed / GB:8.2f}"
        many = f"{self.devices} devices" if self.devices > 1 else "one device"
        yield f"seconds of a round on {many}, at best"
        for name, seconds in self.seconds.items():
            yield f"  {name:34} {seconds:8.2f}"
        total = sum(self.seconds.values())
        yield f"  {'all':34} {total:8.2f}"
        rates = [f"{count / total:,.0f}" for count in (self.tokens, self.sampled)]
        yield f"tokens a second: {rates[0]}, of which {rates[1]} are written"


def estimate(plan: TrainPlan, device: str, devices: int = 1) -> Estimate:
    """Memory and time of a round of a plan on devices that share it.

    device: a name of `DEVICES`. devices: processes, each with one device and the whole model.

    Raises `InvalidOption` for an unknown device, and for a plan without the folder of a model.
    """
    if device not in DEVICES:
        raise InvalidOption(f"there is no device {device!r} here; choose from {', '.join(DEVICES)}")
    if not plan.model or not (Path(plan.model) / "config.json").exists():
        raise InvalidOption(
            f"model = {plan.model!r} has no config.json; an estimate needs the folder of a model"
        )
    config = transformers.AutoConfig.from_pretrained(plan.model)
    found = lengths(plan)
    with FakeTensorMode():
        net = model_of(plan, config)
        read = reading(net, plan, found)
        weights = sum(one.numel() for one in net.parameters())
        learned = sum(one.numel() for one in net.parameters() if one.requires_grad)
    streams = plan.groups * plan.group_size * found.streams
    run = _Run(plan, config, DEVICES[device], found, read, weights, learned, streams / devices)
    return Estimate(
        device=device,
        devices=devices,
        weights=weights,
        learned=learned,
        memory={name: size for name, size in run.memory(devices).items() if size},
        capacity=DEVICES[device].memory,
        streams=streams,
        tokens=streams * found.tokens,
        sampled=streams * found.sampled,
        seconds=run.seconds(),
    )


def lengths(plan: TrainPlan) -> Lengths:
    """Streams and tokens of an episode, by random play; replies as long as a plan lets them be."""
    count = _counter(plan.model)
    streams: dict[tuple[Any, ...], tuple[float, float, float]] = {}
    records = random_play(plan, EPISODES, "random")
    for number, record in enumerate(records):
        for one in exchanges(record, prompt=plan.prompt, history=plan.history):
            asked = sum(count(message.content) for message in one.messages)
            reply = count(one.reply.content) if plan.mode == "choice" else plan.max_tokens
            who: tuple[Any, ...] = (number, one.seat, one.life)
            who = who if plan.history == "conversation" else (*who, one.step)
            _, sampled, turns = streams.get(who, (0.0, 0.0, 0.0))
            streams[who] = (asked + reply, sampled + reply, turns + 1)
    seats = len(records[0].returns)
    own = plan.self_play + (1 - plan.self_play) / seats
    every = [sum(column) / len(streams) for column in zip(*streams.values(), strict=True)]
    return Lengths(own * len(streams) / EPISODES, *every)


def _counter(folder: str) -> Callable[[str], float]:
    """How many tokens a text has; by its letters where a folder has no tokenizer."""
    if not any((Path(folder) / name).exists() for name in ("tokenizer.json", "tokenizer.model")):
        return lambda text: len(text) / LETTERS
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return lambda text: len(tokenizer(text, add_special_tokens=False).input_ids)


def model_of(plan: TrainPlan, config: Any) -> Any:
    """The model of a plan, as `make_policies` makes it, of tensors without memory."""
    dtype = PRECISIONS[plan.precision] if plan.lora.rank else torch.float32
    with torch.device("meta"):
        net = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype).eval()
        if plan.lora.rank:
            net = add_adapters(net, plan.lora, ["learner"], seed=0)
    made: dict[int, Any] = {}  # by the tensor that it takes the place of; some are shared
    for module in net.modules():
        own = [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
        for name, one in own:
            setattr(module, name, made.setdefault(id(one), _without_memory(one)))
    return net


def _without_memory(one: torch.Tensor) -> torch.Tensor:
    """A tensor of the same form on a processor, where lower precision is computed as in a run."""
    empty = torch.empty(one.shape, dtype=one.dtype)
    if isinstance(one, torch.nn.Parameter):
        return torch.nn.Parameter(empty, requires_grad=one.requires_grad)
    return empty


def reading(net: Any, plan: TrainPlan, found: Lengths) -> Reading:
    """What one pass over a model of tensors without memory keeps, and its operations.

    Two passes of other sizes tell what is kept by token from what is kept once.
    """
    few, many = (_pass(net, plan, found, streams) for streams in (1, 2))
    tokens = max(1, round(found.tokens))
    by_token = [(b - a) / tokens for a, b in zip(few, many, strict=True)]
    return Reading(few[0] - by_token[0] * tokens, *by_token)


def _pass(net: Any, plan: TrainPlan, found: Lengths, streams: int) -> tuple[float, float, float]:
    """Bytes kept for the backward pass, operations of both passes, and of the forward pass."""
    own = set(map(_place, net.parameters()))
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if (place := _place(tensor)) not in own:
            kept[place] = tensor.untyped_storage().nbytes()
        return tensor

    lower = plan.precision != "float32"
    ids = torch.zeros(streams, max(1, round(found.tokens)), dtype=torch.long)
    places = min(ids.shape[1], max(1, round(found.sampled)))
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    with hooks, FlopCounterMode(display=False, custom_mapping=ATTENTION) as counter:
        with torch.autocast("cpu", PRECISIONS[plan.precision] if lower else None, enabled=lower):
            logits = net(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                logits_to_keep=places,
                use_cache=False,
            ).logits
        loss = chosen_logprobs(logits, ids[:, :places], plan.temperature)[0].mean()
        forwards = counter.get_total_flops()
        loss.backward()  # type: ignore[no-untyped-call]
        both = counter.get_total_flops()
    net.zero_grad()
    return float(sum(kept.values())), float(both), float(forwards)


def _place(tensor: torch.Tensor) -> int:
    """What names the storage of a tensor, which others may share."""
    return int(StorageWeakRef(tensor.untyped_storage()).cdata)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, slots=True)
class _Run:
    """A round of a plan on one device; streams: of this device."""

    plan: TrainPlan
    config: Any
    device: Device
    lengths: Lengths
    reading: Reading
    weights: int
    learned: int
    streams: float

    def memory(self, devices: int) -> dict[str, float]:
        """Bytes by what they are for, of a gradient step and of play together."""
        plan, read = self.plan, self.reading
        frozen = self.weights - self.learned
        policies = round(self.lengths.streams) if plan.policies == "seat" else 1
        at_once = min(self.streams, plan.minibatch / devices) * self.lengths.tokens
        if plan.micro_batch_tokens:
            at_once = max(self.lengths.tokens, min(at_once, plan.micro_batch_tokens))
        layers, width = self.config.num_hidden_layers, self.config.hidden_size
        kept = read.kept_per_token * at_once
        if plan.gradient_checkpointing:  # inputs of layers, and what one of them keeps
            kept = at_once * layers * width * FULL + kept / layers
        places = at_once * self.lengths.sampled / self.lengths.tokens
        return {
            "weights": policies * self.learned * FULL + frozen * self._size,
            "gradients and moments": policies * 3 * self.learned * FULL,
            "weights while they are read": read.kept,
            "first policy, for beta": (self.learned + self.weights) * FULL * bool(plan.beta),
            "older policies": (plan.past + plan.ahead) * self.learned * FULL,
            "activations": kept,
            "scores of words": 2 * places * self.config.vocab_size * FULL,
            **self._play(),
        }

    @property
    def _size(self) -> int:
        """Bytes of a number in the plan's precision."""
        return PRECISIONS[self.plan.precision].itemsize

    def _cached(self) -> float:
        """Bytes of the keys and values of a token."""
        config = self.config
        heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
        head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return float(2 * config.num_hidden_layers * heads * head * self._size)

    def _play(self) -> dict[str, float]:
        """Bytes of the engine that answers."""
        if self.plan.engine == "vllm":
            share = float(self.plan.vllm.get("gpu_memory_utilization", VLLM_SHARE))
            return {"vLLM, by gpu_memory_utilization": share * self.device.memory}
        return {"keys and values in play": self._answered * self.lengths.tokens * self._cached()}

    @property
    def _answered(self) -> float:
        """Streams that are answered at once."""
        return min(AT_ONCE, self.streams)

    def seconds(self) -> dict[str, float]:
        """Seconds of a round by what they are for."""
        plan, read, found = self.plan, self.reading, self.lengths
        peak = LEARNING * self.device.operations[plan.precision]
        written = self.streams * found.sampled
        asked = self.streams * (found.tokens - found.sampled)
        cached = found.tokens / 2 * self._cached()  # of a stream, on average
        moved = self.weights * self._size / self._answered + cached  # bytes, for a token
        once = max(moved / (READING * self.device.bandwidth), read.forward_per_token / peak)
        passes = plan.epochs * read.operations_per_token
        passes += plan.epochs * read.forward_per_token * plan.gradient_checkpointing
        passes += read.forward_per_token * (bool(plan.beta) + (plan.tis_cap is not None))
        return {
            "reading questions": asked * read.forward_per_token / peak,
            "writing answers": written * once,
            "learning": self.streams * found.tokens * passes / peak,
        }
