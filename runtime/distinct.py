"""RETURN DISTINCT: a tuple is put out when it comes alive.

A combination of events makes its tuple alive from its last event until its first one leaves the window. `Alive` keeps,
for each tuple, until when it is; a combination whose last event is later than that puts the tuple out (again).
Without a window a tuple stays alive until deletions take its last combination.

A deletion that takes the last combination of a tuple takes back every time it was put out, but for those that rest on
combinations that have left the window: these cannot be deleted any more, and the tuple has been a result for good.

Guaranteed: the set of tuples is SQL's SELECT DISTINCT, in every order of arrival. When events are late, a tuple that
would have stayed alive through the late event can be put out once more: same tuple, same id.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

    __slots__ = ("_output", "_plan", "_prune_at", "_seed", "lives", "until")

    def __init__(self, plan: Plan, output: Output) -> None:
        self._plan = plan
        self._output = output
        self._seed = hashing.seed(plan.pattern, "DISTINCT")
        self._prune_at = _PRUNE_AT
        self.until: dict[bytes, int] = {}
        self.lives: dict[bytes, list[int]] = {}
        """For each time that a tuple was put out, when the first of the combinations behind it leaves the window."""

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
        worst = order[np.concatenate((np.flatnonzero(first)[1:] - 1, [len(order) - 1]))]
        ids = hashing.id_array(hashing.both_lanes((lanes[0][chosen], lanes[1][chosen])))
        spans = zip(starts[worst].tolist(), starts[chosen].tolist(), ends[chosen].tolist(), strict=True)
        out = self._come_alive(ids.to_pylist(), spans)
        if not out:
            return None
        return self.batch([c.take(pa.array(chosen[out])) for c in fields], ids.take(pa.array(out)), sign)

    def _come_alive(self, ids: list[bytes], spans: Iterable[tuple[int, int, int]]) -> list[int]:
        """Which tuples to put out. A span is the first and the last start of some combinations, and their end."""
        window, until, lives = self._plan.window, self.until, self.lives
        out = []
        for i, (key, (worst, best, end)) in enumerate(zip(ids, spans, strict=True)):
            known = until.get(key)
            soonest, latest = (FOREVER, FOREVER) if window is None else (worst + window, best + window)
            if known is None or end > known:
                out.append(i)
                lives.setdefault(key, []).append(soonest)
            elif soonest < lives[key][-1]:
                lives[key][-1] = soonest
            if known is None or latest > known:
                until[key] = latest
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

    def collect(self, partials: Iterable[Partial]) -> tuple[dict[bytes, tuple[int, int]], list[Any]]:
        """All tuples of some matches, and one batch per new tuple (pull mode).

        With each tuple comes when the first and the last of its combinations leave the window.
        """
        spans: dict[bytes, tuple[int, int]] = {}
        batches = []
        window = self._plan.window
        for partial in partials:
            fields = self._output.fields(partial)
            ids, keys = self.keys(fields, partial.size)
            starts = (partial.earliest if partial.earliest is not None else np.full(partial.size, DEAD)).tolist()
            fresh = []
            for i, key in enumerate(keys):
                expires = FOREVER if window is None else starts[i] + window
                known = spans.get(key)
                if known is None:
                    fresh.append(i)
                    spans[key] = expires, expires
                else:
                    spans[key] = min(known[0], expires), max(known[1], expires)
            if fresh:
                places = pa.array(fresh)
                batches.append(self.batch([column.take(places) for column in fields], ids.take(places), None))
        return spans, batches

    def gone(self, before: list[Any], remaining: dict[bytes, tuple[int, int]], watermark: int | None) -> Iterator[Any]:
        """After deletions: of the tuples in `before`, those that no match is left for, with sign -1."""
        for batch in before:
            keep: list[int] = []
            for i, key in enumerate(batch.column(0).to_pylist()):
                if key not in self.until:
                    continue
                # What has left the window stays; of the rest, what a life began with may be among the deleted.
                lives = [soonest for soonest in self.lives[key] if watermark is None or soonest >= watermark]
                if key in remaining:
                    soonest, self.until[key] = remaining[key]
                    self.lives[key] = [max(soonest, life) for life in lives] or [DEAD]
                else:
                    del self.until[key], self.lives[key]
                    keep += [i] * len(lives)
            if keep:
                fields = [batch.column(i).take(pa.array(keep)) for i in range(3, batch.num_columns)]
                yield self.batch(fields, batch.column(0).take(pa.array(keep)), -1)

    def prune(self, watermark: int) -> None:
        """Forget tuples that are dead for good. Amortised O(1) per tuple."""
        if len(self.until) > self._prune_at:
            self.until = {key: until for key, until in self.until.items() if until >= watermark}
            self.lives = {key: self.lives[key] for key in self.until}
            self._prune_at = max(_PRUNE_AT, 2 * len(self.until))

    def dump(self) -> Any:
        """As a record batch, for a snapshot."""
        return pa.record_batch(
            {
                "id": pa.array(list(self.until), pa.binary(16)),
                "until": pa.array(list(self.until.values()), pa.int64()),
                "lives": pa.array([self.lives[key] for key in self.until], pa.list_(pa.int64())),
            }
        )

    def load(self, batch: Any) -> None:
        """From a snapshot."""
        ids = batch.column("id").to_pylist()
        self.until = dict(zip(ids, batch.column("until").to_pylist(), strict=True))
        self.lives = dict(zip(ids, batch.column("lives").to_pylist(), strict=True))
