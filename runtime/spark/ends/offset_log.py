"""What a batch read, from Spark's checkpoint: `offsets/<batch>`, which Spark writes before it runs the batch.

The entry of a batch has a line for each source: where it stood after the batch. Where it stood before is in the entry
of the batch before. A source of files stands at an entry of its own log, `sources/<source>/<entry>`, which names the
files that were read. The rest of an entry (the clock, the watermark, settings) is no part of what was read: a batch
that Spark plans again, to the same offsets, is the same batch.

Positions have names that say which: `0:trades@Zk3v[2]` is partition 2 of the topic `trades`, whose id is Zk3v (where
that is known), read by the first source; `1:files` is the log of files of the second. `0:beat` is the moment up to
which the first is known to have read everything, which decides as much as an event does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from connectors.kafka.decide import InputRange
from connectors.kafka.publisher import LedgerError
from runtime.spark.ends import manifest as manifests
from runtime.spark.errors import JobError

_VERSION = "v1"
_NOTHING = "-"
"""How Spark writes that a source has no offset yet."""


@dataclass(frozen=True, slots=True)
class OffsetLog:
    """The ranges of a checkpoint's batches."""

    checkpoint: str

    def __call__(self, batch: int) -> InputRange | None:
        """What a batch read, None where the checkpoint does not say (any more)."""
        after = self._entry(batch)
        before = self._entry(batch - 1) if batch > 0 else ()
        if after is None or before is None:
            return None
        start: dict[str, int] = {}
        for number, line in enumerate(before):
            start |= _positions(number, line) or {}
        end: dict[str, int] = {}
        rest: list[str] = []
        for number, line in enumerate(after):
            found = _positions(number, line)
            if found is None:
                rest.append(f"{number}:{line}")
                continue
            end |= found
            files = f"{number}:files"
            if files in found:
                names = self._files(number, start.get(files, -1), found[files])
                if names is None:
                    return None
                rest += names
        return InputRange(start if batch > 0 else None, end, _digest(rest))

    def last(self) -> tuple[str, ...]:
        """The lines of the newest entry, none where there is none."""
        directory = manifests.local(self.checkpoint)
        if directory is not None:
            names = [path.name for path in (directory / "offsets").glob("[0-9]*")]
        else:
            from pyarrow import fs

            system, path = manifests.remote(self.checkpoint)
            found = system.get_file_info(fs.FileSelector(f"{path}/offsets", allow_not_found=True))
            names = [info.base_name for info in found]
        numbers = [int(name) for name in names if name.isdigit()]
        return (self._entry(max(numbers)) or ()) if numbers else ()

    def _text(self, name: str) -> str | None:
        try:
            return manifests.read(self.checkpoint, name)
        except JobError as error:
            raise LedgerError(str(error)) from error

    def _entry(self, batch: int) -> tuple[str, ...] | None:
        """The sources' lines of an entry."""
        text = self._text(f"offsets/{batch}")
        if text is None:
            return None
        version, _, rest = text.partition("\n")
        lines = rest.splitlines()[1:]  # without the metadata
        if version.strip() != _VERSION:  # another layout: comparable as a whole, but without positions
            return (json.dumps(["layout", version, *lines]),)
        return tuple(line.strip() for line in lines)

    def _files(self, source: int, before: int, after: int) -> list[str] | None:
        """What a source of files read: the entries of its log after `before`, up to `after`."""
        found: list[str] = []
        for entry in range(before + 1, after + 1):
            text = self._text(f"sources/{source}/{entry}")
            if text is None:
                text = self._text(f"sources/{source}/{entry}.compact")
            if text is None:
                return None
            found += sorted(_of_entry(text, entry))
        return found


def _of_entry(text: str, entry: int) -> Iterator[str]:
    """The files of an entry; a compacted one holds those of all before it as well."""
    for line in text.splitlines()[1:]:
        try:
            file = json.loads(line)
        except ValueError as error:
            raise JobError(f"the checkpoint's list of files is damaged, at {line[:80]!r}: {error}") from error
        if file.get("batchId") == entry:
            yield json.dumps([file.get("path"), file.get("timestamp")])


def _positions(source: int, line: str) -> dict[str, int] | None:
    """The positions that an offset says, None where it says them in no way that is known here.

    >>> _positions(0, '{"t": {"0": 5, "id": "Zk3v"}, "": {"cluster": "x"}}'), _positions(1, '{"logOffset": 3}')
    ({'0:t@Zk3v[0]': 5}, {'1:files': 3})
    >>> _positions(0, '{"t": {"0": 5}, "": {"beat": 7}}')
    {'0:t[0]': 5, '0:beat': 7}
    """
    if line == _NOTHING:
        return {}
    try:
        offset: Any = json.loads(line)
    except ValueError:
        return None
    if not isinstance(offset, dict):
        return None
    if set(offset) == {"logOffset"}:
        return {f"{source}:files": int(offset["logOffset"])}
    found = {}
    for topic, places in offset.items():
        if not isinstance(places, dict):
            return None
        name = f"{source}:{topic}" + (f"@{places['id']}" if "id" in places else "")
        for place, position in places.items():
            if place.isdigit() and isinstance(position, int):
                found[f"{name}[{place}]"] = position
            elif not topic and place == "beat" and isinstance(position, int):
                found[f"{source}:beat"] = position
            elif not isinstance(position, str):
                return None
    return found


def _digest(lines: Iterable[str]) -> str:
    text = "\n".join(lines)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest() if text else ""
