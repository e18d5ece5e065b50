"""The files of deploy/, as the tests read them."""

import re
from pathlib import Path

import yaml

FOLDER = Path(__file__).parents[3] / "deploy"
VARIABLE = re.compile(r"\$\{(\w+)(?::?([-?])([^}]*))?\}")


def compose(**given):
    """compose.yaml with its variables replaced, by their defaults where they are not given."""

    def value(found):
        name, kind, default = found.groups()
        return given.get(name, default if kind == "-" else name)

    return yaml.safe_load(VARIABLE.sub(value, (FOLDER / "compose.yaml").read_text("utf-8")))


def manifests():
    """The objects of kubernetes.yaml, by kind."""
    found = yaml.safe_load_all((FOLDER / "kubernetes.yaml").read_text("utf-8"))
    return {one["kind"]: one for one in found}
