"""Matches over the network: every seat of a game is an address."""

from palestra_server.client import connect
from palestra_server.messages import OPEN, MatchPlan, SeatView
from palestra_server.server import MatchServer
from palestra_server.store import MatchStore

__all__ = ["OPEN", "MatchPlan", "MatchServer", "MatchStore", "SeatView", "connect"]
