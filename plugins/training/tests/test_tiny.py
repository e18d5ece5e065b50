"""What the tokens of a model made from nothing are."""

import pytest
from palestra_training.tiny import make_tiny
from transformers import AutoTokenizer

BOARD = "You are X.\nXXO\n..O\nMove: 12"
PIECES = ["You", " are", " X", ".", "\n", "X", "X", "O", "\n"]
PIECES += [".", ".", "O", "\n", "Move", ":", " 1", "2"]


@pytest.mark.parametrize(
    ("tokens", "found"),
    [
        ("words", ["You", " are", " X.", "\n", "XXO", "\n", "..O", "\n", "Move:", " 12"]),
        ("pieces", PIECES),
    ],
)
def test_a_board_has_a_token_a_cell_or_a_token_a_row(tmp_path, tokens, found):
    folder = make_tiny(tmp_path / "m", [BOARD], layers=1, width=8, heads=1, tokens=tokens)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(BOARD, add_special_tokens=False)["input_ids"]
    assert [tokenizer.decode([each]) for each in ids] == found
    assert tokenizer.decode(ids) == BOARD
    assert len(tokenizer) == len(set(found)) + 2
