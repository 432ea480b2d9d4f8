"""The exit statuses, the same for every command."""

from __future__ import annotations

GOOD = 0
FINDINGS = 1
FAILED = 2
INTERRUPTED = 130
BROKEN_PIPE = 141
"""What a shell reports for a process that wrote to a closed pipe, as in `cep explain ... | head`."""
