"""Chat templates of many kinds: those that only append are exact, the others are named at once."""

import pytest
from msgspec.structs import replace
from palestra import InvalidOption
from palestra.agents.models import Message, Request
from palestra.llm.tokens import check_template, read_prompt
from palestra_training.checkpoint import PLAN
from palestra_training.plan import Evaluation, TinyModel, TrainPlan
from palestra_training.tiny import make_tiny
from palestra_training.trainer import Trainer
from transformers import AutoTokenizer

LOOP, END = "{% for m in messages %}", "{% endfor %}{% if add_generation_prompt %}<a>{% endif %}"
APPENDING = {
    "roles": LOOP + "<{{ m.role[0] }}>{{ m.content }}\n" + END,
    "turn numbers": LOOP
    + "<{{ loop.index }}:{{ m.role[0] }}>{{ m.content }}\n"
    + END.replace("<a>", "<{{ messages|length + 1 }}:a>"),
    "system first": "{% if messages[0].role != 'system' %}<s>Help.\n{% endif %}"
    + LOOP
    + "<{{ m.role[0] }}>{{ m.content }}\n"
    + END,
    "end marks": LOOP + "<{{ m.role[0] }}>{{ m.content }}<end>\n" + END,
}
CHANGING = {
    "message count": "{{ messages|length }}\n" + APPENDING["roles"],
    "system in the last question": LOOP
    + "{% if m.role != 'system' %}<{{ m.role[0] }}>"
    + "{% if loop.last and messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}"
    + "{{ m.content }}\n{% endif %}"
    + END,
    "last two alone": APPENDING["roles"].replace("in messages", "in messages[-2:]"),
    "opened thought": APPENDING["roles"].replace("<a>{% endif %}", "<a><think>{% endif %}"),
    "old replies cut": LOOP
    + "<{{ m.role[0] }}>{{ m.content[:2] if m.role == 'assistant' else m.content }}\n"
    + END,
}
NO_THOUGHTS = LOOP + "<{{ m.role[0] }}>{{ m.content.split('</think>')[-1]|trim }}\n" + END
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}"
    "{% endif %}" + APPENDING["roles"]
)
PLAN_OF = TrainPlan(
    env="games/KuhnPoker-v0",
    rounds=1,
    groups=2,
    group_size=2,
    mode="choice",
    prompt="chat",
    history="conversation",
    evaluation=Evaluation(every=9, episodes=2),
    tiny=TinyModel(layers=1, width=32, heads=2),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    letters = "".join(map(chr, range(32, 127)))
    return make_tiny(
        tmp_path_factory.mktemp("model"), [letters, *letters, "\n"], layers=1, width=32, heads=2
    )


@pytest.fixture
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("name", sorted(APPENDING))
@pytest.mark.parametrize("rules", [False, True])
def test_a_template_that_appends_is_followed_to_the_letter(tokenizer, name, rules):
    tokenizer.chat_template = APPENDING[name]
    check_template(tokenizer, name, rules=rules, thoughts=True)
    talk, read = [Message("system", "R")] if rules else [], ()
    for turn in range(4):
        talk.append(Message("user", f"Q{turn}"))
        new = 1 if read else 0
        found = read_prompt(tokenizer, Request(tuple(talk), read=read, new=new), name)
        assert found == read_prompt(tokenizer, Request(tuple(talk)), name)
        read = (*found, *tokenizer("yes", add_special_tokens=False)["input_ids"])
        talk.append(Message("assistant", "yes"))


@pytest.mark.parametrize("name", sorted(CHANGING))
def test_a_template_that_changes_what_was_said_stops_a_run_before_it_begins(
    folder, tokenizer, tmp_path, name
):
    tokenizer.chat_template = CHANGING[name]
    learner = _saved(folder, tokenizer, tmp_path)
    why = r"learner \(.*\) is not append-only: .*; say history=position or history=bare"
    with pytest.raises(InvalidOption, match=why) as raised:
        Trainer(replace(PLAN_OF, model=learner), tmp_path / "run")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "run" / PLAN).exists()
    Trainer(replace(PLAN_OF, model=learner, history="position"), tmp_path / "run")


def test_a_template_that_drops_thoughts_is_refused_where_replies_can_hold_them(
    folder, tokenizer, tmp_path
):
    tokenizer.chat_template = NO_THOUGHTS
    plan = replace(PLAN_OF, model=_saved(folder, tokenizer, tmp_path))
    with pytest.raises(InvalidOption, match="is not append-only"):
        Trainer(replace(plan, mode="free"), tmp_path / "run")
    Trainer(plan, tmp_path / "run")


@pytest.mark.parametrize("history", ["position", "conversation"])
def test_a_template_without_the_system_role_is_named_before_a_run_begins(
    folder, tokenizer, tmp_path, history
):
    tokenizer.chat_template = NO_SYSTEM
    plan = replace(PLAN_OF, model=_saved(folder, tokenizer, tmp_path), history=history)
    why = "roles system, user: System role not supported; say prompt=raw, or history=bare"
    with pytest.raises(InvalidOption, match=why):
        Trainer(plan, tmp_path / "run")
    with pytest.raises(InvalidOption, match=why):
        read_prompt(tokenizer, Request((Message("system", "R"), Message("user", "Q"))), "gemma")
    Trainer(replace(plan, history="bare"), tmp_path / "run")


def _saved(folder, tokenizer, tmp_path):
    from transformers import AutoModelForCausalLM

    made = tmp_path / "model"
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(made)
    tokenizer.save_pretrained(made)
    return str(made)
