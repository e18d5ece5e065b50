"""A town of many people in arrays: an epidemic, work, and a government."""
