"""Every game through the conformance kit."""

from palestra.testing import conformance

test_conformance = conformance("palestra_games")
