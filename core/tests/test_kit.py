"""The conformance kit finds what is wrong: games broken on purpose, one fault each."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import palestra
import pytest
from palestra import EnvSpec, Event, Grammar, OneOf, Option, Outcome, Rng, Scene, Step, only
from palestra.testing import endurance
from palestra.testing.golden import write_golden
from palestra.testing.kit import CHECKS, check, run_check
from palestra.testing.subject import Subject
from palestra_envs.text.commons.game import Commons
from palestra_envs.text.negotiation.game import Negotiation, NegotiationState, Propose
from palestra_envs.text.shared_memory import SharedMemory
from palestra_games.board.tic_tac_toe import TicTacToe
from palestra_games.card.kuhn_poker import KuhnPoker
from palestra_games.dilemmas.donor_game import DonorGame
from palestra_games.dilemmas.matrix_game.game import MatrixGame
from palestra_markets.language.persuasion import Persuasion

BOARD = EnvSpec("broken/Board-v0", "", (2, 2), "sequential", "zero-sum")
TEXT = EnvSpec("broken/Text-v0", "", (2, 2), "sequential", "general")
LEFT: list[object] = []
PRICES = [10, 20]
PICTURES: list[object] = []
BUFFER = np.zeros(1, np.uint8)


@dataclass(frozen=True)
class ShowsTheCard(KuhnPoker):
    def describe(self, state: Any, seat: int) -> str:
        return f"{super().describe(state, seat)} He has {state.deck[1 - seat]}."


@dataclass(frozen=True)
class ShufflesTheTruth(KuhnPoker):
    """Whoever chooses the random numbers learns from what is imagined which cards there are."""

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        copy = self.clone(state)
        if rng.below(2):
            copy.deck[[1 - seat, 2]] = state.deck[[2, 1 - seat]]
        return copy


@dataclass(frozen=True)
class ImaginesWhatIsKept(SharedMemory):
    """The retriever imagines the notes that the builder has really kept."""

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        imagined = super().determinize(state, seat, rng)
        imagined.slots = state.slots
        return imagined


@dataclass(frozen=True)
class KeepsTheDeal(KuhnPoker):
    """What is imagined has the cards that were really dealt."""

    def determinize(self, state: Any, seat: int, rng: Rng) -> Any:
        return self.clone(state)


@dataclass(frozen=True)
class HidesNothing(KuhnPoker):
    """Says that everybody sees all cards."""

    perfect_information = True


@dataclass(frozen=True)
class LeavesNothingToChance(DonorGame):
    """Says that there is no chance after the start; pairs are drawn in every round."""

    deterministic = True


@dataclass(frozen=True)
class OneAfterTheOther(MatrixGame):
    """Says that one seat moves at a time."""

    order = "sequential"


@dataclass(frozen=True)
class MovesAtOnce(TicTacToe):
    """Says that the seats move at once."""

    order = "simultaneous"


@dataclass(frozen=True)
class PaysWithoutAName(Negotiation):
    reward_terms = ("something",)


@dataclass(frozen=True)
class TellsTheNotes(SharedMemory):
    """What the builder keeps is named in an event that the other reads."""

    def step(self, state: Any, actions: Mapping[int, Any]) -> Step:
        step = super().step(state, actions)
        told = tuple(Event(e.kind, f"{e.text} {state.slots}", e.data) for e in step.events)
        return Step(step.rewards, step.costs, told)


@dataclass(frozen=True)
class LeaksInTheArray(KuhnPoker):
    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[state.deck[1 - seat]] = 1


@dataclass(frozen=True)
class TellsEverybody(Negotiation):
    def opening(self, state: NegotiationState) -> list[Event]:
        return [Event(e.kind, e.text, e.data) for e in super().opening(state)]


@dataclass(frozen=True)
class LendsItsPrices(Negotiation):
    """Its grammar holds a list that all its episodes share."""

    def legal(self, state: NegotiationState, seat: int) -> Grammar:
        return Grammar((Option(Propose, {"price": OneOf(PRICES)}),))  # type: ignore[arg-type]


@dataclass(frozen=True)
class LendsItsPicture(TicTacToe):
    """Its pictures are one list, which whoever looks can write into."""

    def scene(self, state: Any, seat: int | None = None) -> Scene:
        return Scene("", PICTURES)  # type: ignore[arg-type]


@dataclass(frozen=True)
class RepeatsSecrets(Negotiation):
    def describe(self, state: NegotiationState, seat: int) -> str:
        other = self.opening(state)[2 - seat]
        return f"{super().describe(state, seat)}\n{other.text}"


@dataclass(frozen=True)
class ReadsWhatWasBefore(Commons):
    """Whoever joins late reads all that was said."""

    newcomer: int = 2
    rounds: int = 4

    def _hearers(self, state: Any) -> None:
        return None


@dataclass(frozen=True)
class Village(DonorGame):
    num_players: int = 4
    rounds: int = 1
    generations: int = 3


@dataclass(frozen=True)
class ShowsOldPay(Village):
    """The position says what was paid in generations before."""

    def describe(self, state: Any, seat: int) -> str:
        return f"{super().describe(state, seat)} Paid before: {state.paid}."


@dataclass(frozen=True)
class TellsThePast(Village):
    """The event that seats newcomers says how rich those before them were."""

    def _next_generation(self, state: Any) -> list[Event]:
        over, rich, *events = super()._next_generation(state)
        told = (msgspec.structs.replace(e, text=f"{rich.text} {e.text}") for e in events)
        return [over, rich, *told]


@dataclass(frozen=True)
class WelcomesLate(Village):
    """Newcomers may not read the event that seats them."""

    def _next_generation(self, state: Any) -> list[Event]:
        return [
            msgspec.structs.replace(e, audience=only()) if e.kind == "newcomer" else e
            for e in super()._next_generation(state)
        ]


@dataclass(frozen=True)
class RemembersWords(Persuasion):
    """A new buyer reads which product was the last."""

    myopic: bool = True

    def _remembers(self, seat: int) -> bool:
        return True


@dataclass(frozen=True)
class KeepsQuiet(Village):
    """Newcomers come, and the game says that none do."""

    @property
    def has_newcomers(self) -> bool:
        return False


@dataclass(frozen=True)
class Expects(Village):
    """Says that newcomers come, and none do."""

    generations: int = 1

    @property
    def has_newcomers(self) -> bool:
        return True


@dataclass(frozen=True)
class SharesState(Negotiation):
    def clone(self, state: NegotiationState) -> NegotiationState:
        return state


@dataclass(frozen=True)
class DrawsFromTheProcess(Negotiation):
    def initial_state(self, seed: int | None = None) -> NegotiationState:
        return super().initial_state(random.randrange(1_000))


@dataclass(frozen=True)
class MaskTooWide(TicTacToe):
    def action_mask(self, state: Any, seat: int) -> Any:
        return np.ones(9, np.int8)


@dataclass(frozen=True)
class WritesWhatItCannotRead(TicTacToe):
    def action_text(self, state: Any, seat: int, action: int) -> str:
        return "somewhere"


@dataclass(frozen=True)
class PaysTooMuch(Negotiation):
    def step(self, state: NegotiationState, actions: Mapping[int, Any]) -> Step:
        step = super().step(state, actions)
        return msgspec.structs.replace(step, rewards={0: {"deal": 99.0}, 1: {"deal": 99.0}})


@dataclass(frozen=True)
class SaysItIsOverBefore(Negotiation):
    def outcome(self, state: NegotiationState) -> Outcome | None:
        return super().outcome(state) or Outcome(("win", "loss"), (1.0, -1.0))


@dataclass(frozen=True)
class LeavesItsSpace(TicTacToe):
    @staticmethod
    def write_observation(config: Any, state: Any, seat: int, view: Any) -> None:
        view[0, 0, 0] = 7


@dataclass(frozen=True)
class Hoarder(Negotiation):
    """Keeps something of every game."""

    def initial_state(self, seed: int | None = None) -> NegotiationState:
        LEFT.append(bytearray(100))
        return super().initial_state(seed)


@dataclass(frozen=True)
class Swelling(Negotiation):
    """Writes every game into one buffer."""

    def initial_state(self, seed: int | None = None) -> NegotiationState:
        BUFFER.resize(BUFFER.size + 200, refcheck=False)
        return super().initial_state(seed)


@dataclass(frozen=True)
class CountsTheBoard(TicTacToe):
    """Leaves out of its anchors what decides which moves are legal."""

    counters = ("board",)


@dataclass(frozen=True)
class KeysTheTurn(Negotiation):
    """Says that the turn is a counter, and keeps it in its anchors."""

    def anchor(self, state: NegotiationState, seat: int) -> bytes:
        return self.state_key(state, seat)


@pytest.mark.parametrize(
    ("game", "name", "says"),
    [
        (CountsTheBoard, "anchors_name_decisions", "['legal moves'] differ at one anchor"),
        (KeysTheTurn, "anchors_name_decisions", "raising the counters changes the anchor"),
        (ShowsTheCard, "secrets_stay_hidden", "describe of player"),
        (LeaksInTheArray, "secrets_stay_hidden", "observation of player"),
        (ShowsTheCard, "transcripts_keep_secrets", "describe of player"),
        (TellsEverybody, "transcripts_keep_secrets", "opening betrays"),
        (ReadsWhatWasBefore, "newcomers_start_afresh", "could read what was before"),
        (ShowsOldPay, "newcomers_start_afresh", "in a world with another past they see something"),
        (TellsThePast, "newcomers_start_afresh", "in the same position after another past"),
        (WelcomesLate, "newcomers_start_afresh", "says so is not the first they read"),
        (
            RemembersWords,
            "newcomers_start_afresh",
            "describe, prompt, key, observation tell what was before",
        ),
        (KeepsQuiet, "newcomers_start_afresh", "say so with has_newcomers"),
        (Expects, "newcomers_start_afresh", "nobody joined in 12 games"),
        (
            ShufflesTheTruth,
            "imagined_worlds_keep_secrets",
            "Sort what is hidden before you shuffle",
        ),
        (HidesNothing, "information_is_declared", "sees state.deck"),
        (LeavesNothingToChance, "chance_is_declared", "set deterministic = False"),
        (OneAfterTheOther, "seats_move_as_declared", "seats [0, 1] move at once"),
        (MovesAtOnce, "seats_move_as_declared", "declare 'sequential'"),
        (PaysWithoutAName, "terms_are_declared", "are not among reward_terms"),
        (TellsTheNotes, "steps_tell_no_secret", "events of player"),
        (KeepsTheDeal, "imagined_worlds_keep_secrets", "which differ in state.deck["),
        (ImaginesWhatIsKept, "imagined_worlds_keep_secrets", "played another move at step"),
        (LendsItsPrices, "turns_give_what_is_their_own", "writing into turn.legal of seat 0"),
        (LendsItsPicture, "turns_give_what_is_their_own", "changes ['scene'] in this episode"),
        (RepeatsSecrets, "private_events_stay_private", "reads 'To you"),
        (SharesState, "clone_is_independent", "changed the original"),
        (DrawsFromTheProcess, "seeds_decide", "random generator"),
        (DrawsFromTheProcess, "record_replays_exactly", "the same cause as in seeds_decide"),
        (MaskTooWide, "masks_agree", "mask"),
        (WritesWhatItCannotRead, "masks_agree", "somewhere"),
        (PaysTooMuch, "ends_are_told", "payoff_bounds"),
        (SaysItIsOverBefore, "ends_are_told", "outcome before the end"),
        (LeavesItsSpace, "numbers_stay_in_space", "is not in"),
        (Hoarder, "resets_leave_nothing", "objects behind"),
        (Swelling, "resets_leave_nothing", "bytes behind"),
    ],
)
def test_a_fault_is_found_and_named(game: Any, name: str, says: str) -> None:
    spec = BOARD if issubclass(game, palestra.ArrayGame) else TEXT
    subject = Subject(spec)
    subject.__dict__["game"] = game()
    random.seed(3)  # a fault that is a matter of luck shows the same way every time
    verdict = run_check(subject, name)
    LEFT.clear()
    assert verdict.status == "failed", verdict
    assert says in verdict.detail


def test_growth_is_found_without_a_c_library_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endurance, "_heap_counter", lambda: None)
    test_a_fault_is_found_and_named(Swelling, "resets_leave_nothing", "bytes behind")


def test_declared_facts_are_checked() -> None:
    real = next(s for s in palestra.specs() if s.id == "games/TicTacToe-v0")
    for wrong in (
        replace(real, moves="simultaneous"),
        replace(real, payoffs="common"),
        replace(real, players=(3, 4)),
    ):
        verdict = run_check(Subject(wrong), "facts_are_true")
        assert verdict.status == "failed"


def test_a_split_that_cannot_be_made_is_found() -> None:
    spec = next(s for s in palestra.specs() if s.id == "games/Hex-v0")
    broken = replace(spec, splits={"small": {"board_size": 5}, "wrong": {"rows": 5}})
    verdict = run_check(Subject(broken), "splits_play")
    assert verdict.status == "failed"
    assert "'rows'" in verdict.detail


def test_an_unknown_check_names_the_others() -> None:
    with pytest.raises(palestra.UnknownName, match="masks_agree"):
        check("games/TicTacToe-v0", only=["mask_agrees"])


@pytest.mark.parametrize("place", ["other bytes", "a pipe", "a folder", "a device without end"])
def test_a_golden_transcript_that_cannot_be_read_is_named(tmp_path: Path, place: str) -> None:
    spec = next(s for s in palestra.specs() if s.id == "games/TicTacToe-v0")
    subject, path = Subject(spec, golden=tmp_path), tmp_path / "TicTacToe-v0.txt"
    if place == "other bytes":
        path.write_bytes(b"\xff\xfe")
    elif place == "a pipe":
        os.mkfifo(path)
    elif place == "a folder":
        path.mkdir()
    else:
        path.symlink_to("/dev/zero")
    verdict = run_check(subject, "matches_golden_transcript")
    assert verdict.status == "failed"
    assert f"{path} cannot be read" in verdict.detail


def test_a_golden_transcript_is_written_once_and_compared(tmp_path: Path) -> None:
    spec = next(s for s in palestra.specs() if s.id == "games/TicTacToe-v0")
    subject = Subject(spec, golden=tmp_path)
    assert run_check(subject, "matches_golden_transcript").status == "failed"
    path, wrote = write_golden(subject)
    assert wrote
    assert run_check(subject, "matches_golden_transcript").status == "passed"
    assert write_golden(subject) == (path, False)
    path.write_text(path.read_text().replace("player_0 plays", "player_0 takes"))
    verdict = run_check(subject, "matches_golden_transcript")
    assert verdict.status == "failed"
    assert "takes" in verdict.detail


def test_every_check_says_what_it_checks() -> None:
    assert all(function.__doc__ for function in CHECKS.values())
    assert only(1).__class__ is frozenset
