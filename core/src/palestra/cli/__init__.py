"""The command line."""


def main() -> None:
    """Run the program."""
    from palestra.cli.app import app

    app()
