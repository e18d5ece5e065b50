"""Warnings on import of the package."""

from __future__ import annotations

import warnings

from palestra.kernel.registry import registry


def warn_of_failures() -> None:
    """Warn once about installed plugins that could not be used, or only in part."""
    plugins = registry().plugins
    problems = [str(failure) for failure in plugins.failures]
    problems += [said for plugin in plugins.plugins.values() for said in plugin.contested]
    for problem in problems:
        warnings.warn(f"{problem}. See: palestra plugins", RuntimeWarning, stacklevel=3)
