"""Iterated matrix games: two players choose a row and a column at once, again and again."""
