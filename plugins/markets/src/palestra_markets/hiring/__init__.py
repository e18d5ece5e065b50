"""A principal pays experts to find out what is the case, and to say so."""
