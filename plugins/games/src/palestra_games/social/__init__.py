"""Games of talk: hidden roles, clues, shared knowledge."""
