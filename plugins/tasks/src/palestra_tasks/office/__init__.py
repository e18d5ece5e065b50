"""Office work: lists to write and to bring up to date, with instructions in several places."""
