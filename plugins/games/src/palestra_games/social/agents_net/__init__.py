"""AgentsNet: agents on a graph who hear only their neighbours solve a task of the whole graph."""
