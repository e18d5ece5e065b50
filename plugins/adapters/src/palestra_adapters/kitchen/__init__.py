"""Playing `grid/Kitchen-v0` by skills: a model chooses a skill, a path search carries it out."""
