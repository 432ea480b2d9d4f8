"""How large a pattern file may be. Generous: nobody who writes patterns by hand meets these.

With them, whatever is in a file, judging it ends within a few seconds and a few hundred megabytes
(tests/hostile holds the compiler to that). docs/limits.md lists them.
"""

from __future__ import annotations

FILE_BYTES = 1_000_000
"""One file, as it is on disk."""

TOKENS = 100_000
"""Words, numbers, signs and comments of a file together with all that it imports: some 1,500 patterns."""

FILES = 2_000
"""Files that one file imports, directly or not."""

TEXT = 10_000
"""Characters of one text literal."""

NAME = 256
"""Characters of a name or a number."""

COLUMNS = 1_000
"""Attributes of a stream."""

VARIABLES = 64
"""Events of a pattern."""

ATTRIBUTES = 10_000
"""Attributes of all events of a pattern, each counted for every variable it belongs to."""

BRANCHES = 16
"""Ways to choose one item of each OR of a pattern."""

CONDITIONS = 1_000
"""Conditions of a pattern, those that PARTITION BY stands for among them."""

NODES = 150_000
"""Operands and operators of a pattern, written out: `x BETWEEN a AND b` mentions `x` twice."""

FILE_VARIABLES = 600_000
"""The cubes of the numbers of variables of a file's patterns, added up: 1,000 patterns of eight events, two of 64."""

FILE_ATTRIBUTES = 200_000
"""`ATTRIBUTES` of all patterns of a file together."""

FINDINGS = 500
"""Findings that are kept; the rest are counted."""
