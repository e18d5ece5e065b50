"""Lets worker processes import the agents that the tests play with."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
