"""RETURN DISTINCT: a tuple is put out when it comes alive.

A combination of events makes its tuple alive from its last event until its first one leaves the window. `Alive` keeps,
for each tuple, until when it is; a combination whose last event is later than that puts the tuple out (again).
Without a window a tuple stays alive until deletions take its last combination.

Guaranteed: the set of tuples is SQL's SELECT DISTINCT, in every order of arrival. When events are late, a tuple that
would have stayed alive through the late event can be put out once more: same tuple, same id.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from cep.plan import Plan
from cep.types import Type
from runtime import hashing
from runtime.columnar import ARROW_TYPES
from runtime.leaf import DEAD
from runtime.matcher import FOREVER, Partial
from runtime.output import Output, number_signs

_PRUNE_AT = 1024


class Alive:
    """The tuples that are out, and until when."""

    __slots__ = ("_output", "_plan", "_prune_at", "_seed", "again", "until")

    def __init__(self, plan: Plan, output: Output) -> None:
        self._plan = plan
        self._output = output
        self._seed = hashing.seed(plan.pattern, "DISTINCT")
        self._prune_at = _PRUNE_AT
        self.until: dict[bytes, int] = {}
        self.again: dict[bytes, int] = {}
        """How often a tuple was put out again after it had died: a retraction takes all of them back."""

    def keys(self, fields: list[Any], size: int) -> tuple[Any, list[bytes]]:
        """The ids of tuples, as an array and as dictionary keys."""
        lanes = hashing.combine(self._seed, [hashing.hash_array(column) for column in fields], size)
        ids = hashing.id_array(hashing.both_lanes(lanes))
        return ids, ids.to_pylist()

    def admit(self, partial: Partial, sign: int | None) -> Any | None:
        """The record batch of the tuples that these matches bring to life; None where there are none."""
        fields = self._output.fields(partial)
        lanes = hashing.combine(self._seed, [hashing.hash_array(column) for column in fields], partial.size)
        ends = partial.latest if partial.latest is not None else np.zeros(partial.size, dtype=np.int64)
        starts = partial.earliest if partial.earliest is not None else ends
        # One row per tuple and end, with the best start of those: usually far fewer than combinations.
        order = np.lexsort((-starts, lanes[0], lanes[1], ends))
        a, b, e = lanes[0][order], lanes[1][order], ends[order]
        first = np.concatenate(([True], (a[1:] != a[:-1]) | (b[1:] != b[:-1]) | (e[1:] != e[:-1])))
        chosen = order[first]
        ids = hashing.id_array(hashing.both_lanes((lanes[0][chosen], lanes[1][chosen])))
        out = self._come_alive(ids.to_pylist(), starts[chosen].tolist(), ends[chosen].tolist())
        if not out:
            return None
        return self.batch([c.take(pa.array(chosen[out])) for c in fields], ids.take(pa.array(out)), sign)

    def _come_alive(self, ids: list[bytes], starts: list[int], ends: list[int]) -> list[int]:
        window, until = self._plan.window, self.until
        out = []
        for i, (key, start, end) in enumerate(zip(ids, starts, ends, strict=True)):
            known = until.get(key)
            if known is None or end > known:
                out.append(i)
                if known is not None:
                    self.again[key] = self.again.get(key, 0) + 1
            expires = FOREVER if window is None else start + window
            if known is None or expires > known:
                until[key] = expires
        return out

    def batch(self, fields: list[Any], ids: Any, sign: int | None) -> Any:
        """A record batch of tuples; start and end are NULL, for a tuple has no one time."""
        size = len(ids)
        none = pa.nulls(size, ARROW_TYPES[Type.TIMESTAMP])
        columns = [ids, none, none]
        if sign is not None:
            columns.append(number_signs(size, sign))
        schema = self._output.schema if sign is None else self._output.signed_schema
        return pa.RecordBatch.from_arrays([*columns, *fields], schema=schema)

    def collect(self, partials: Iterable[Partial]) -> tuple[dict[bytes, int], list[Any]]:
        """All tuples of some matches with until when they are alive, and one batch per new tuple (pull mode)."""
        until: dict[bytes, int] = {}
        batches = []
        window = self._plan.window
        for partial in partials:
            fields = self._output.fields(partial)
            ids, keys = self.keys(fields, partial.size)
            starts = (partial.earliest if partial.earliest is not None else np.full(partial.size, DEAD)).tolist()
            fresh = []
            for i, key in enumerate(keys):
                expires = FOREVER if window is None else starts[i] + window
                if key not in until:
                    fresh.append(i)
                until[key] = max(until.get(key, DEAD), expires)
            if fresh:
                places = pa.array(fresh)
                batches.append(self.batch([column.take(places) for column in fields], ids.take(places), None))
        return until, batches

    def gone(self, before: list[Any], remaining: dict[bytes, int]) -> list[Any]:
        """After deletions: of the tuples in `before`, those that no match is left for, with sign -1."""
        batches = []
        for batch in before:
            keep = []
            for i, key in enumerate(batch.column(0).to_pylist()):
                if key in remaining:
                    self.until[key] = remaining[key]
                elif self.until.pop(key, None) is not None:
                    keep += [i] * (1 + self.again.pop(key, 0))
            if keep:
                fields = [batch.column(i).take(pa.array(keep)) for i in range(3, batch.num_columns)]
                batches.append(self.batch(fields, batch.column(0).take(pa.array(keep)), -1))
        return batches

    def prune(self, watermark: int) -> None:
        """Forget tuples that are dead for good. Amortised O(1) per tuple."""
        if len(self.until) > self._prune_at:
            self.until = {key: until for key, until in self.until.items() if until >= watermark}
            self.again = {key: times for key, times in self.again.items() if key in self.until}
            self._prune_at = max(_PRUNE_AT, 2 * len(self.until))

    def dump(self) -> Any:
        """As a record batch, for a snapshot."""
        return pa.record_batch(
            {
                "id": pa.array(list(self.until), pa.binary(16)),
                "until": pa.array(list(self.until.values()), pa.int64()),
                "again": pa.array([self.again.get(key, 0) for key in self.until], pa.int64()),
            }
        )

    def load(self, batch: Any) -> None:
        """From a snapshot."""
        ids = batch.column("id").to_pylist()
        self.until = dict(zip(ids, batch.column("until").to_pylist(), strict=True))
        self.again = {key: n for key, n in zip(ids, batch.column("again").to_pylist(), strict=True) if n}
