"""The version of the installed distribution."""

from __future__ import annotations


def version() -> str:
    """The version, `unknown` where the package runs from a source tree that was never installed."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("cep-engine")
    except PackageNotFoundError:
        return "unknown"
