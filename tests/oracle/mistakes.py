"""Mistakes to put into the engine, one at a time, to see whether and how soon the oracle finds them.

Each is a mistake that somebody made, or nearly: an edge of an inequality or of the window, a condition left out, state
given up too early. `python -m tests.oracle --mistake NAME` runs until it is found and says after how many comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np

from cep.compiler import branches, gaps, pipeline, union
from cep.compiler import plan as plans
from cep.ir.expr import Col, rewrite, variables
from cep.ir.model import Condition, Pattern
from cep.ir.plan import Range, Step
from runtime import Engine, settle
from runtime.branch import Branch
from runtime.intake.selection import Selection
from runtime.results.distinct import Alive
from runtime.search.gaps import Asks
from runtime.search.ranges import Ranges
from runtime.state import chains
from runtime.state.leaf import Leaf
from runtime.state.running import RunningSums

SECOND = 1_000_000
Mistake = Callable[[], Any]


def _best_starts_rise_strictly() -> Any:
    """Best starts of a chain ignore ties: `<=` along the chain is taken for `<` (issue 16, defect 1)."""
    known = chains._edge_range

    def strictly(step: Step) -> Range:
        found = known(step)
        return replace(found, op=">") if found.op == ">=" else found

    return patch.object(chains, "_edge_range", strictly)


def _window_is_short() -> Any:
    """The window is one microsecond too short."""
    known = Ranges.__init__

    def shorter(self: Ranges, *given: Any) -> None:
        known(self, *given)
        if self._window is not None:
            self._window -= 1

    return patch.object(Ranges, "__init__", shorter)


def _expires_early() -> Any:
    """Events leave one microsecond before the window has passed over them."""
    known = Branch.horizon

    def early(self: Branch, watermark: int | None) -> int | None:
        horizon = known(self, watermark)
        return None if horizon is None else horizon + 1

    return patch.object(Branch, "horizon", early)


def _filter_dropped() -> Any:
    """Of several conditions on one variable only the first is asked."""
    known = Selection.__init__

    def fewer(self: Selection, stream: Any, late: Any, filters: tuple[Any, ...]) -> None:
        known(self, stream, late, filters[:1])

    return patch.object(Selection, "__init__", fewer)


def _distinct_forgets() -> Any:
    """Tuples of a DISTINCT are forgotten a second before they die."""
    known = Alive.prune
    return patch.object(Alive, "prune", lambda self, watermark: known(self, watermark + SECOND))


def _watermark_is_late() -> Any:
    """An event at the watermark itself is taken for late."""
    known = Engine._late

    def late(self: Engine, stream: Any) -> Any:
        before, self.watermark = self.watermark, None if self.watermark is None else self.watermark + 1
        try:
            return known(self, stream)
        finally:
            self.watermark = before

    return patch.object(Engine, "_late", late)


def _removed_rows_stay() -> Any:
    """A row that is taken back stays in the last of several indexes of its variable."""
    known = Leaf.remove

    def remove(self: Leaf, plan: Any, rows: Any) -> None:
        indexes = self.indexes
        if len(indexes) > 1:
            self.indexes = dict(list(indexes.items())[:-1])
        try:
            known(self, plan, rows)
        finally:
            self.indexes = indexes

    return patch.object(Leaf, "remove", remove)


MISTAKES: dict[str, Mistake] = {
    "best-starts": _best_starts_rise_strictly,
    "window": _window_is_short,
    "expiry": _expires_early,
    "filter": _filter_dropped,
    "distinct": _distinct_forgets,
    "late": _watermark_is_late,
    "removal": _removed_rows_stay,
}


# --- of gaps, for `tests.oracle.gaps` ---------------------------------------------------------------------------------


def _settles_early() -> Any:
    """What waits is settled one microsecond before its gap has passed."""
    known = gaps._held

    def early(*given: Any) -> tuple[str, int]:
        name, shift = known(*given)
        return name, max(shift - 1, 0)

    return patch.object(gaps, "_held", early)


def _keeps_a_window() -> Any:
    """Events are kept for a window, although what waits for longer may ask about them."""
    return patch.object(plans, "keeps", lambda *_: {})


def _expires_first() -> Any:
    """A watermark that jumps forgets before it settles."""
    known = settle.settle

    def late(engine: Engine, sign: int | None, *, find: bool) -> Iterator[Any]:
        engine._expire()
        yield from known(engine, sign, find=find)

    return patch.object(settle, "settle", late)


def _filter_leaves_its_gap() -> Any:
    """A condition on an event that must not come is asked of a single event of the same key, too."""
    known = pipeline.normalise

    def copied(pattern: Pattern) -> Any:
        if not pattern.variables:
            return known(pattern)
        single = pattern.variables[0].name
        more = [
            Condition(expr=rewrite(c.expr, lambda n: replace(n, var=single) if isinstance(n, Col) else n), span=c.span)
            for gap in pattern.gaps
            for c in gap.conditions
            if variables(c.expr) == {gap.name}
        ]
        return known(replace(pattern, conditions=(*pattern.conditions, *more)))

    return patch.object(pipeline, "normalise", copied)


def _every_event_is_the_last_of_its_moment() -> Any:
    """A set that stands alone is told once for each event of a moment."""
    return patch.object(Asks, "_last_of_moment", lambda _, rows: np.ones(len(rows), dtype=np.bool_))


def _sums_leave_out_the_first() -> Any:
    """A running sum's difference is that of the rows after the first one."""
    known = RunningSums.totals

    def short(self: RunningSums, low: Any, counts: Any, size: int) -> Any:
        fewer = np.maximum(counts - 1, 0)
        return known(self, low + (counts - fewer), fewer, size)

    return patch.object(RunningSums, "totals", short)


GAP_MISTAKES: dict[str, Mistake] = {
    "early": _settles_early,
    "keep": _keeps_a_window,
    "expires-first": _expires_first,
    "filter-leaves": _filter_leaves_its_gap,
    "moment": _every_event_is_the_last_of_its_moment,
    "sums": _sums_leave_out_the_first,
}


# --- of alternatives, for `tests.oracle.either` -----------------------------------------------------------------------


def _best_starts_of_another() -> Any:
    """Where alternatives share a leaf, all go by the best starts of the first."""
    known = Leaf.best_starts

    def first(self: Leaf, branch: int = 0) -> Any:
        return known(self, min(self.best, default=branch))

    return patch.object(Leaf, "best_starts", first)


def _keeps_for_the_first() -> Any:
    """A shared leaf is kept for as long as the first alternative needs it."""
    known = union._Merged.finished

    def finished(self: Any, order: Any, streams: Any) -> Any:
        return tuple(replace(leaf, keep=self.keeps[leaf.var][0]) for leaf in known(self, order, streams))

    return patch.object(union._Merged, "finished", finished)


def _asked_of_all() -> Any:
    """A condition is asked of alternatives that bind none of its variables, too."""
    return patch.object(branches, "_is_asked", lambda *_: True)


BRANCH_MISTAKES: dict[str, Mistake] = {
    "best-of-another": _best_starts_of_another,
    "keeps-for-the-first": _keeps_for_the_first,
    "asked-of-all": _asked_of_all,
}


@contextmanager
def mistaken(name: str) -> Iterator[None]:
    """While this lasts, the engine makes the mistake."""
    with (MISTAKES | GAP_MISTAKES | BRANCH_MISTAKES)[name]():
        yield
