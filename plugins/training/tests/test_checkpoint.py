"""Checkpoints that are damaged or were changed: named, and nothing of them is used."""

import resource
import shutil
from contextlib import contextmanager

import pytest
import torch
from msgspec.structs import replace
from palestra import InvalidOption
from palestra.files import CannotWrite
from palestra_training.checkpoint import PICTURE, PLAN, STATE, State
from palestra_training.curves import draw_curve
from palestra_training.plan import Evaluation, TinyModel, TrainPlan
from palestra_training.trainer import Trainer

SMALL = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=1,
    groups=2,
    group_size=2,
    self_play=0.5,
    opponents=("random",),
    past=1,
    past_every=1,
    beta=0.1,
    tiny=TinyModel(layers=1, width=16, heads=2, context=128),
    evaluation=Evaluation(every=2, episodes=2),
    max_tokens=2,
)
# nothing played ahead, all starts, a credit without memory, nothing evaluated, versions unknown
FITS = [("behind", None), ("starts", []), ("credit", {}), ("curve", []), ("software", {})]
WRONG = [None, "x", -1, float("nan"), [], {}, [{}], [["x"]], {"x": 1}]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    trainer = Trainer(SMALL, tmp_path_factory.mktemp("checkpoint") / "run")
    trainer.run()
    return trainer.out


@pytest.fixture
def copied(run, tmp_path):
    """A copy of the run, and a function that changes its checkpoint and resumes it."""
    out = tmp_path / "run"
    shutil.copytree(run, out)

    def resume(change):
        state = torch.load(run / STATE, weights_only=True)
        change(state)
        torch.save(state, out / STATE)
        return Trainer(SMALL, out, resume=True)

    return resume


def test_the_run_as_it_is_resumes(copied):
    again = copied(lambda state: None)
    assert again.round == 1
    assert again.pool.state()["points"]  # the run met rivals, and what it learnt of them is kept


@pytest.mark.parametrize("name", State.__struct_fields__)
def test_a_field_that_is_missing_or_wrong_is_named(copied, name):
    with pytest.raises(InvalidOption, match=rf"state.*(?s:.*)`{name}`"):
        copied(lambda state: state.pop(name))
    for value in WRONG:
        if (name, value) not in FITS:
            with pytest.raises(InvalidOption, match=r"no checkpoint of this run|other versions"):
                copied(lambda state, value=value: state.update({name: value}))


def changed(place, value):
    """A change of the first of some weights."""

    def change(state):
        weights = state[place][0]
        name = next(iter(weights))
        weights[name] = value(weights[name])

    return change


@pytest.mark.parametrize("place", ["weights", "reference"])
@pytest.mark.parametrize(
    "value",
    [
        lambda old: old[:1],  # which would be copied to all rows
        lambda old: old.double(),
        lambda old: torch.full_like(old, float("nan")),
        lambda old: None,
    ],
)
def test_weights_of_another_form_are_not_taken(copied, place, value):
    with pytest.raises(InvalidOption, match=r"no checkpoint of this run"):
        copied(changed(place, value))


def test_moments_that_are_not_finite_are_not_taken(copied):
    def change(state):
        moments = next(iter(state["optimisers"][0]["state"].values()))
        moments["exp_avg"].fill_(float("inf"))

    with pytest.raises(InvalidOption, match=r"exp_avg of weight 0 is not finite"):
        copied(change)


def test_a_file_cut_anywhere_is_refused(run, tmp_path):
    whole = (run / STATE).read_bytes()
    shutil.copytree(run, tmp_path / "run")
    for share in range(0, 100, 7):
        (tmp_path / "run" / STATE).write_bytes(whole[: len(whole) * share // 100])
        with pytest.raises(InvalidOption, match="cannot be read"):
            Trainer(SMALL, tmp_path / "run", resume=True)


@pytest.mark.parametrize("part", ["weights", "reference", "exp_avg_sq"])
def test_a_number_that_was_changed_is_found(run, tmp_path, part):
    """One bit of a weight or moment: still finite and of the same form."""
    state = torch.load(run / STATE, weights_only=True)
    moments = state["optimisers"][0]["state"][0]
    kept = moments[part] if part in moments else next(iter(state[part][0].values()))
    written = kept.numpy().tobytes()
    shutil.copytree(run, tmp_path / "run")
    whole = bytearray((run / STATE).read_bytes())
    place = whole.index(written)
    whole[place + len(written) // 2] ^= 1
    (tmp_path / "run" / STATE).write_bytes(whole)
    with pytest.raises(InvalidOption, match=r"cannot be read: .* was changed after it was written"):
        Trainer(SMALL, tmp_path / "run", resume=True)


def test_a_run_remembers_how_it_fared_against_its_rivals(tmp_path):
    plan = replace(SMALL, self_play=0.0, opponents=("random", "first"), matching="pfsp", groups=6)
    trainer = Trainer(plan, tmp_path / "run")
    trainer.run()
    again = Trainer(plan, tmp_path / "run", resume=True)
    assert again.pool.state()["points"] == trainer.pool.state()["points"] != {}


@pytest.mark.parametrize(
    ("name", "said"), [("state.pt", "is missing"), ("plan.json", "is missing")]
)
def test_a_run_without_one_of_its_files_is_not_begun_anew(run, tmp_path, name, said):
    out = tmp_path / "run"
    shutil.copytree(run, out)
    (out / name).unlink()
    before = {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}
    for resume in (True, False):
        with pytest.raises(InvalidOption, match=said if resume or name == PLAN else "already"):
            Trainer(SMALL, out, resume=resume)
    assert before == {file.name: file.read_bytes() for file in out.iterdir() if file.is_file()}


def test_drafts_of_every_seat_are_removed(run, tmp_path):
    """A killed process leaves them; `model-0` and `model-1` are those of two seats."""
    plan = replace(SMALL, policies="seat")
    out = tmp_path / "run"
    Trainer(plan, out).run()
    whole = sorted(file.name for file in out.iterdir())
    for name in (".model-1-abcd1234", ".model-0-x_y2z3w4"):
        (out / name).mkdir()
        (out / name / "config.json").write_text("{")
    Trainer(plan, out, resume=True)
    assert sorted(file.name for file in out.iterdir()) == whole


@contextmanager
def files_of_at_most(size):
    """Let no file of this process grow beyond a number of bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [400, 5_000, 20_000, 60_000])
def test_a_full_disk_is_named_and_the_run_resumes(run, tmp_path, size):
    out = tmp_path / "run"
    with pytest.raises(CannotWrite, match="cannot write"), files_of_at_most(size):
        Trainer(SMALL, out).run()
    assert not [file for file in out.iterdir() if file.name.startswith(".")]
    again = Trainer(SMALL, out, resume=(out / PLAN).exists())
    again.run()
    kept = torch.load(run / STATE, weights_only=True)["weights"][0]
    assert all(torch.equal(kept[name], one) for name, one in again.model.weights().items())


def test_a_picture_is_replaced_whole(run, tmp_path, monkeypatch):
    figure = pytest.importorskip("matplotlib.figure").Figure
    trainer = Trainer(SMALL, tmp_path / "run")
    trainer.run()
    picture = trainer.out / PICTURE
    before = picture.read_bytes()
    assert before.endswith(b"IEND\xaeB`\x82")

    def stop_halfway(self, file, **options):
        with open(file, "wb") as opened:
            opened.write(before[:100])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(figure, "savefig", stop_halfway)
    with pytest.raises(CannotWrite, match=r"curve\.png"):
        draw_curve(trainer.curve, picture)
    assert picture.read_bytes() == before
