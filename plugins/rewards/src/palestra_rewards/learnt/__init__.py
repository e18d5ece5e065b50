"""Small networks fitted to rollouts: critics, process rewards, scorers of captions."""
