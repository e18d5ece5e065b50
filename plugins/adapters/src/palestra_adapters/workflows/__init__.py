"""Agents as data: a workflow is a list of steps, and `workflow` plays it."""
