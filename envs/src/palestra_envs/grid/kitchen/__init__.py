"""Kitchen: cooks share a kitchen too small for them and deliver as many onion soups as they can."""
