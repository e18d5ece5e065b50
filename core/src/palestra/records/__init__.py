"""What is kept of an episode, and numbers computed from it."""
