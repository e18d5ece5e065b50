"""A population that plays a dilemma in pairs, and may choose, remember and punish."""
