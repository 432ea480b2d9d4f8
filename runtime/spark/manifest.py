"""What a checkpoint knows of the job that wrote it: `cep-job.json` in its directory.

Spark's checkpoint knows offsets and state, but not which patterns the state belongs to. The manifest says so, and is
compared before the job starts: a pattern that is unchanged, or only written differently (`Plan.key` is the same),
goes on; one that changed is refused, or starts anew with the next *generation*; patterns that came or went do not
concern the others. A pattern that went and comes back starts anew as well: it has missed events.

It is replaced atomically before the query starts, so it never lags behind what the state may contain.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlparse

from cep.plan import Plan
from runtime.spark.errors import JobError

NAME = "cep-job.json"
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Entry:
    """A pattern that the job has or had."""

    key: str
    generation: int
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """A job as its checkpoint remembers it. `job` names it to the outside for as long as the checkpoint lives."""

    job: str
    buckets: int
    streams: tuple[str, ...]
    patterns: dict[str, Entry] = field(default_factory=dict)

    @property
    def generations(self) -> dict[str, int]:
        """The generation of each pattern of the job."""
        return {name: entry.generation for name, entry in self.patterns.items() if entry.active}

    def to_json(self) -> str:
        """As it is stored."""
        patterns = {
            name: {"key": entry.key, "generation": entry.generation, "active": entry.active}
            for name, entry in sorted(self.patterns.items())
        }
        content = {
            "format": FORMAT,
            "job": self.job,
            "buckets": self.buckets,
            "streams": list(self.streams),
            "patterns": patterns,
        }
        return json.dumps(content, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str) -> Manifest:
        """As it was stored; `JobError` where it cannot be understood."""
        try:
            content = json.loads(text)
            if content["format"] != FORMAT:
                raise JobError(
                    f"{where}: written by another version (format {content['format']}): use a new checkpoint"
                )
            patterns = {name: Entry(e["key"], e["generation"], e["active"]) for name, e in content["patterns"].items()}
            return cls(
                job=content["job"], buckets=content["buckets"], streams=tuple(content["streams"]), patterns=patterns
            )
        except (ValueError, KeyError, TypeError) as error:
            raise JobError(f"{where}: expected the description of a job, found something else ({error})") from error


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a pattern: `continues`, `restarts`, `is new`, `is removed`."""

    pattern: str
    what: str


def reconcile(
    old: Manifest | None, plans: Sequence[Plan], streams: Sequence[str], buckets: int | None, policy: str
) -> tuple[Manifest, list[Change]]:
    """The manifest of the job to start, and what changes; `JobError` where the checkpoint does not allow it."""
    names = tuple(sorted(streams))
    if old is None:
        entries = {plan.pattern: Entry(plan.key, 0, True) for plan in plans}
        return Manifest(job=uuid.uuid4().hex, buckets=buckets or 0, streams=names, patterns=entries), []
    if buckets is not None and buckets != old.buckets:
        raise JobError(
            f"the checkpoint was written with {old.buckets} buckets, and state cannot be moved between buckets: "
            f"use --buckets {old.buckets}, or a new checkpoint"
        )
    if names != old.streams:
        raise JobError(
            f"the checkpoint was written by a job that reads {', '.join(old.streams)}, this one reads "
            f"{', '.join(names)}: keep an --in for each (also where no pattern uses it now), or use a new checkpoint"
        )
    entries = {name: Entry(e.key, e.generation, False) for name, e in old.patterns.items()}
    changes = [
        Change(name, "is removed")
        for name, entry in sorted(old.patterns.items())
        if entry.active and name not in {plan.pattern for plan in plans}
    ]
    changed = []
    for plan in plans:
        before = old.patterns.get(plan.pattern)
        if before is None:
            entries[plan.pattern] = Entry(plan.key, 0, True)
            changes.append(Change(plan.pattern, "is new"))
        elif before.active and before.key == plan.key:
            entries[plan.pattern] = Entry(plan.key, before.generation, True)
        else:
            if before.active:
                changed.append(plan.pattern)
            entries[plan.pattern] = Entry(plan.key, before.generation + 1, True)
            changes.append(Change(plan.pattern, "restarts" if before.active else "is new"))
    if changed and policy == "fail":
        which = ", ".join(f"`{name}`" for name in changed)
        raise JobError(
            f"pattern {which} changed since the checkpoint was written, and what it remembers fits the old one. "
            "With --on-pattern-change restart it starts anew, without the events it has seen (other patterns go on); "
            "or give it another name; or use a new checkpoint"
        )
    return Manifest(job=old.job, buckets=old.buckets, streams=names, patterns=entries), changes


# --- files ---------------------------------------------------------------------------------------------------------


def load(checkpoint: str) -> Manifest | None:
    """The manifest of a checkpoint, None where the checkpoint is new; `JobError` where another program wrote it."""
    directory = local(checkpoint)
    if directory is None:
        return _remote_load(checkpoint)
    try:
        path = directory / NAME
        if path.exists():
            return Manifest.from_json(path.read_text(encoding="utf-8"), str(path))
        if (directory / "offsets").exists():
            raise JobError(f"{checkpoint}: a checkpoint of another program: use a directory of its own for this job")
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: cannot be read: {error.strerror}") from error
    return None


def store(manifest: Manifest, checkpoint: str) -> None:
    """Write the manifest, all or nothing; `JobError` where the checkpoint cannot be written."""
    directory = local(checkpoint)
    if directory is None:
        _remote_store(manifest, checkpoint)
        return
    try:
        directory.mkdir(parents=True, exist_ok=True)
        temporary = directory / f".{NAME}.{uuid.uuid4().hex}"
        with temporary.open("w", encoding="utf-8") as file:
            file.write(manifest.to_json())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(directory / NAME)
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: cannot be written: {error.strerror}") from error


def local(checkpoint: str) -> Path | None:
    """The directory, where the checkpoint is on a mounted file system."""
    parsed = urlparse(checkpoint)
    if parsed.scheme in ("", "file"):
        return Path(parsed.path if parsed.scheme else checkpoint)
    return None


def _remote_load(checkpoint: str) -> Manifest | None:
    filesystem, path = _remote(checkpoint)
    try:
        with filesystem.open_input_stream(f"{path}/{NAME}") as file:
            return Manifest.from_json(file.read().decode(), f"{checkpoint}/{NAME}")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: cannot be read: {error}") from error


def _remote_store(manifest: Manifest, checkpoint: str) -> None:
    filesystem, path = _remote(checkpoint)
    try:
        with filesystem.open_output_stream(f"{path}/{NAME}") as file:  # object stores show a whole object or none
            file.write(manifest.to_json().encode())
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: cannot be written: {error}") from error


def _remote(checkpoint: str):  # type: ignore[no-untyped-def]  # pyarrow has no types
    from pyarrow import fs

    try:
        return fs.FileSystem.from_uri(checkpoint)
    except (ValueError, OSError) as error:
        raise JobError(f"checkpoint {checkpoint}: {error}") from error
