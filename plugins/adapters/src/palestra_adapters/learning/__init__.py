"""Agents in which a language model proposes or instructs, and reinforcement learning decides."""
