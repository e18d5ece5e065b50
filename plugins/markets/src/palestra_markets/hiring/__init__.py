"""A principal pays experts to find out which state is true, and to report it."""
