"""Where everything of a scene lies: scenes in, marks out."""
