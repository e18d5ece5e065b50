"""Agents of other frameworks on a seat: LangGraph, pydantic-ai, AutoGen and others.

`bridge` takes a framework's own agent. The class of each framework, in the module of its name, can
be subclassed.
"""

from palestra_agents.bridges.bridge import Answer, Bridge, Conversation, bridge

__all__ = ["Answer", "Bridge", "Conversation", "bridge"]
