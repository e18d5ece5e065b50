"""Twenty Questions and Guess My City: find a hidden thing by asking questions with yes or no."""
