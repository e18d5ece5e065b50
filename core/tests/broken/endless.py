"""A plugin whose hook never ends, whatever is raised in it."""

from palestra import hookimpl


@hookimpl
def palestra_environments():
    while True:
        try:
            while True:
                pass
        except Exception:
            pass
