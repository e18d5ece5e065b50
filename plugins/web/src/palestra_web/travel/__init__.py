"""A travel desk: search its tables through tools and hand in a plan day by day."""
