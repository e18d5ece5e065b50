"""Small tasks on single widgets, as MiniWoB posed them."""
