"""Components bought one by one under a budget, after trials in a sandbox."""
