"""A tiny model that has read random play, for clients that train or ask a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import palestra
import torch
from palestra_training.text_rows import said, trajectories
from palestra_training.tiny import make_tiny
from transformers import AutoModelForCausalLM, AutoTokenizer

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
Sizes = Mapping[str, Any]


def taught(folder: Path, texts: Sequence[str], template: str, epochs: int, seed: int = 0) -> Path:
    """A tiny model that has read these conversations, in a template that ends with <|im_end|>."""
    torch.manual_seed(seed)
    letters = map(chr, range(33, 127))
    make_tiny(folder, [*texts, *letters], layers=1, width=64, heads=2, context=3072)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_special_tokens({"eos_token": "<|im_end|>", "pad_token": "<end>"})
    tokenizer.add_special_tokens({"additional_special_tokens": ["<|im_start|>"]})
    tokenizer.chat_template = template
    net = AutoModelForCausalLM.from_pretrained(folder)
    net.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    net.config.eos_token_id = net.generation_config.eos_token_id = tokenizer.eos_token_id
    optimiser = torch.optim.AdamW(net.parameters(), lr=5e-3)
    for _ in range(epochs):
        for text in texts:
            ids = tokenizer(text, add_special_tokens=False)["input_ids"]
            labels = torch.tensor([said_by_assistant(tokenizer, ids)])
            loss = net(input_ids=torch.tensor([ids]), labels=labels).loss
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    net.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def said_by_assistant(tokenizer: Any, ids: Sequence[int]) -> list[int]:
    """The ids of the assistant's words and of the end of each, -100 elsewhere."""
    begin, end = tokenizer.convert_tokens_to_ids(["<|im_start|>", "<|im_end|>"])
    header = tokenizer("<|im_start|>assistant\n", add_special_tokens=False)["input_ids"]
    assert header[0] == begin
    labels, inside = [-100] * len(ids), False
    for place, token in enumerate(ids):
        if inside:
            labels[place] = token
        if list(ids[place - len(header) + 1 : place + 1]) == header:
            inside = True
        elif token == end:
            inside = False
    return labels


def in_template(talk: Sequence[Any], template: str, folder: Path, **more: Any) -> str:
    bare = AutoTokenizer.from_pretrained(make_tiny(folder, ["word"], layers=1, width=8, heads=1))
    text = bare.apply_chat_template(talk, chat_template=template, tokenize=False, **more)
    return str(text)


def player(folder: Path, env: str, options: Sizes) -> Path:
    """A tiny model that has read random play, as a learner is asked, and answers much like it."""
    seats = palestra.make(env, view="episode", seed=0, **options).game.num_players
    records = palestra.play(env, agents=["random"] * seats, episodes=40, seed=9, **options)
    texts = [
        in_template(said(one.messages), CHATML, folder / "words") for one in trajectories(records)
    ]
    return taught(folder, texts, CHATML, epochs=12, seed=3)
