"""A plugin that raises what Ctrl-C raises."""

raise KeyboardInterrupt
