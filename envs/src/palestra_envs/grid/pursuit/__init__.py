"""Pursuit: players surround evaders who walk at random, each seeing only what is near."""
