"""Every hook is documented with its exact signature and used by something real."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from palestra import UnknownName
from palestra.kernel import hooks
from palestra.kernel.registry import registry

ROOT = Path(__file__).parents[1]
DOCS = (ROOT / "docs" / "hooks.md").read_text("utf-8")
SOURCES = [
    path
    for folder in (*ROOT.glob("*/src"), *ROOT.glob("plugins/*/src"))
    for path in folder.rglob("*.py")
    if path.name != "hooks.py"
]


@pytest.mark.parametrize("name", hooks.HOOKS)
def test_docs_give_the_exact_signature(name: str) -> None:
    signature = str(inspect.signature(getattr(hooks, name))).replace("'", "")
    assert f"### `{name}{signature}`" in DOCS


def test_docs_describe_no_hook_that_is_not_there() -> None:
    assert set(re.findall(r"^### `(palestra_\w+)", DOCS, re.MULTILINE)) == set(hooks.HOOKS)


@pytest.mark.parametrize("name", hooks.HOOKS)
def test_something_real_implements_it(name: str) -> None:
    implementing = re.compile(rf"@hookimpl\n +?def {name}\(|@hookimpl\ndef {name}\(")
    assert [path.name for path in SOURCES if implementing.search(path.read_text("utf-8"))]


def test_the_plugins_of_this_repository_load_without_a_fault() -> None:
    plugins = registry().plugins
    assert not plugins.failures
    assert {"envs", "agents", "renderers", "games", "rewards"} <= set(plugins.plugins)


def test_every_hook_has_an_example() -> None:
    sections = re.split(r"^### ", DOCS, flags=re.MULTILINE)[1:]
    bare = [s.partition("(")[0] for s in sections if "```python" not in s and s[0] == "`"]
    assert not bare


def test_credit_that_no_plugin_knows_is_refused_by_name() -> None:
    with pytest.raises(UnknownName, match="no-such"):
        registry().plugins.first("palestra_credit", names="no-such")
