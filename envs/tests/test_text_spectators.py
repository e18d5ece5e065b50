"""Pictures of talks, advice, questions and programs: what spectators see, and what seats do not."""

from __future__ import annotations

import palestra
import pytest
from palestra import Episode, Grid, Piece, Rng, Scene
from palestra.scene import Bars
from palestra.testing.subject import play_on
from palestra_envs.text.ml_engineering.game import Program


def boards(scene: Scene) -> list[Grid]:
    return [part for part in scene.all_parts() if isinstance(part, Grid)]


def pieces(grid: Grid) -> dict[tuple[int, int], Piece]:
    return {(r, c): p for r, row in enumerate(grid.cells) for c, p in enumerate(row) if p}


@pytest.mark.parametrize("options", [{}, {"remarks": 40, "slots": 10, "questions": 8}])
def test_a_memory_shows_what_is_out_of_date_to_spectators_alone(options: dict[str, int]) -> None:
    game = palestra.game("text/SharedMemory-v0", **options)
    stale = 0
    for seed in range(6):
        episode = Episode(game, seed)
        for _moment in play_on(episode, Rng(seed)):
            state = episode.state
            last = dict(state.remarks[: state.heard])  # by key what the friend said last
            (board,) = boards(episode.scene())
            drawn = pieces(board)
            assert len(drawn) == len(last)  # everything that was mentioned
            for (row, column), piece in drawn.items():
                key = 4 * row + column
                held = {
                    state.remarks[n] for n in state.slots if n >= 0 and state.remarks[n][0] == key
                }
                tints = {one.colour for one in piece.stack()}
                wanted = {"green" if value == last[key] else "red" for _, value in held}
                assert tints == (wanted or {"silver"})
                stale += "red" in tints
            for own in boards(episode.scene(0)):
                assert {p.colour for p in pieces(own).values()} <= {"green"}
            assert bool(boards(episode.scene(1))) == (state.heard == game.remarks)
    assert stale


@pytest.mark.parametrize(("scenario", "candour"), [("exercise", 0.65), ("education", 0.9)])
def test_answers_are_drawn_as_they_were_given_and_the_truth_for_spectators(
    scenario: str, candour: float
) -> None:
    game = palestra.game("text/Advice-v0", scenario=scenario, candour=candour, questions=17)
    for seed in range(6):
        episode, rng = Episode(game, seed), Rng(seed)
        while not episode.over:
            episode.act({0: episode.sample(0, rng)})
            said = [e.data for e in episode.transcript(0) if "said" in e.data][-12:]
            told = [game.kinds[one["attribute"]][one["said"]] for one in said]
            (seen,), (own,) = boards(episode.scene()), boards(episode.scene(0))
            assert "true" not in own.column_labels
            for grid in (seen, own):
                drawn = pieces(grid)
                row_of = {c: r for r, c in drawn if c < len(told)}
                assert [grid.row_labels[row_of[c]] for c in range(len(told))] == told
            assert {p.colour for p in pieces(own).values()} <= {0}
            true = [r // 2 for (r, c), p in pieces(seen).items() if p.label == "so"]
            assert true == [0, 1, 2]


@pytest.mark.parametrize("questions", [5, 24])
def test_a_row_of_questions_marks_right_answers_for_spectators(questions: int) -> None:
    game = palestra.game("text/MixedQuestions-v0", questions=questions)
    for seed in range(6):
        episode, rng, paid = Episode(game, seed), Rng(seed), []
        while not episode.over:
            at, before = episode.state.at, episode.returns[0]
            made = sum(episode.state.calls)
            episode.act({0: episode.sample(0, rng)})
            if episode.state.at > at:
                gained = episode.returns[0] - before + 0.05 * (sum(episode.state.calls) - made)
                paid.append(gained > 0)
            (seen,), (own,) = boards(episode.scene()), boards(episode.scene(0))
            drawn = [p.colour == "green" for (r, _), p in sorted(pieces(seen).items()) if r == 2]
            assert drawn == paid[len(paid) - len(drawn) :]
            assert not {"green", "red", "gold"} & {p.colour for p in pieces(own).values()}


def test_labels_are_green_as_far_as_the_accuracy_says() -> None:
    program = "submit([int(row[0] + row[1] >= 9) for row in load('test')])"
    for seed in range(4):
        episode = Episode(palestra.game("text/MLEngineering-v0", test_rows=47), seed)
        episode.act({0: Program(program)})
        _, labels = boards(episode.scene())
        tints = [piece.colour for piece in pieces(labels).values()]
        (bars,) = [part for part in episode.scene().all_parts() if isinstance(part, Bars)]
        accuracy = next(bar.value for bar in bars.bars if bar.label == "accuracy")
        assert len(tints) == 47
        assert tints.count("green") / 47 == pytest.approx(accuracy, abs=1e-3)
        assert set(tints) == {"green", "red"}
        assert boards(episode.scene(0)) == []
