"""What to say of a file that is not there: the name nearest to it in its directory.

Only names of the directory that the user named are looked at, and only when the file is missing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path

MOST = 10_000
"""Names of a directory that are compared; a hint is not worth more."""


def similar_file(path: str | Path, typed: str | None = None) -> str | None:
    """A hint for a file that does not exist: the nearest name, or the directory that is missing; None without one.

    `typed` is what the user wrote where that is not the path itself, as in an `IMPORT`.
    """
    path = Path(path)
    if path.exists() or not path.name:
        return None
    if not path.parent.is_dir():
        return f"there is no directory `{path.parent}`"
    near = nearest(path.name, _names(path.parent))
    # The name as the user can type it again: with the directory that was typed.
    return None if near is None else f"did you mean `{Path(typed or path).parent / near}`?"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The most similar name; without their endings, which many share, the two must be similar as well.

    >>> nearest("card.cep", ["here.cep", "cards.cep", "cards.txt"]), nearest("card.cep", ["here.cep"])
    ('cards.cep', None)
    """
    stem = _stem(name)
    alike = [item for item in names if get_close_matches(stem, [_stem(item)], n=1, cutoff=0.6)]
    return max(alike, key=lambda item: SequenceMatcher(None, name.casefold(), item.casefold()).ratio(), default=None)


def _stem(name: str) -> str:
    return name.casefold().partition(".")[0] or name.casefold()


def _names(directory: Path) -> Iterable[str]:
    try:
        with os.scandir(directory) as entries:
            return [
                entry.name for entry, _ in zip(entries, range(MOST), strict=False) if not entry.name.startswith(".")
            ]
    except OSError:
        return []
