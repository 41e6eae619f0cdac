"""The drawing library, where it is installed."""

from __future__ import annotations

from typing import Any

from agents.base.errors import ConfigError


def library() -> Any:
    """``matplotlib.pyplot``, drawing into files only.

    Raises:
        ConfigError: ``ERR_PLOT_PACKAGE``: it is not installed.
    """
    try:
        import matplotlib
    except ImportError as fault:
        raise ConfigError(
            "ERR_PLOT_PACKAGE", "Drawing needs matplotlib.", "scripts/setup --dev installs it.", fault
        ) from fault
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
