"""Late events as a side output: what was dropped because it came after the watermark had passed it.

One JSON object a line, the same for `cep replay --late` and `cep run --late`: `stream`, `reason` (`late`), `watermark`
(what it was when the event came: the highest of the patterns that dropped it), `patterns` (those), `source` (the file
or topic, where the stream has one) and `event` with all declared attributes. An event is one line, however many
patterns dropped it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from cep.ir.model import Stream
from connectors.files.match_writer import json_text

_TIME = pa.timestamp("us", "UTC")


def late_lines(
    stream: str,
    events: pa.RecordBatch,
    watermarks: npt.NDArray[np.int64],
    patterns: Sequence[Sequence[str]],
    source: str | None = None,
) -> pa.Array:
    """The lines of late events, without their line breaks, with the watermark and the patterns of each.

    >>> events = pa.RecordBatch.from_pydict({"ts": pa.array([0], _TIME), "acc": ["A1"]})
    >>> late_lines("Trans", events, np.array([5_000_000]), [["P"]])[0].as_py()  # doctest: +ELLIPSIS
    '{"stream": "Trans", "reason": "late", "watermark": "1970-01-01T00:00:05Z", "patterns": ["P"], "event": {"ts": ...
    """
    head = f'{{"stream": {_quoted(stream)}, "reason": "late", "watermark": '
    parts: list[Any] = [head, json_text(pa.array(watermarks).cast(_TIME)), ', "patterns": ']
    parts.append(pa.array([json.dumps(list(names), ensure_ascii=False) for names in patterns], pa.string()))
    between = ("" if source is None else f', "source": {_quoted(source)}') + ', "event": {'
    for index, name in enumerate(events.schema.names):
        parts += [f"{between}{_quoted(name)}: ", json_text(events.column(index))]
        between = ", "
    return pc.binary_join_element_wise(*parts, "}}", "")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class LateFile:
    """Writes late events to a file, which is there from the start."""

    def __init__(self, path: Path, sources: Mapping[str, str | None]) -> None:
        self._file: IO[str] = path.open("w", encoding="utf-8")
        self._sources = sources

    def write(
        self,
        stream: Stream,
        events: pa.RecordBatch,
        watermarks: npt.NDArray[np.int64],
        patterns: Sequence[Sequence[str]],
    ) -> None:
        """Late events of one stream, with the watermark and the patterns of each."""
        lines = late_lines(stream.name, events, watermarks, patterns, self._sources.get(stream.name))
        self._file.writelines(f"{line}\n" for line in lines.to_pylist())

    def close(self) -> None:
        """Write out what is pending."""
        self._file.close()
