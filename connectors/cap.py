"""How many matches a batch may have: `--max-matches-per-batch`, and what becomes of the others.

A small input can make very many matches (a pattern without a selective condition, a flood of events of one key). `Cap`
looks at how many there are before anything is written: with `fail` the job stops, with `truncate` the first ones in the
order of the sink are written and the rest is dropped, with a warning and a count (`Tally`, for metrics).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from connectors.kafka.config import KafkaFailureError, logger

FAIL, TRUNCATE = "fail", "truncate"


class TooManyMatchesError(KafkaFailureError):
    """A batch has more matches than are allowed."""

    passing = False


@dataclass(slots=True)
class Tally:
    """What did not become of the matches of a batch what should, by batch number; taken by who reports the batch."""

    truncated: dict[int, int] = field(default_factory=dict)
    too_large: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cap:
    """At most `limit` matches a batch, None: as many as there are."""

    limit: int | None = None
    policy: str = FAIL

    def kept(self, counts: Sequence[int], batch: int, tally: Tally | None = None) -> list[int]:
        """How many rows to take of each part of a batch, in order; `TooManyMatchesError` where there are too many.

        >>> Cap(5, TRUNCATE).kept([3, 4, 2], 0), Cap().kept([3, 4, 2], 0)
        ([3, 2, 0], [3, 4, 2])
        """
        total = sum(counts)
        if self.limit is None or total <= self.limit:
            return list(counts)
        if self.policy != TRUNCATE:
            raise TooManyMatchesError(
                f"batch {batch} has {total:,} matches, more than --max-matches-per-batch {self.limit:,}: nothing of it "
                "was written. Is a condition of the pattern missing? Else raise the limit, or drop what is over it: "
                "--on-too-many truncate"
            )
        dropped = total - self.limit
        logger.warning(
            "batch %d has %d matches, more than --max-matches-per-batch %d: %d were dropped",
            batch,
            total,
            self.limit,
            dropped,
        )
        if tally is not None:
            tally.truncated[batch] = dropped
        left, taken = self.limit, []
        for count in counts:
            taken.append(min(count, left))
            left -= taken[-1]
        return taken
