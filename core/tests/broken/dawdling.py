"""A plugin that takes its time, and works."""

import time

from palestra import hookimpl

time.sleep(0.4)


@hookimpl
def palestra_agents():
    return []
