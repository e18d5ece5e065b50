"""From messages to the tokens that a tokenizer of transformers gives; nothing of it is imported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from palestra.agents.models import Message, Request
from palestra.kernel.errors import InvalidOption
from palestra.llm.conversation import RAW_END
from palestra.quoting import without


def read_prompt(tokenizer: Any, request: Request, name: str) -> list[int]:
    """The tokens of a request: in the model's chat template, or joined as they stand.

    Only the template gives special tokens: those that a message spells out are escaped, unless
    `request.special`. If part of the conversation was read before (`request.read`), only its new
    messages are tokenised and appended to it. Raises `InvalidOption` for a chat with a model that
    has no template, or whose template rewrites earlier messages.
    """
    if request.read:
        return [*request.read, *_continuation(tokenizer, request, name)]
    if request.raw:
        return token_ids(tokenizer, _render_prompt(tokenizer, request, request.messages))
    if not tokenizer.chat_template:
        raise InvalidOption(f"{name} has no chat template; say prompt=raw")
    messages = _template_messages(tokenizer, request, request.messages)
    return token_ids(tokenizer, _render_chat(tokenizer, messages, name))


def _render_chat(tokenizer: Any, messages: Sequence[dict[str, str]], name: str) -> str:
    """A chat as its template writes it, up to where the next reply begins."""
    from jinja2 import TemplateError

    try:
        text: str = tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
    except TemplateError as error:
        roles = ", ".join(message["role"] for message in messages[:3])
        raise InvalidOption(
            f"the chat template of {name} does not take messages of the roles {roles}: {error}; "
            "say prompt=raw, or history=bare, which has no system message, or choose a model whose "
            "template takes them"
        ) from error
    return text


def check_template(
    tokenizer: Any, name: str, *, rules: bool = True, turns: bool = True, thoughts: bool = False
) -> None:
    """Raise `InvalidOption` if a chat template cannot write a conversation by appending to it.

    rules: it begins with a system message. turns: it has more than one question, each of which must
    leave all before it as it was. thoughts: replies may hold reasoning between `<think>` marks.
    """
    if not tokenizer.chat_template:
        raise InvalidOption(f"{name} has no chat template; say prompt=raw")
    for reply in ["One.", *(["<think>\nTwo?\n</think>\n\nTwo."] if thoughts and turns else [])]:
        talk = [{"role": "system", "content": "Rules."}] if rules else []
        before = ""
        for number in range(4 if turns else 1):
            talk.append({"role": "user", "content": f"Question {number}?"})
            text = _render_chat(tokenizer, talk, name)
            if not text.startswith(before):
                same = [one == other for one, other in zip(before, text, strict=False)]
                place = (*same, False).index(False)
                was, now = (ascii(one[max(0, place - 20) : place + 20]) for one in (before, text))
                raise InvalidOption(
                    f"the chat template of {name} is not append-only: once question {number + 1} "
                    f"is asked, it writes {now} where it had {was}; say history=position or "
                    "history=bare, or prompt=raw, or give the model a template that never changes "
                    "earlier messages"
                )
            before = text + reply
            talk.append({"role": "assistant", "content": reply})


def _render_prompt(tokenizer: Any, request: Request, messages: Sequence[Message]) -> str:
    text = "".join(message.content for message in messages)
    return text if request.special else plain_text(tokenizer, text)


def _template_messages(
    tokenizer: Any, request: Request, messages: Sequence[Message]
) -> list[dict[str, str]]:
    """Messages as a chat template takes them."""
    if request.special:
        return [{"role": message.role, "content": message.content} for message in messages]
    return [
        {"role": message.role, "content": plain_text(tokenizer, message.content)}
        for message in messages
    ]


class Special(NamedTuple):
    """A tokenizer's special tokens."""

    size: int
    texts: frozenset[str]
    ids: frozenset[int]


_known: WeakKeyDictionary[Any, Special] = WeakKeyDictionary()  # by tokenizer; reading takes 0.4 ms


def special_tokens(tokenizer: Any) -> Special:
    """The special tokens of a tokenizer, those added to it included."""
    known = _known.get(tokenizer)
    if known is None or known.size != len(tokenizer):
        added = getattr(tokenizer, "added_tokens_decoder", {})
        listed = {number: token for number, token in added.items() if token.special}
        known = _known[tokenizer] = Special(
            len(tokenizer),
            frozenset({*tokenizer.all_special_tokens, *(t.content for t in listed.values())}),
            frozenset({*tokenizer.all_special_ids, *listed} - {tokenizer.unk_token_id}),
        )
    return known


def plain_text(tokenizer: Any, text: str) -> str:
    """A text that gives none of a tokenizer's special tokens: what would begin one is escaped.

    What a text gives is seen in its tokens, not in its spelling: a tokenizer may normalise it, as
    `＜s＞` to `<s>`, and find the token among its ordinary pieces.
    """
    special = special_tokens(tokenizer)
    text = without(text, special.texts)
    for _ in range(3):
        found = _special_spellings(tokenizer, text, special.ids)
        if not found:
            return text
        text = without(text, found)
    return ascii(text)[1:-1]  # no tokenizer has been seen that comes here


def _special_spellings(tokenizer: Any, text: str, ids: frozenset[int]) -> set[str]:
    """The parts of a text that a tokenizer reads as special tokens."""
    if not tokenizer.is_fast:  # it does not say where a token comes from
        given = ids.intersection(token_ids(tokenizer, text))
        return {letter for letter in text if not letter.isalnum()} if given else set()
    read = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    pairs = zip(read["input_ids"], read["offset_mapping"], strict=True)
    return {text[start:end].strip() for number, (start, end) in pairs if number in ids}


def token_ids(tokenizer: Any, text: str) -> list[int]:
    return tokenizer(text, add_special_tokens=False)["input_ids"]


def allowed_tokens(
    choices: Sequence[Sequence[int]], said: Sequence[int], end: Iterable[int]
) -> list[int]:
    """The tokens that continue a reply towards one of the choices, and an end token after one.

    choices: the tokens of each. said: the reply so far. end: the end tokens, of which the smallest
    counts.
    """
    length, so_far = len(said), list(said)
    return sorted(
        {
            choice[length] if len(choice) > length else min(end)
            for choice in choices
            if list(choice[:length]) == so_far
        }
    )


_SAID = "\ufff0said\ufff1"  # stands for a reply, so that what a template puts after it can be found


def _continuation(tokenizer: Any, request: Request, name: str) -> list[int]:
    """The tokens that follow a sampled reply: its end, the new messages, the start of the next."""
    new = request.messages[len(request.messages) - request.new :]
    if request.raw:
        text = _render_prompt(tokenizer, request, new)
        said = tokenizer.decode(request.read[-8:], skip_special_tokens=True)
        left = len(RAW_END) - (len(said) - len(said.rstrip("\n")))
        return token_ids(tokenizer, "\n" * max(0, left) + text)
    earlier = request.messages[: -request.new - 1] or (Message("user", "?"),)
    turns = [{"role": message.role, "content": message.content} for message in earlier]
    turns.append({"role": "assistant", "content": _SAID})
    turns += _template_messages(tokenizer, request, new)
    text = _render_chat(tokenizer, turns, name)
    if text.count(_SAID) != 1:
        raise InvalidOption(
            f"the chat template of {name} rewrites replies, so that no exact tokens can be kept; "
            "say prompt=raw, or keep_tokens=false"
        )
    ids = token_ids(tokenizer, text[text.index(_SAID) + len(_SAID) :])
    return ids[1:] if ids[:1] == list(request.read[-1:]) else ids
