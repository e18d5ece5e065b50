"""Wordle: find a hidden word in six guesses; each guess shows which letters are right."""
