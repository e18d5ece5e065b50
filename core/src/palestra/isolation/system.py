"""Whether this system can shut an agent in; it imports nothing that a system may lack."""

from __future__ import annotations

import platform
import sys

from palestra.kernel.errors import InvalidOption
from palestra.sandbox.run import GUARDED_MACHINES


def unwalled_system() -> str:
    """Why this system cannot shut an agent in, in a sentence; empty if it can."""
    if not sys.platform.startswith("linux") or platform.machine() not in GUARDED_MACHINES:
        return (
            f"agents are isolated on Linux on {' or '.join(GUARDED_MACHINES)}, not on "
            f"{platform.system()} on {platform.machine()}"
        )
    from palestra.isolation.wall import landlock_version

    if not landlock_version():
        return "agents are isolated with Landlock, which this kernel does not offer (Linux 5.13)"
    return ""


def require_wall() -> None:
    """Raise `InvalidOption` where the kernel cannot shut a process in."""
    if why := unwalled_system():
        raise InvalidOption(
            f"{why}; leave --isolate out for agents that you trust, "
            "and play a file that you trust with --no-isolate (isolate=False)"
        )
