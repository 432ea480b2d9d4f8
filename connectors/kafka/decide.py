"""What becomes of a batch that is offered for publication: pure decisions, no effects.

A batch is known by its number *and* by the input that it read (`InputRange`: where each source stood before and after).
The number alone says nothing: a checkpoint that is restored from a backup, or that lost Spark's part, counts the same
numbers again over other input. Three things are compared:

* the newest *marker* of the job, from the marker topic: the last batch (or part of one) that was committed, its range,
  and the ranges of up to `HISTORY` batches before it;
* the *kept* marker, the copy in the checkpoint that is written after each commit: it tells that markers were lost;
* the batch that is offered, and what the checkpoint *now* says of the newest marker's batch (`then`).

The rules, in their order:

1. The same number and the same range: published before, skipped; where only some parts of it are there, the rest is
   published. Spark repeats a batch with the offsets that it wrote down, so this is every ordinary restart.
2. A lower number with the range that it had then (in the history): skipped. This is a restored backup whose batches
   came out as they were.
3. A higher number that goes on from the newest marker: published. It does so if `then` is the marker's own range
   (the checkpoint has the history that the marker tells) and the batch begins nowhere before the marker's end.
4. Everything else is a *rewind*: refused by default, with both ranges named.

Why 4 is not solved by positions ("what lies below the published offsets was published"): the matches of a prefix of the
input do not depend on how it is cut into batches, but a batch that lies across the published position has matches on
both sides of it, and which match was found by which event is not kept. Skipping it loses matches, publishing it repeats
some: that is the user's choice. `republish` publishes it, and the timeline of the job goes on from there: the history
from that number on is forgotten. Ids of matches are stable, so consumers can drop repeats.

Where ranges are unknown the number decides, as in markers of earlier versions: a batch that is offered without a range
(`TransactionalPublisher` used by itself), or one with the number of a marker without. A *lower* number than that of a
marker without range is a rewind: the marker cannot tell.

Not guaranteed: that a higher number over unknown positions (a source that is neither Kafka nor files) after more
batches without matches than Spark keeps offsets for (100) is told from a rewind.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

from connectors.kafka.marker import HISTORY, Marker

FAIL, REPUBLISH = "fail", "republish"
POLICIES = (FAIL, REPUBLISH)
_SHOWN = 6
"""Positions that a message names; a topic can have thousands."""
_ADVICE = (
    "Was an older backup of the checkpoint restored, or part of it lost? To publish from here on, start once with "
    "--on-rewind republish: consumers may see matches again, with the same ids"
)


@dataclass(frozen=True, slots=True)
class InputRange:
    """What a batch read: positions of its sources before it (None: unknown, or it is the first) and after it.

    `content` tells what positions do not: the names of the files, or the offsets of a source that has no positions.
    """

    start: Mapping[str, int] | None
    end: Mapping[str, int]
    content: str = ""

    @property
    def digest(self) -> str:
        """The same for the same range, in every process."""
        start = None if self.start is None else dict(sorted(self.start.items()))
        text = json.dumps([start, dict(sorted(self.end.items())), self.content])
        return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()

    def __str__(self) -> str:
        return describe(self.start, self.end)


def describe(start: Mapping[str, int] | None, end: Mapping[str, int]) -> str:
    """A range for people.

    >>> describe({"0:trades@Zk3[0]": 10, "0:trades@Zk3[1]": 7}, {"0:trades@Zk3[0]": 20, "0:trades@Zk3[1]": 7})
    'trades[0] 10-20'
    >>> describe(None, {"0:trades[0]": 20})
    'trades[0] up to 20'
    """
    moved = [
        (place, None if start is None else start.get(place), offset)
        for place, offset in sorted(end.items())
        if start is None or start.get(place) != offset
    ]
    shown = [
        f"{plain(place)} up to {offset}" if before is None else f"{plain(place)} {before}-{offset}"
        for place, before, offset in moved[:_SHOWN]
    ]
    more = [f"{len(moved) - _SHOWN} more"] if len(moved) > _SHOWN else []
    return ", ".join(shown + more) or "no new input"


def plain(place: str) -> str:
    """A position's name without the number of its source and the topic's id.

    >>> plain("0:trades@Zk3vQ[2]"), plain("1:files")
    ('trades[2]', 'files')
    """
    name = place.partition(":")[2] or place
    topic, at, rest = name.rpartition("@")
    return name if not at else topic + "[" + rest.partition("[")[2]


@dataclass(frozen=True, slots=True)
class Publish:
    """Publish the batch, after the first `after` records of it, whose digest is `content`: these are there already.

    The first part to write has the number `part`. `history` are the batches before it that stay known. `warning` is for
    the log.
    """

    after: int = 0
    content: str = ""
    part: int = 0
    history: tuple[tuple[int, str], ...] = ()
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Skip:
    """The batch is published. `records` of it, as far as that is known."""

    records: int
    warning: str | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """Nothing may be published: the text says why and what to do."""

    reason: str


@dataclass(frozen=True, slots=True)
class Known:
    """What is published, after the marker topic and the checkpoint were compared."""

    marker: Marker | None
    warning: str | None = None


def reconcile(newest: Marker | None, kept: Marker | None, policy: str = FAIL) -> Known | Refuse:
    """What of a job is published, given its newest marker and the copy in its checkpoint.

    A marker is never behind the checkpoint's copy, which is written later. If it is, markers were lost: the topic was
    deleted, expired, or is another cluster's.
    """
    if kept is None or (newest is not None and newest.serial >= kept.serial):
        return Known(newest)
    if newest is not None and newest.serial == 0 and newest.batch >= kept.batch:
        return Known(newest)  # an earlier version, which counts no markers, went on with the job
    # Also where the copy says that nothing is published yet: it is a batch behind if its driver was killed in between.
    found = "none" if newest is None else f"an older one, of batch {newest.batch}"
    what = f"batch {kept.batch} of job {kept.job} was published" if kept.batch >= 0 else f"job {kept.job} has a marker"
    text = (
        f"the checkpoint says that {what}, the marker topic has {found}: "
        "markers were lost (was the topic deleted, or is this another cluster?)"
    )
    if policy == REPUBLISH:
        return Known(
            kept,
            f"{text}; going on from the checkpoint. Matches of the batch after that may be published twice",
        )
    return Refuse(
        f"{text}. Whether the batch after it was published cannot be known. Restore the topic, or start once with "
        "--on-rewind republish: consumers may see matches of one batch again, with the same ids"
    )


@dataclass(frozen=True, slots=True)
class Offer:
    """A batch that is offered. `then` is what the checkpoint now says of the newest marker's batch (None: nothing)."""

    batch: int
    range: InputRange | None = None
    then: InputRange | None = None


def decide(newest: Marker | None, offer: Offer, policy: str = FAIL) -> Publish | Skip | Refuse:
    """What becomes of a batch; see the module's text."""
    if newest is None or newest.batch < 0:
        return Publish()
    if offer.batch == newest.batch:
        return _same_number(newest, offer, policy)
    if offer.batch < newest.batch:
        return _lower_number(newest, offer, policy)
    return _higher_number(newest, offer, policy)


def _same_number(newest: Marker, offer: Offer, policy: str) -> Publish | Skip | Refuse:
    if offer.range is not None and newest.range is not None and offer.range.digest != newest.range:
        was, has = _ends(newest), str(offer.range)
        other = " (others of the same number)" if was == has else ""
        return _rewind(newest, offer, policy, f"it was published with {was}, now it has {has}{other}")
    if newest.last:
        return Skip(newest.records)
    return Publish(newest.records, newest.content, newest.part + 1, newest.history)


def _lower_number(newest: Marker, offer: Offer, policy: str) -> Publish | Skip | Refuse:
    if offer.range is None:
        return Skip(0, f"batch {offer.batch} is below the newest that was published, {newest.batch}: skipped")
    if dict(newest.history).get(offer.batch) == offer.range.digest:
        return Skip(0)
    return _rewind(
        newest,
        offer,
        policy,
        f"it has {offer.range}; everything up to batch {newest.batch} ({_ends(newest)}) was published, and this batch "
        + ("had another range then" if offer.batch in dict(newest.history) else "is not known among what was"),
    )


def _higher_number(newest: Marker, offer: Offer, policy: str) -> Publish | Refuse:
    if not newest.last:
        return _rewind(
            newest,
            offer,
            policy,
            f"batch {newest.batch} ({_ends(newest)}) was published in part only, {newest.records:,} records of it, and "
            "was not offered again",
        )
    if offer.then is not None and newest.range is not None and offer.then.digest != newest.range:
        return _rewind(
            newest,
            offer,
            policy,
            f"batch {newest.batch} was published with {_ends(newest)}, the checkpoint has it with {offer.then}",
        )
    if offer.range is not None and offer.range.start is not None and newest.end is not None:
        behind = [
            f"{plain(place)} begins at {offset}, {newest.end[place]} was published"
            for place, offset in sorted(offer.range.start.items())
            if offset < newest.end.get(place, offset)
        ]
        if behind:
            more = f" and {len(behind) - _SHOWN} more" if len(behind) > _SHOWN else ""
            return _rewind(newest, offer, policy, "; ".join(behind[:_SHOWN]) + more)
    return Publish(history=_history(newest, offer.batch))


def _rewind(newest: Marker, offer: Offer, policy: str, what: str) -> Publish | Refuse:
    if policy != REPUBLISH:
        return Refuse(
            f"batch {offer.batch} of job {newest.job} is not the one that the published matches go on with: "
            f"{what}. {_ADVICE}"
        )
    return Publish(
        history=_history(newest, offer.batch),
        warning=f"batch {offer.batch} of job {newest.job} is published again: {what}. Consumers may see matches again, "
        "with the same ids",
    )


def _history(newest: Marker, batch: int) -> tuple[tuple[int, str], ...]:
    """The batches before `batch` that stay known."""
    known = dict(newest.history)
    if newest.range is not None and newest.last:
        known[newest.batch] = newest.range
    return tuple(sorted((number, digest) for number, digest in known.items() if number < batch))[-HISTORY:]


def _ends(marker: Marker) -> str:
    if marker.end is None:
        return "an unknown range" if marker.range is None else f"range {marker.range}"
    return describe(marker.start, marker.end)
