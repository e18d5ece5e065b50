"""Plans: every field is explained, and every wrong one is named with what is accepted."""

import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec
import palestra
import pytest
from palestra import InvalidOption, MissingExtra
from palestra_training.crediting import open_credit
from palestra_training.losses import AVERAGES
from palestra_training.plan import TinyModel, TrainPlan, read_plan
from palestra_training.trainer import Trainer

PAGE = Path(__file__).parents[3] / "docs" / "training-llm.md"


def fields(kind=TrainPlan, prefix=""):
    """Every field that is not itself a table, with its type and default."""
    for field in msgspec.structs.fields(kind):
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            yield from fields(field.type, f"{field.name}.")
        else:
            made = field.default_factory is not msgspec.NODEFAULT
            default = field.default_factory() if made else field.default
            yield prefix + field.name, get_type_hints(kind)[field.name], default


EXAMPLES = sorted((PAGE.parents[1] / "examples").glob("train_llm_*.toml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_example_plans_are_read_and_name_what_there_is(file):
    plan = read_plan(file)
    assert not palestra.make(plan.env, view="episode", seed=0, **plan.options).over
    for agent in (*plan.opponents, *plan.evaluation.opponents):
        palestra.make_agent(agent).close()
    open_credit(plan.credit)


NAMED = [
    (name, get_args(kind), default)
    for name, kind, default in fields()
    if get_origin(kind) is Literal
]


def test_the_page_has_every_field_with_its_default():
    section = PAGE.read_text().split("## All fields of a run")[1].split("\n## ")[0]
    shown = dict(re.findall(r"^\| `([\w.]+)` \| (.+?) \| .+ \|$", section, re.MULTILINE))
    for name, _, default in fields():
        words = {None: "none", msgspec.NODEFAULT: "needed"}
        plain = default is None or default is msgspec.NODEFAULT
        said = words[default] if plain else f"`{msgspec.json.encode(default).decode()}`"
        assert shown.pop(name) == said, name
    assert not shown


def write(folder, name, value):
    table, _, field = name.rpartition(".")
    head = f"[{table}]\n" if table else ""
    file = folder / "run.toml"
    text = msgspec.json.encode(value).decode()
    file.write_text(f'env = "games/KuhnPoker-v0"\n{head}{field} = {text}\n')
    return file


@pytest.mark.parametrize(("name", "accepted", "default"), NAMED)
@pytest.mark.parametrize("value", ["chatt", 5, True])
def test_a_value_that_is_none_of_those_accepted_is_named_with_them(
    tmp_path, name, accepted, default, value
):
    assert default in accepted
    with pytest.raises(InvalidOption) as raised:
        read_plan(write(tmp_path, name, value))
    said = str(raised.value)
    assert f"{name} is {value!r}; choose from: " in said
    assert all(repr(one) in said for one in accepted)


@pytest.mark.parametrize("name", [name for name, _, default in fields() if default != {}])
def test_every_field_of_a_wrong_type_is_named(tmp_path, name):
    file = tmp_path / "run.json"
    table, _, field = name.rpartition(".")
    wrong = {field: {"a": []}}
    plan = {"env": "games/KuhnPoker-v0"} | ({table: wrong} if table else wrong)
    file.write_bytes(msgspec.json.encode(plan))
    with pytest.raises(InvalidOption, match=rf"run\.json: .*\b{re.escape(name)}\b"):
        read_plan(file)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"prompt": "chatt"}, "prompt is 'chatt'; choose from: 'chat', 'raw'"),
        ({"rounds": 0}, ">= 1"),
        ({"learning_rate": "fast"}, "Expected `float`"),
    ],
)
def test_a_plan_made_in_python_is_checked_before_anything_is_written(tmp_path, changes, why):
    with pytest.raises(InvalidOption, match=why):
        Trainer(TrainPlan(env="games/KuhnPoker-v0", **changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_policy_for_illegal_moves_is_read_at_once(tmp_path):
    with pytest.raises(InvalidOption, match="unknown invalid-move policy 'retri:2'; choose from"):
        read_plan(write(tmp_path, "invalid", "retri:2"))


def test_averages_are_those_of_the_losses():
    assert {name: accepted for name, accepted, _ in NAMED}["average"] == AVERAGES


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"engine": "vlm"}, "engine is 'vlm'; choose from: 'transformers', 'vllm'"),
        ({"vllm": {"seed": 1}}, r'\[vllm\] has options, but engine is not "vllm"'),
        ({"engine": "vllm", "ahead": 1}, "ahead = 1 plays with weights of its own"),
        ({"tis_cap": 0.0}, "> 0"),
    ],
)
def test_an_engine_that_cannot_play_the_plan_is_refused(tmp_path, changes, why):
    with pytest.raises(InvalidOption, match=why):
        Trainer(TrainPlan(env="games/KuhnPoker-v0", **changes), tmp_path / "run")


def test_an_engine_that_is_not_installed_is_named(tmp_path):
    if find_spec("vllm"):
        pytest.skip("vLLM is installed; agents/tests/vllm/learning.py plays with it")
    plan = TrainPlan(
        env="games/KuhnPoker-v0",
        engine="vllm",
        tiny=TinyModel(layers=1, width=16, heads=2, context=128),
    )
    with pytest.raises(MissingExtra, match=r'pip install "palestra-agents\[vllm\]"'):
        Trainer(plan, tmp_path / "run")
