"""Matches over the network: every seat of a game has an address."""

import lazy_loader

# The names are in __init__.pyi; each is imported when it is first used, so that loading the plugin
# imports none of them.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
