"""The formats of files by name: one list for events, one for matches, for every command that reads or writes them.

Imports nothing that is slow to load: `cep --help` shows the formats.
"""

from __future__ import annotations

from pathlib import Path

COMPRESSION = {".gz": "gzip", ".zst": "zstd"}
"""Endings of compressed files of events."""

EVENT_FORMATS = ("jsonl", "csv", "parquet")
EVENT_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
"""What a file's name says of its format, `.gz` and `.zst` taken off."""


def event_format(path: Path) -> str | None:
    """The format of events that a file's name says; None where it says none.

    >>> event_format(Path("events.jsonl.gz")), event_format(Path("events.parquet")), event_format(Path("notes.txt"))
    ('jsonl', 'parquet', None)
    """
    name = path.with_suffix("") if path.suffix.lower() in COMPRESSION else path
    return EVENT_ENDINGS.get(name.suffix.lower())


MATCH_FORMATS = ("jsonl", "csv", "parquet", "arrow")
MATCH_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
"""What a file's name says of the format of the matches in it."""


def match_format(out: str) -> str:
    """The format of matches for an output: JSON Lines for stdout, devices and names without an ending.

    ValueError, for the user, where the ending is none that is known.

    >>> match_format("matches.parquet"), match_format("-"), match_format("/dev/null")
    ('parquet', 'jsonl', 'jsonl')
    """
    path = Path(out)
    ending = path.suffix.lower()
    if out == "-" or not ending or (path.exists() and not path.is_file()):
        return "jsonl"
    if ending not in MATCH_ENDINGS:
        *others, last = MATCH_ENDINGS
        raise ValueError(
            f"{out}: the name does not say a format: expected {', '.join(others)} or {last}, or --out-format"
        )
    return MATCH_ENDINGS[ending]
