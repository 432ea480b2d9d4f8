"""Partial matches, held column-wise: what the matcher makes longer and the output puts out.

Times are by name where they can be: as long as each event that is added is known to come before (or after) one that is
there, the earliest (or latest) is the event of one variable, and its times are in that variable's leaf already. A SEQ
never compares times that its joins have compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from runtime.state.leaf import Leaf

Times = np.ndarray | str | None
"""One time a match: the values, or the variable whose times they are; None where no stream has times."""

Places = Mapping[str, tuple[np.ndarray, np.ndarray | None]]
"""By variable: its rows, and how often each of them is repeated (None: once)."""


@dataclass(slots=True)
class Partial:
    """Partial matches: `rows[var][i]` is the row that match i binds to var.

    The last step's rows are kept apart until they are put out: `last` holds them, and `repeats` says how many of them
    belong to each match before it, so that the columns of all other variables are gathered once and repeated.

    `branch` is the alternative of the pattern that they are of, one for all or one each.
    """

    size: int
    rows: dict[str, np.ndarray]
    earliest: Times
    latest: Times
    last: tuple[str, np.ndarray, np.ndarray] | None = None
    branch: int | np.ndarray = 0

    def take(self, keep: np.ndarray | slice) -> Partial:
        """The matches selected by a mask, by positions, or a slice of them."""
        rows = {var: values[keep] for var, values in self.rows.items()}
        size = len(next(iter(rows.values())))
        branch = self.branch[keep] if isinstance(self.branch, np.ndarray) else self.branch
        return Partial(size, rows, _taken(self.earliest, keep), _taken(self.latest, keep), None, branch)

    def flat(self) -> Partial:
        """The same matches without `last`."""
        if self.last is None:
            return self
        var, rows, repeats = self.last
        flat = {name: values.repeat(repeats) for name, values in self.rows.items()}
        flat[var] = rows
        return Partial(len(rows), flat, self.earliest, self.latest, None, self.branch)

    def start(self, leaves: Mapping[str, Leaf]) -> np.ndarray | None:
        """The time of each match's earliest event."""
        return self._times(self.earliest, leaves)

    def end(self, leaves: Mapping[str, Leaf]) -> np.ndarray | None:
        """The time of each match's latest event."""
        return self._times(self.latest, leaves)

    def _times(self, times: Times, leaves: Mapping[str, Leaf]) -> np.ndarray | None:
        if not isinstance(times, str):
            return times
        values = leaves[times].time
        assert values is not None
        rows, repeats = self.places()[times]
        return values.at(rows) if repeats is None else values.at(rows).repeat(repeats)

    def places(self) -> Places:
        """What to gather and repeat for each variable."""
        if self.last is None:
            return {var: (rows, None) for var, rows in self.rows.items()}
        last, rows, repeats = self.last
        places: dict[str, tuple[np.ndarray, np.ndarray | None]] = {v: (r, repeats) for v, r in self.rows.items()}
        places[last] = (rows, None)
        return places


def _taken(times: Times, keep: np.ndarray | slice) -> Times:
    return times[keep] if isinstance(times, np.ndarray) else times
