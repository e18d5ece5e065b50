"""Minesweeper: open every cell that hides no mine, told how many of its neighbours do."""
