"""Small networks that are fitted to rollouts: critics, process rewards, judges of captions."""
