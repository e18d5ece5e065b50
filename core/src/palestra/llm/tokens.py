"""From messages to the tokens that a tokenizer of transformers gives; nothing of it is imported."""

from __future__ import annotations

from typing import Any

from palestra.agents.models import Request
from palestra.kernel.errors import InvalidOption
from palestra.llm.conversation import RAW_END


def read_prompt(tokenizer: Any, request: Request, name: str) -> list[int]:
    """The tokens of a request: in the model's chat template, or joined as they stand.

    If part of the conversation was read before (`request.read`), only its new messages are
    tokenised and appended to it. Raises `InvalidOption` for a chat with a model that has no
    template, or whose template rewrites earlier messages.
    """
    if request.read:
        return [*request.read, *_continuation(tokenizer, request, name)]
    if request.raw:
        return token_ids(tokenizer, "".join(message.content for message in request.messages))
    if not tokenizer.chat_template:
        raise InvalidOption(f"{name} has no chat template; say prompt=raw")
    messages = [{"role": message.role, "content": message.content} for message in request.messages]
    text = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    return token_ids(tokenizer, text)


def token_ids(tokenizer: Any, text: str) -> list[int]:
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


_SAID = "\ufff0said\ufff1"  # stands for a reply, so that what a template puts after it can be found


def _continuation(tokenizer: Any, request: Request, name: str) -> list[int]:
    """The tokens that follow a sampled reply: its end, the new messages, the start of the next."""
    new = request.messages[len(request.messages) - request.new :]
    if request.raw:
        text = "".join(message.content for message in new)
        said = tokenizer.decode(request.read[-8:], skip_special_tokens=True)
        left = len(RAW_END) - (len(said) - len(said.rstrip("\n")))
        return token_ids(tokenizer, "\n" * max(0, left) + text)
    shown = [{"role": "user", "content": "?"}, {"role": "assistant", "content": _SAID}]
    shown += [{"role": message.role, "content": message.content} for message in new]
    text = tokenizer.apply_chat_template(shown, add_generation_prompt=True, tokenize=False)
    if text.count(_SAID) != 1:
        raise InvalidOption(
            f"the chat template of {name} rewrites replies, so that no exact tokens can be kept; "
            "say prompt=raw, or keep_tokens=false"
        )
    ids = token_ids(tokenizer, text[text.index(_SAID) + len(_SAID) :])
    return ids[1:] if ids[:1] == list(request.read[-1:]) else ids
