"""Failures of a job in one message: what was expected, what was found, what to do."""

from __future__ import annotations


class JobError(Exception):
    """A job that cannot be built or run; the text is for the user."""
