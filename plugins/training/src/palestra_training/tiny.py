"""A language model made from nothing: a vocabulary of an environment's own words, small weights.

It has no chat template: use it with prompt=raw. It is for training on a laptop, where a real model
would take days.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import torch
from palestra import InvalidOption
from tokenizers import Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import AutoModelForCausalLM, GPT2Config, LlamaConfig, PreTrainedTokenizerFast

from palestra_training.checkpoint import writing

PIECES = {
    "pieces": r"\n\n|\n| ?[A-Za-z_]+| ?[0-9]| ?[^A-Za-z0-9_\s]| ",
    "words": r"\n\n|\n| ?[^ \n]+| ",
}
UNKNOWN, END = "<unk>", "<end>"


def make_tiny(
    folder: str | Path,
    texts: Iterable[str],
    *,
    kind: str = "llama",
    layers: int = 4,
    width: int = 128,
    heads: int = 4,
    context: int = 512,
    spread: float = 0.02,
    tokens: str = "pieces",
    seed: int = 0,
) -> Path:
    """Write a model with random weights, and a tokenizer of the words of `texts`, into a folder.

    texts: whatever the model is to read and write; words that are not in them become `<unk>`. kind:
    "llama", or "gpt2", whose learned positions suit texts of one layout, and which begins with all
    words alike. spread: the standard deviation of the first weights; narrow models learn sooner
    with more than the usual 0.02. tokens: "pieces" (runs of letters; each digit and sign alone), or
    "words" (what stands between blanks: fewer tokens, more of them unlike, and a row of a board is
    always one). Returns the folder, which `local:FOLDER` and transformers open.
    """
    piece = PIECES[tokens]
    counted = Counter(found for text in texts for found in re.findall(piece, text))
    if not counted:
        raise InvalidOption("a vocabulary needs texts; play some episodes and pass their prompts")
    words = [UNKNOWN, END, *sorted(counted)]
    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(words)}, unk_token=UNKNOWN))
    tokenizer.pre_tokenizer = Split(Regex(piece), "isolated")
    tokenizer.decoder = Fuse()
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token=UNKNOWN,
        eos_token=END,
        pad_token=END,
        clean_up_tokenization_spaces=False,
    )
    config = (_gpt2 if kind == "gpt2" else _llama)(len(words), layers, width, heads, context)
    config.initializer_range = spread
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        net = AutoModelForCausalLM.from_config(config)
        if not config.tie_word_embeddings:
            torch.nn.init.zeros_(net.lm_head.weight)  # every word is as likely as any other
    target = Path(folder)
    with writing(target):
        net.save_pretrained(target)
        wrapped.save_pretrained(target)
    return target


def _llama(words: int, layers: int, width: int, heads: int, context: int) -> LlamaConfig:
    return LlamaConfig(
        vocab_size=words,
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads,
        max_position_embeddings=context,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=1,
    )


def _gpt2(words: int, layers: int, width: int, heads: int, context: int) -> GPT2Config:
    return GPT2Config(
        vocab_size=words,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        n_positions=context,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=1,
        pad_token_id=1,
    )
