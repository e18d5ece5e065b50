"""Probes: questions asked of any agent, with the order of options swapped and answers counted."""

from palestra_arena.probes.analysis import Shares, order_effect, overview, shares_of
from palestra_arena.probes.items import Item, ProbeSet, Question, questions_of, read_set, write_set
from palestra_arena.probes.run import Answer, ask
from palestra_arena.probes.scripted import Respondent
from palestra_arena.probes.tables import Table

__all__ = [
    "Answer",
    "Item",
    "ProbeSet",
    "Question",
    "Respondent",
    "Shares",
    "Table",
    "ask",
    "order_effect",
    "overview",
    "questions_of",
    "read_set",
    "shares_of",
    "write_set",
]
