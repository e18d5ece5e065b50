"""Sudoku: fill a square so that every row, column and box has every digit once."""
