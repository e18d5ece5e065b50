"""Small tasks on single widgets, after MiniWoB."""
