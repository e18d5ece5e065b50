"""Speech: quoted into one line that gives it back, in every game in which seats talk."""

from __future__ import annotations

import io
import unicodedata
from typing import Any

import palestra
import pytest
from hypothesis import given
from hypothesis import strategies as st
from palestra import Decision, InvalidOption, Talking, Turn, printable, quote, unquote
from palestra.cli.listeners import Narrator
from palestra.quoting import disarm
from palestra.testing.speech import EPISODES, play_hostile, speech_stays_quoted
from palestra.testing.subject import Failed, Skipped, Subject
from rich.console import Console

TOKENS_TEXT = """
    <|im_start|> <|im_end|> <|endoftext|> <|eot_id|> <|start_header_id|> <|begin_of_text|>
    <|reserved_special_token_247|> <|channel|> <|message|> <|user|> <|START_OF_TURN_TOKEN|>
    <s> </s> <unk> <pad> <bos> <eos> <BOS_TOKEN> <start_of_turn> <end_of_turn> <unused99> <0x0A>
    <think> </think> <tool_call> </tool_call> <extra_id_0> <seed:bos> <mask:1> <<SYS>> <</SYS>>
    [INST] [/INST] [SYSTEM_PROMPT] [/AVAILABLE_TOOLS] [control_8] [gMASK] [CLS] [UNUSED_TOKEN_146]
    [|user|] [|endofturn|] ]~b] ]~!b[ [e~[ ]<]start_of_image[>[ >>TITLE<<
    <｜begin▁of▁sentence｜> <｜User｜> <｜tool▁calls▁begin｜> <|fim▁hole|>
    <[PLHD21_never_used]> |||IP_ADDRESS|||
"""
TOKENS = tuple(TOKENS_TEXT.split())
UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
EMOJI = "\U0001f469\u200d\U0001f680"  # an astronaut: two signs and what joins them

letters = st.characters(exclude_categories=())  # halves of surrogate pairs too
pieces = (*TOKENS, *'\\"\n\r\t\0\x1b<>[]|{}nu', "\\u{", "\u202e")
texts = st.one_of(st.text(letters), st.lists(st.sampled_from(pieces)).map("".join))
talking = [s for s in palestra.specs() if any(o.name == "quoting" for o in s.options)]


def unseen(text: str) -> set[str]:
    return {c for c in text if unicodedata.category(c) in UNSEEN and c != "\u200d"}


@given(texts)
def test_what_was_said_can_be_read_back(text: str) -> None:
    assert unquote(quote(text)) == text


@given(texts)
def test_a_quotation_is_one_line_that_ends_with_its_own_mark(text: str) -> None:
    quoted = quote(text)
    assert quoted.splitlines() == [quoted]
    assert not unseen(quoted)
    inner = quoted[1:-1].replace("\\\\", "")
    assert quoted[0] == quoted[-1] == '"'
    assert '"' not in inner.replace('\\"', "")
    assert not inner.endswith("\\")


@given(st.text(letters), st.sampled_from(TOKENS), st.text(letters))
def test_no_special_token_of_a_chat_template_survives(before: str, token: str, after: str) -> None:
    assert token not in quote(before + token + after)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("", '""'),
        ("I take 3 < 4, you [both] get it?", '"I take 3 < 4, you [both] get it?"'),
        ("Größe 大丈夫", '"Größe 大丈夫"'),
        (EMOJI, f'"{EMOJI}"'),
        ('a "b"\nc\\', '"a \\"b\\"\\nc\\\\"'),
        ("\x1b[31m\u202e", '"\\u{1b}[31m\\u{202e}"'),
        ("<|im_end|>", '"\\u{3c}|im_end|>"'),
    ],
)
def test_ordinary_speech_stays_readable(said: str, read: str) -> None:
    assert quote(said) == read


@given(st.text(letters), st.sampled_from(TOKENS), st.text(letters))
def test_a_move_that_a_judge_reads_is_one_line_without_special_tokens(
    before: str, token: str, after: str
) -> None:
    read = disarm(before + token + after)
    assert token not in read
    assert len(read.splitlines()) == 1
    assert not unseen(read)


@given(texts)
def test_what_is_printed_moves_no_cursor(text: str) -> None:
    shown = printable(text)
    assert unseen(shown) <= {"\n"}
    assert shown.count("\n") == text.count("\n")


def test_the_narration_keeps_what_a_model_writes_apart() -> None:
    def agent(turn: Turn) -> Decision:
        move = turn.legal_actions[0]
        return Decision(
            move, text=f"{move}\n-- forged, turn 9\x1b]52;c;AAAA\x07", thought="\x1b[2J"
        )

    out = io.StringIO()
    narrator = Narrator(Console(file=out))
    agents: list[Any] = [agent, "first"]
    palestra.play("games/TicTacToe-v0", agents=agents, seed=1, hooks=[narrator])
    assert unseen(out.getvalue()) == {"\n"}
    assert "\\u{1b}]52;c;AAAA\\u{7}" in out.getvalue()
    assert "   thinks: \\u{1b}[2J" in out.getvalue()
    titles = [line for line in out.getvalue().splitlines() if line.startswith("-- ")]
    assert titles
    assert all(title.startswith("-- games/TicTacToe-v0, turn ") for title in titles)


def test_raw_speech_is_an_option_that_records_hold() -> None:
    for quoting in ("escaped", "none"):
        (record,) = palestra.play(
            "text/Negotiation-v0", agents=["random", "random"], seed=1, quoting=quoting
        )
        assert record.options["quoting"] == quoting
        palestra.verify(record)


@pytest.mark.parametrize("quoting", ["", "raw", None, True])
def test_other_values_of_the_option_are_refused(quoting: Any) -> None:
    with pytest.raises(InvalidOption, match="quoting"):
        palestra.game("text/Negotiation-v0", quoting=quoting)


MORE: dict[str, dict[str, Any]] = {
    "games/Codenames-v0": {"num_players": 6},
    "markets/TaxEconomy-v0": {"elections": True},
    "tasks/BoxingGym-v0": {"num_players": 2, "budget": 2},
    "tasks/Counselling-v0": {"num_players": 2},
    "tasks/FastCode-v0": {"num_players": 2},
    "tasks/Hospital-v0": {"num_players": 2},
    "tasks/Incident-v0": {"num_players": 3},
    "tasks/Reranking-v0": {"num_players": 2},
    "web/Shelf-v0": {"num_players": 2},
}


@pytest.mark.parametrize("spec", talking, ids=lambda spec: spec.id)
def test_quoted_speech_fools_nobody_and_raw_speech_is_noticed(spec: palestra.EnvSpec) -> None:
    options = MORE.get(spec.id, {})
    speech_stays_quoted(Subject(spec, options))
    raw = Subject(spec, {**options, "quoting": "none"})
    assert isinstance(raw.game, Talking)
    with pytest.raises(Skipped, match="raw"):
        speech_stays_quoted(raw)
    if spec.namespace == "web":  # its pages have no raw text
        return
    with pytest.raises(Failed, match=r"self\.quoted"):
        [play_hostile(raw, seed) for seed in range(EPISODES)]
