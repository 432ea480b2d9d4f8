"""What every reader yields."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Piece:
    """Some events in the order of their file, perhaps none.

    `mark` is how far into the file (in bytes of text, or rows) they reach: larger for later pieces, and the same in
    every reading of the file. `read` is how many bytes of the file were read so far, for a progress bar.
    """

    batch: pa.RecordBatch
    mark: int
    read: int
