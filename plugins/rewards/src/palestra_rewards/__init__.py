"""Credit assignment to turns: reward shapers and credit estimators by name, on plain arrays."""

import lazy_loader

# The names are in __init__.pyi; each is imported on first use, so that loading the plugin imports
# none of them.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
