"""The Python of docs/server-clients.md."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "server-clients.md"


def snippet(word):
    """The one Python block of the page that has a word in it."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if word in block)
    return code
