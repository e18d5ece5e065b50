from .client import connect as connect
from .messages import OPEN as OPEN, MatchPlan as MatchPlan, SeatView as SeatView
from .server import MatchServer as MatchServer
from .store import MatchStore as MatchStore
