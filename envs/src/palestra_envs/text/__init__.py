"""Text games: typed actions, messages, private types."""
