"""Sokoban: push every box onto a goal; boxes can be pushed, one at a time, and never pulled."""
