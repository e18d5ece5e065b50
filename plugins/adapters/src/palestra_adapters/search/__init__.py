"""Looking ahead with a language model: one engine, several ways to grow the tree."""
