"""A travel desk: search its tables with tools and submit a plan day by day."""
