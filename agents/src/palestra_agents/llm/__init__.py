"""Language models as agents."""

from palestra_agents.llm.agent import LLMAgent

__all__ = ["LLMAgent"]
