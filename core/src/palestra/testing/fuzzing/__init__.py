"""Fuzzing an environment: random options, hostile actions and texts, and failing agents.

    palestra fuzz games/TicTacToe-v0 --minutes 5

draws cases, tries each in a process of its own under limits of time and memory, and shrinks what
fails to the smallest case that still fails. A case is data: `check(case)` raises what was found,
so that a finding becomes a test:

    from palestra.testing.fuzzing import Case, check

    def test_rows_of_hex() -> None:
        check(Case("games/Hex-v0", "options", options={"rows": "8.0"}))
"""

from palestra.testing.fuzzing.case import KINDS, Case, Finding, snippet
from palestra.testing.fuzzing.fuzzer import draw_cases, fuzz
from palestra.testing.fuzzing.trying import check

__all__ = ["KINDS", "Case", "Finding", "check", "draw_cases", "fuzz", "snippet"]
