"""Every site and every world of tools through the conformance kit."""

from __future__ import annotations

from palestra.testing import conformance

test_conformance = conformance("palestra_web")
