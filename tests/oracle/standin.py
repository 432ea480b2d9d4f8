"""The reference engine behind the engine's interface, to test the harness with: right by construction, and slow.

It keeps every event and asks `runtime.reference` again after each push. `Faulty` engines make one typical mistake each;
the harness must catch every one of them, or its agreement means nothing.
"""

from __future__ import annotations

import hashlib
import pickle
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cep.ir.body import All, Body, Seq
from cep.ir.types import Type
from runtime.reference import combinations, evaluate
from tests.oracle.harness import ARROW_TYPES, Maker, plain
from tests.oracle.judge import dated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cep.ir.model import Pattern
    from cep.ir.plan import Plan
    from runtime.engine import Watermark

Key = tuple[int | None, int | None, tuple[Any, ...], bytes]


class ReferenceEngine:
    """`runtime.Engine`, naively: all events of all time, all matches after each push, the difference to before."""

    def __init__(self, plan: Plan, pattern: Pattern) -> None:
        self.plan = plan
        self.pattern = pattern
        self.events: dict[str, list[dict[str, Any]]] = {}
        self.known: Counter[Key] = Counter()
        self.watermark: int | None = None
        self.newest: dict[str, int] = {}
        self.late = 0

    def _now(self) -> Counter[Key]:
        found: Counter[Key] = Counter()
        for bound in combinations(self.pattern, self.events):
            known = (bound[v.name].get(v.stream.time) for v in self.pattern.variables if v.stream.time is not None)
            times = [time for time in known if time is not None]
            values = (evaluate(expr, bound) for _, expr in self.pattern.fields)
            fields = tuple(v + 0.0 if isinstance(v, float) else v for v in values)  # one zero, as it is one value
            if self.pattern.distinct:
                self._tuple(found, min(times, default=None), max(times, default=None), fields)
                continue
            what = repr([sorted(bound[v.name].items()) for v in self.pattern.variables])
            ordinal = 0
            while True:  # equal events make equal combinations: number them
                digest = hashlib.md5(f"{what}#{ordinal}".encode()).digest()
                key = (min(times, default=None), max(times, default=None), fields, digest)
                if key not in found:
                    break
                ordinal += 1
            found[key] += 1
        return found

    def _tuple(self, found: Counter[Key], start: int | None, end: int | None, fields: tuple[Any, ...]) -> None:
        """Note a tuple, as it was given out where it was, else by the combination that ends first and starts last."""
        known = next((key for key in self.known if key[2] == fields), None)
        other = next((key for key in found if key[2] == fields), None)
        if not dated(self.plan):
            start = end = None
        key = known or (start, end, fields, hashlib.md5(repr((fields, end)).encode()).digest())
        if other is None or (key[1] or 0, -(key[0] or 0)) < (other[1] or 0, -(other[0] or 0)):
            if other is not None:
                del found[other]
            found[key] = 1

    def push(self, batch: Mapping[str, pa.RecordBatch], watermark: Watermark) -> pa.RecordBatchReader:
        time_of = {v.stream.name: v.stream.time for v in self.pattern.variables}
        has_sign = False
        for stream, rows in batch.items():
            columns = {name: plain(rows.column(i)) for i, name in enumerate(rows.schema.names)}
            signs = columns.pop("_sign", None)
            has_sign = has_sign or signs is not None
            for i in range(rows.num_rows):
                event = {name: None if (v := values[i]) != v else v for name, values in columns.items()}  # no NaN
                time = event.get(time_of[stream])
                if time is not None:
                    self.newest[stream] = max(time, self.newest.get(stream, time))
                if self.watermark is not None and time is not None and time < self.watermark:
                    self.late += 1
                    continue
                kept = self.events.setdefault(stream, [])
                if signs is None or signs[i] > 0:
                    kept.append(event)
                else:
                    kept.remove(event)
        self.watermark = self._declared() if watermark == "declared" else watermark
        now = self._now()
        new, gone = now - self.known, self.known - now
        self.known = now
        return self._reader([(1, key) for key in new] + [(-1, key) for key in gone], has_sign)

    def _declared(self) -> int | None:
        timed = {v.stream.name: v.stream for v in self.pattern.variables if v.stream.time is not None}
        if not timed or self.newest.keys() != timed.keys():
            return None
        return min(self.newest[name] - stream.watermark for name, stream in timed.items())

    def _reader(self, found: list[tuple[int, Key]], has_sign: bool) -> pa.RecordBatchReader:
        micros = pa.timestamp("us", "UTC")
        columns = [
            pa.array([key[3] for _, key in found], pa.binary(16)),
            pa.array([key[0] for _, key in found], micros),
            pa.array([key[1] for _, key in found], micros),
        ]
        names = ["_id", "_start", "_end"]
        if has_sign:
            columns.append(pa.array([sign for sign, _ in found], pa.int8()))
            names.append("_sign")
        for i, (name, expr) in enumerate(self.pattern.fields):
            type_ = ARROW_TYPES.get(expr.type, pa.duration("us") if expr.type is Type.DURATION else pa.null())
            columns.append(pa.array([key[2][i] for _, key in found], type_))
            names.append(name)
        batch = pa.RecordBatch.from_arrays(columns, names=names)
        return pa.RecordBatchReader.from_batches(batch.schema, [batch])

    def finish(self) -> pa.RecordBatchReader:
        return self.push({}, None)

    def snapshot(self) -> bytes:
        return pickle.dumps((self.events, self.known, self.watermark, self.newest, self.late))

    def _current(self) -> list[Key]:
        """The matches whose events are all at or after the horizon."""
        if self.watermark is None or self.plan.window is None:
            return list(self.known)
        horizon = self.watermark - self.plan.window
        return [key for key in self.known if (key[0] or 0) >= horizon]

    def enumerate(self) -> pa.RecordBatchReader:
        return self._reader([(1, key) for key in self._current()], has_sign=False)

    def count(self) -> int:
        return len(self._current())

    def contains(self, match: Mapping[str, Any]) -> bool:
        wanted = tuple(match[name] for name, _ in self.pattern.fields)
        return any(key[2] == wanted for key in self._current())

    def stats(self) -> dict[str, Any]:
        return {"late": self.late}

    def _check(self) -> None:
        """Nothing is derived, so nothing can be inconsistent."""


def reference_maker(pattern: Pattern, cls: type[ReferenceEngine] = ReferenceEngine) -> Maker:
    def restore(plan: Plan, data: bytes) -> ReferenceEngine:
        engine = cls(plan, pattern)
        engine.events, engine.known, engine.watermark, engine.newest, engine.late = pickle.loads(data)
        return engine

    return Maker(lambda plan: cls(plan, pattern), restore)


class ForgetsOnRestore(ReferenceEngine):
    """Loses the newest event of each stream in a snapshot."""

    def snapshot(self) -> bytes:
        fewer = {name: rows[:-1] for name, rows in self.events.items()}
        return pickle.dumps((fewer, self.known, self.watermark, self.newest, self.late))


class ShortWindow(ReferenceEngine):
    """Takes the window's end for outside."""

    def __init__(self, plan: Plan, pattern: Pattern) -> None:
        shorter = None if pattern.window is None else pattern.window - 1
        super().__init__(plan, replace(pattern, window=shorter))


def _loosened(body: Body) -> Body:
    """Without the order between the last two items of a SEQ."""
    return Seq((*body.items[:-2], All(body.items[-2:]))) if isinstance(body, Seq) else body


class TiesAreOrdered(ReferenceEngine):
    """Lets events of one time follow each other: drops the order between the last two steps."""

    def __init__(self, plan: Plan, pattern: Pattern) -> None:
        super().__init__(plan, replace(pattern, body=_loosened(pattern.body)))


class DropsDuplicates(ReferenceEngine):
    """Set semantics where a bag is asked for."""

    def _now(self) -> Counter[Key]:
        return Counter(dict.fromkeys({key[2]: key for key in super()._now()}.values(), 1))


class IdsByArrival(ReferenceEngine):
    """Numbers its matches as they come."""

    def _now(self) -> Counter[Key]:
        old = {key[:3]: key for key in self.known}
        fresh = (key for key in super()._now())
        return Counter(
            [
                old.get(key[:3], (*key[:3], hashlib.md5(f"{i}{len(self.known)}".encode()).digest()))
                for i, key in enumerate(fresh)
            ]
        )


class NeverRetracts(ReferenceEngine):
    """Forgets the event, leaves its matches standing."""

    def _now(self) -> Counter[Key]:
        return super()._now() | self.known


class KeepsLateEvents(ReferenceEngine):
    """Counts late events and lets them match."""

    def push(self, batch: Mapping[str, pa.RecordBatch], watermark: Watermark) -> pa.RecordBatchReader:
        kept, self.watermark = self.watermark, None
        reader = super().push(batch, watermark)
        self.watermark = self.watermark if self.watermark is not None else kept
        return reader


FAULTY = (KeepsLateEvents, ForgetsOnRestore, ShortWindow, TiesAreOrdered, DropsDuplicates, IdsByArrival, NeverRetracts)
