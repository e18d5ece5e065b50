"""`python -m palestra` is the command `palestra`."""

from palestra.cli import main

main()
