"""Plans: every field is explained, and every wrong one is named with what is accepted."""

import math
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec
import palestra
import pytest
from palestra import InvalidOption, MissingExtra, UnknownName
from palestra_training.crediting import open_credit
from palestra_training.losses import AVERAGES
from palestra_training.plan import TinyModel, TrainPlan, checked_plan, read_plan
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


SMALL = {
    "env": "games/LiarsDice-v0",
    "options": {"num_players": 3},
    "groups": 2,
    "group_size": 2,
    "tiny": {"layers": 1, "width": 16, "heads": 2},
}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seed": 2_000_000_000}, "seeds up to 2000000199"),
        ({"seed": 1_499_999_990, "dynamic_sampling": 3}, "seeds up to 1500000589"),
        ({"refused": math.nan}, "refused is nan"),
        ({"refused": -math.inf}, "refused is -inf"),
        ({"learning_rate": math.inf}, "learning_rate is inf"),
        ({"dynamic_sampling": math.inf}, "dynamic_sampling is inf"),
        ({"tis_cap": math.inf}, "tis_cap is inf"),  # JSON would keep it as none
        ({"evaluation": {"temperature": math.inf}}, "evaluation.temperature is inf"),
        ({"tiny": {"width": 18, "heads": 4}}, "multiple of 8"),
        ({"tiny": {"width": 6, "heads": 2}}, "multiple of 4"),
        ({"tiny": {"kind": "gpt2", "width": 6, "heads": 4}}, "multiple of 4"),
        ({"tiny": {"spread": 1.5}}, "spread"),
    ],
)
def test_numbers_that_no_run_can_use_are_refused(changes, said):
    with pytest.raises(InvalidOption, match=re.escape(said)):
        checked_plan(SMALL | changes)


def test_the_last_seeds_that_are_learned_from_are_accepted():
    plan = checked_plan(SMALL | {"seed": 1_499_999_800, "rounds": 100})
    assert plan.seed + plan.rounds * plan.groups == 1_500_000_000
    assert checked_plan(SMALL | {"tiny": {"kind": "gpt2", "width": 6, "heads": 2}}).tiny.width == 6


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"opponents": ["nobody"]}, "unknown agent 'nobody'"),
        ({"opponents": ["minimax"]}, "minimax"),  # not for dice
        ({"evaluation": {"opponents": ["random", "nobody"]}}, "unknown agent 'nobody'"),
        ({"evaluation": {"split": "nosplit"}}, "unknown split"),
        ({"evaluation": {"options": {"dices": 3}}}, "unexpected keyword argument 'dices'"),
        ({"evaluation": {"options": {"num_players": 4}}}, "of 4 seats and training of 3"),
        ({"hints": {"agent": "nobody"}}, "unknown agent 'nobody'"),
        ({"warm_up": {"agent": "nobody", "episodes": 3}}, "unknown agent 'nobody'"),
    ],
)
def test_who_cannot_play_is_named_before_anything_is_written(tmp_path, changes, said):
    with pytest.raises((InvalidOption, UnknownName), match=said):
        Trainer(checked_plan(SMALL | changes), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_replies_longer_than_the_context_are_refused(tmp_path):
    plan = SMALL | {"max_tokens": 64, "tiny": SMALL["tiny"] | {"context": 64}}
    with pytest.raises(InvalidOption, match="max_tokens is 64, and the model reads 64 tokens"):
        Trainer(checked_plan(plan), tmp_path / "run")


@pytest.mark.parametrize("targets", ["nothing", ""])
def test_adapters_of_modules_that_a_model_has_not_are_refused(tmp_path, targets):
    pytest.importorskip("peft")
    plan = SMALL | {"lora": {"rank": 2, "targets": targets}}
    with pytest.raises(InvalidOption, match=f"lora.targets is '{targets}'"):
        Trainer(checked_plan(plan), tmp_path / "run")
