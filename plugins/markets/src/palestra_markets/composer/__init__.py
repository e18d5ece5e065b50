"""Components offered one by one and bought under a budget, after trials in a sandbox."""
