"""The same game in other words: the options `disguise=` and `wording=`, which any game takes.

Both change only what a seat reads and writes: states, legal actions, rewards and observations are
those of the plain game.
"""

from palestra.phrasing.vocabulary import Vocabulary

__all__ = ["Vocabulary"]


def register() -> None:
    """Let every game be made with these options."""
    from palestra.kernel.registry import more_options
    from palestra.phrasing.disguise import add_disguise
    from palestra.phrasing.wording import add_wording

    more_options.update(disguise=add_disguise, wording=add_wording)
