"""Every site and every world of tools through the conformance kit."""

from __future__ import annotations

from palestra.testing import conformance

VARIANTS = {
    "web/Shop-v0": {"profile": True, "window": 12, "distill": "inputs", "products": 2000},
    "web/SupportDesk-v0": {"num_players": 4, "limit": 20},
    "web/Shelf-v0": {"num_players": 2},
    "web/Widgets-v0": {"widget": "guess-number", "window": 10},
    "web/Desktop-v0": {"level": 5, "window": 12},
    "web/CRMDesk-v0": {"desk_seed": 3, "cases": 300, "kind": "top-issue"},
    "web/CRMCalls-v0": {"desk_seed": 3, "cases": 300, "max_calls": 5},
    "web/AppWorld-v0": {"kind": "sick-day", "window": 12, "limit": 20},
}

test_conformance = conformance("palestra_web", variants=VARIANTS)
