"""Wordle: find a hidden word in six guesses, told after each which letters are right."""
