"""A kitchen whose cooks share out orders."""
