"""From messages to the tokens a model of transformers reads."""

from __future__ import annotations

from typing import Any

from palestra import InvalidOption
from palestra.agents.models import Request


def read_prompt(tokenizer: Any, request: Request, name: str) -> list[int]:
    """The tokens of a request: in the model's chat template, or joined as they stand.

    Raises `InvalidOption` where a chat is asked of a model without a template.
    """
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
