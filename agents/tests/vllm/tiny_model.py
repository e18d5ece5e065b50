"""A language model of 100,000 parameters, drawn at random: real in every part but its size."""

from __future__ import annotations

import string
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = ["Answer with your move only. You may play: left, right, 1, 2, 3.", string.printable]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def make_tiny_model(folder: Path, *, template: bool = True, context: int = 8192) -> Path:
    """Write a two-layer Llama with a byte-level tokenizer, in the format of transformers."""
    tokenizer = _tokenizer(context)
    if template:
        tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    _network(len(tokenizer), context).save_pretrained(folder)
    return folder


def make_adapter(model: Path, folder: Path, *, seed: int = 1) -> Path:
    """Write a LoRA adapter for a model that changes what it says."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(seed)
    settings = LoraConfig(r=8, lora_alpha=256, target_modules="all-linear", init_lora_weights=False)
    tuned = get_peft_model(LlamaForCausalLM.from_pretrained(model), settings)
    tuned.save_pretrained(folder)
    return folder


def _tokenizer(context: int) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400,
        special_tokens=["<|endoftext|>", "<|im_start|>", "<|im_end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(WORDS * 10, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        model_max_length=context,
    )


def _network(words: int, context: int) -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=words,
            hidden_size=64,
            intermediate_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=1,
            head_dim=32,
            max_position_embeddings=context,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
            tie_word_embeddings=True,
        )
    )
