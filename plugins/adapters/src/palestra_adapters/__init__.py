"""Published ways to make an agent of a language model, each over any model and any environment."""
