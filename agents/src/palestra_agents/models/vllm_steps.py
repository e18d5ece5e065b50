"""Threads that share one engine of vLLM: whoever waits for an answer computes for all of them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, NamedTuple

from palestra import MissingExtra, ModelError
from palestra.kernel.errors import cause

try:
    from vllm import RequestOutput, SamplingParams, exceptions
    from vllm.lora.request import LoRARequest
    from vllm.sampling_params import RequestOutputKind
except ImportError as error:
    raise MissingExtra("vLLM", "palestra-agents[vllm]") from error

# what a request raises that vLLM does not take; before 0.32 all of it was a ValueError
REFUSED = (ValueError, getattr(exceptions, "VLLMClientError", ValueError))


class Prompt(NamedTuple):
    """The tokens of a prompt, what is sampled after it, and with which adapter."""

    ids: Sequence[int]
    sampling: SamplingParams
    adapter: LoRARequest | None = None

    @property
    def adapter_number(self) -> int:
        return self.adapter.lora_int_id if self.adapter else 0


@dataclass(slots=True, eq=False)
class _Call:
    """The prompts of one call, and their outputs so far. owner: the model that was called."""

    owner: object
    outputs: list[Any]
    missing: int
    error: Exception | None = None
    woken: threading.Event = field(default_factory=threading.Event)  # it is over, or is to lead

    @property
    def over(self) -> bool:
        return not self.missing or self.error is not None

    def fail(self, error: Exception) -> None:
        self.error = error
        self.woken.set()


Waiting = tuple[_Call, int, Prompt]


class Steps:
    """The steps of an engine, which batch the prompts of all calls under way.

    One call leads: its thread steps the engine until its own outputs are there, and then wakes
    another that waits. An output is handed over as soon as it is finished.

    engine: `vllm.LLM.llm_engine`. one_adapter: prompts with different adapters are kept apart.
    """

    def __init__(self, engine: Any, *, one_adapter: bool) -> None:
        self.lock = threading.RLock()  # held by the thread that uses the engine
        self._engine, self._one_adapter = engine, one_adapter
        self._state = threading.RLock()  # of what follows
        self._leader: _Call | None = None
        self._waiting: deque[Waiting] = deque()
        self._open: dict[str, tuple[_Call, int]] = {}  # by the name of a request
        self._numbers = count()
        self._adapter = 0  # of the prompts that are open

    def generate(
        self, owner: object, prompts: Sequence[Prompt], abandon: Callable[[], object]
    ) -> list[RequestOutput]:
        """The finished output of every prompt, in order.

        owner: the model that asks. abandon: called if a step is cut off, to drop what the engine
        has not finished.

        Raises `ModelError` for a prompt that vLLM refuses, and in every call under way whatever
        the engine raises.
        """
        call = _Call(owner, [None] * len(prompts), len(prompts))
        listed = [(call, place, prompt) for place, prompt in enumerate(prompts)]
        listed.sort(key=lambda one: one[2].adapter_number)  # fewer changes, where one is used
        with self._state:
            self._waiting += listed
            if self._leader is None:
                self._leader = call
                call.woken.set()
        try:
            call.woken.wait()
            if not call.over:
                self._lead(call)
        except BaseException as error:
            self._give_up(call, error, abandon)
            raise
        finally:
            self._pass_on(call)
        if call.error is not None:
            raise call.error
        return call.outputs

    def close(self, owner: object) -> None:
        """End the calls of a model in other threads with a `ModelError`."""
        for call in self._calls():
            if call.owner is owner:
                call.fail(ModelError("the model was closed before it had answered"))

    @property
    def waits(self) -> bool:
        """Whether there are prompts that the engine has not been given."""
        return bool(self._waiting)

    def _calls(self) -> list[_Call]:
        """The calls under way, the oldest first."""
        with self._state:
            listed = [call for call, _ in list(self._open.values())]  # the leader changes them
            listed += [call for call, _, _ in self._waiting]
        return [call for call in dict.fromkeys(listed) if not call.over]

    def _lead(self, call: _Call) -> None:
        with self.lock:
            while not call.over:
                self._forget_ended()
                self._admit()
                for output in self._engine.step():
                    if output.finished and output.request_id in self._open:
                        self._hand_over(*self._open.pop(output.request_id), output)

    def _hand_over(self, call: _Call, place: int, output: RequestOutput) -> None:
        call.outputs[place] = output
        call.missing -= 1
        if not call.missing:
            call.woken.set()

    def _admit(self) -> None:
        """Give the engine the prompts that may join those it computes."""
        while self._waiting:
            call, place, prompt = self._waiting[0]
            if self._one_adapter and self._open and prompt.adapter_number != self._adapter:
                return
            name = str(next(self._numbers))
            with self._state:  # a call is always in one of the two, for whoever ends all of them
                self._open[name] = call, place
                self._waiting.popleft()
            if call.over:
                del self._open[name]
                continue
            self._adapter = prompt.adapter_number
            prompt.sampling.output_kind = RequestOutputKind.FINAL_ONLY
            try:
                self._engine.add_request(
                    name,
                    {"type": "token", "prompt_token_ids": list(prompt.ids)},
                    prompt.sampling,
                    lora_request=prompt.adapter,
                )
            except REFUSED as error:
                del self._open[name]
                call.fail(ModelError(f"vLLM refused a request: {error}"))

    def _forget_ended(self) -> None:
        """Stop computing what nobody waits for any more."""
        ended = [name for name, (call, _) in self._open.items() if call.over]
        if ended:
            self._engine.abort_request(ended)
        for name in ended:
            del self._open[name]

    def _give_up(self, call: _Call, error: BaseException, abandon: Callable[[], object]) -> None:
        """End a call that was interrupted; if it led, the engine was cut off anywhere."""
        call.fail(ModelError("it was interrupted"))
        if self._leader is not call:
            return
        for other in self._calls():
            other.fail(ModelError(f"the engine failed in a call beside this one: {cause(error)}"))
        with self.lock:
            self._open.clear()
            abandon()

    def _pass_on(self, call: _Call) -> None:
        with self._state:
            if self._leader is call:
                following = self._calls()
                self._leader = following[0] if following else None
                if following:
                    following[0].woken.set()
