"""CFCQL: its terms against scipy and by hand, and what it learns from narrow records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import palestra
import pytest
import torch
from learner_worlds import Bits
from palestra import ArrayGame, ArrayState, Decision, InvalidOption, Out, Turn
from palestra.cli import main
from palestra.records.record import write_records
from palestra.rules import all_act, finish
from palestra_agents.learners.offline import Offline
from palestra_agents.learners.training import make_learner
from palestra_agents.ppo.training import one_thread
from scipy.special import logsumexp, softmax
from scipy.stats import entropy


@pytest.fixture(autouse=True)
def single_thread() -> Iterator[None]:
    with one_thread():
        yield


class PlainState(ArrayState):
    pass


@dataclass(frozen=True)
class Line(ArrayGame[PlainState]):
    """One step: seat i is paid 1 for action 0 and 2 for action 1; any other one costs the team 10.

    Seat i has i + 2 actions, so that the last one has some that the records never hold.
    """

    num_players: int = 4

    rules_text = "A line."
    order = "simultaneous"
    payoffs = "general"
    num_actions = 5
    observation_shape = (1,)
    deterministic = True

    @property
    def payoff_bounds(self) -> tuple[float, float]:
        return (-100.0, 2.0)

    def describe(self, state: PlainState, seat: int) -> str:
        return "One step."

    @staticmethod
    def init_state(config: Any, state: PlainState) -> None:
        all_act(state)

    @staticmethod
    def apply_actions(config: Any, state: PlainState, actions: Any, out: Out) -> None:
        for seat in range(config.num_players):
            out.rewards[seat, 0] = 1.0 + actions[seat] if actions[seat] < 2 else -10.0
        finish(state)

    @staticmethod
    def write_legal_mask(config: Any, state: PlainState, seat: int, mask: Any) -> None:
        mask[: seat + 2] = 1

    @staticmethod
    def write_observation(config: Any, state: PlainState, seat: int, obs: Any) -> None:
        obs[0] = 1


def mostly_first(turn: Turn) -> Decision:
    """Takes action 0 seven times of ten, else 1, and never another."""
    return Decision(int(turn.rng(0, 0).random() > 0.7))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records = palestra.play(Line(), agents=mostly_first, episodes=300, seed=1)
    return write_records(tmp_path_factory.mktemp("records") / "line.jsonl", records)


def learner(recorded: Path, game: Any = None, **settings: Any) -> Offline:
    chosen: dict[str, Any] = {
        "records": str(recorded),
        "batch_size": 64,
        "hidden": 16,
        "learning_rate": 5e-3,
    }
    return Offline(game or Line(), compiled=False, num_envs=2, **(chosen | settings))


def batch(trained: Offline) -> dict[str, torch.Tensor]:
    trained.remember()
    return trained.memory.sample(7)


@pytest.mark.parametrize("mixer", ["vdn", "qmix"])
def test_terms_are_those_of_the_paper(recorded: Path, mixer: str) -> None:
    """Departures one at a time, weights by scipy's divergence, the joint term by enumeration."""
    trained = learner(recorded, mixer=mixer, temperature=1.7, draws=60_000)
    rows = batch(trained)
    with torch.no_grad():
        values = trained.values(rows["seen"], rows["masks"])
        taken = values.gather(-1, rows["actions"].unsqueeze(-1)).squeeze(-1)
        raised = trained.departures(values, taken, rows)
        weights = trained.weights_of(raised, rows).numpy()
        joint = trained.joint(values, rows).numpy()
        usual = trained.values(rows["seen"], rows["masks"], trained.behaviour).numpy()

        def team(row: int, actions: Any) -> float:
            picked = torch.tensor([[float(values[row, i, a]) for i, a in enumerate(actions)]])
            return float(trained.team(picked, rows["seen"][row : row + 1], trained.mixer))

        for row in range(3):
            held = rows["actions"][row].tolist()
            apart = []
            for seat in range(4):
                legal = range(seat + 2)
                by_hand = [team(row, [*held[:seat], a, *held[seat + 1 :]]) for a in legal]
                assert np.allclose(raised[row, seat, : seat + 2], by_hand, atol=1e-5)
                assert (raised[row, seat, seat + 2 :] < -1e8).all()
                apart.append(entropy(softmax(by_hand), softmax(usual[row, seat, : seat + 2])))
            assert np.allclose(weights[row], softmax(1.7 * np.array(apart)), atol=1e-4)
            ways = product(*(range(seat + 2) for seat in range(4)))
            assert joint[row] == pytest.approx(logsumexp([team(row, w) for w in ways]), abs=0.06)


def test_one_seats_term_does_not_grow_with_the_seats_and_the_joint_one_does(tmp_path: Path) -> None:
    """With VDN the joint term is the sum of the seats', the counterfactual one their mean."""
    for seats in (2, 4):
        game = Line(num_players=seats)
        records = palestra.play(game, agents=mostly_first, episodes=20, seed=2)
        path = write_records(tmp_path / f"{seats}.jsonl", records)
        losses = {}
        for kind in ("counterfactual", "joint", "none"):
            trained = learner(path, game, kind=kind, mixer="vdn", draws=60_000)
            losses[kind] = trained.loss(batch(trained)).item()
        rows = batch(trained)
        one = losses["counterfactual"] - losses["none"]
        together = losses["joint"] - losses["none"]
        assert together == pytest.approx(seats * one, abs=0.06)
        assert len(rows["seen"]) == 7


def mean_return(trained: Offline, updates: int) -> float:
    for _ in range(updates):
        trained.update()
    seen, masks = trained.field.view()
    return sum(1.0 + a if a < 2 else -10.0 for a in trained.act(seen, masks)[0].tolist())


@pytest.mark.exhaustive
def test_it_keeps_to_the_records_and_improves_on_them(recorded: Path) -> None:
    """The best that records of actions 0 and 1 teach is 1 everywhere: 8. A copy gets 4."""
    for seed in (0, 1):
        assert mean_return(learner(recorded, seed=seed), 300) == 8.0
        assert mean_return(learner(recorded, seed=seed, kind="clone"), 300) == 4.0
    gone_astray = [mean_return(learner(recorded, kind="none", seed=s), 300) for s in range(3)]
    assert min(gone_astray) < 0


def test_rows_are_what_was_played(tmp_path: Path) -> None:
    """Every row of a longer game with masks, against the records' own numbers."""
    records = palestra.play("grid/Foraging-v0", agents="random", episodes=3, seed=4, max_steps=9)
    path = write_records(tmp_path / "foraging.jsonl", records)
    trained = Offline(
        "grid/Foraging-v0", {"max_steps": 9}, compiled=False, records=str(path), num_envs=1
    )
    trained.remember()
    rows = trained.memory.rows
    steps = [step for record in records for step in record.steps if step.turns]
    assert len(rows["seen"]) == len(steps)
    for at, step in enumerate(steps):
        assert rows["actions"][at].tolist() == [turn.action for turn in step.turns]
        assert all(rows["masks"][at, turn.seat, turn.action] for turn in step.turns)
        paid = [sum(step.rewards.get(seat, {}).values()) for seat in range(trained.field.seats)]
        assert rows["rewards"][at].tolist() == pytest.approx(paid)
    again = rows["seen"][1 : len(records[0].steps)]
    assert torch.equal(again, rows["after"][: len(records[0].steps) - 1])


def test_records_that_do_not_fit_are_refused(recorded: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="name their file"):
        make_learner("cfcql", Bits(), {}, {}, compiled=False).update()
    with pytest.raises(InvalidOption, match="there is no file"):
        learner(tmp_path / "none.jsonl").update()
    with pytest.raises(InvalidOption, match="num_players"):
        learner(recorded, Line(num_players=3)).update()
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(InvalidOption, match="no step to learn from"):
        learner(tmp_path / "empty.jsonl").update()


def test_it_is_trained_resumed_and_played_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = palestra.play("grid/Foraging-v0", agents="random", episodes=4, seed=4)
    path = write_records(tmp_path / "played.jsonl", records)
    typed = ["train", "grid/Foraging-v0", "--algo", "cfcql", "--set", f"records={path}"]
    typed += ["--set", "batch_size=16", "--reports", "1", "--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit) as done:
        main([*typed, "--steps", "20"])
    assert not done.value.code
    (record,) = palestra.play("grid/Foraging-v0", agents=f"marl:{tmp_path / 'run'}", seed=3)
    assert record.outcome is not None
    with path.open("a", encoding="utf-8") as more:
        more.write(path.read_text("utf-8").splitlines()[0] + "\n")
    with pytest.raises(SystemExit) as done:
        main([*typed, "--steps", "40", "--resume"])
    assert done.value.code == 2
    assert "has changed since this run began" in capsys.readouterr().err
