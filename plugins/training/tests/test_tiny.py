"""What the tokens of a model made from nothing are."""

import pytest
from palestra_training.tiny import make_tiny
from transformers import AutoTokenizer

BOARD = "You are X.\nXXO\n..O\nMove: 12"
PIECES = ["You", " are", " X", ".", "\n", "XXO", "\n"]
PIECES += [".", ".", "O", "\n", "Move", ":", " 1", "2"]


@pytest.mark.parametrize(
    ("tokens", "found"),
    [
        ("words", ["You", " are", " X.", "\n", "XXO", "\n", "..O", "\n", "Move:", " 12"]),
        ("pieces", PIECES),
    ],
)
def test_a_row_of_a_board_is_one_word_or_its_pieces(tmp_path, tokens, found):
    folder = make_tiny(tmp_path / "m", [BOARD], layers=1, width=8, heads=1, tokens=tokens)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(BOARD, add_special_tokens=False)["input_ids"]
    assert [tokenizer.decode([each]) for each in ids] == found
    assert tokenizer.decode(ids) == BOARD
    assert len(tokenizer) == len(set(found)) + 2
