"""Logic grid: who lives in which house and has what, from clues with one solution."""
