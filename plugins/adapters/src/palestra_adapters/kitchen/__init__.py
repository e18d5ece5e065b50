"""Playing `grid/Kitchen-v0` by skills: a model says what, a path search says how."""
