"""Twenty Questions and Guess My City: find a hidden thing by asking yes-or-no questions."""
