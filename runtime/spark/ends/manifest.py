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
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlparse

from cep.ir.plan import Plan
from runtime.spark.errors import JobError

NAME = "cep-job.json"
FORMAT = 1
NO_KEY = "none"


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
    id_key: str | None = None
    """What tells the key of its ids apart (`IdKey.digest`), `NO_KEY`, or None where it was written before keys were."""

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
        if self.id_key is not None:
            content["id_key"] = self.id_key
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
                job=content["job"],
                buckets=content["buckets"],
                streams=tuple(content["streams"]),
                patterns=patterns,
                id_key=content.get("id_key"),
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
        entries = {plan.pattern: Entry(plan.meaning, 0, True) for plan in plans}
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
            entries[plan.pattern] = Entry(plan.meaning, 0, True)
            changes.append(Change(plan.pattern, "is new"))
        elif before.active and plan.is_of(before.key):
            entries[plan.pattern] = Entry(plan.meaning, before.generation, True)
        else:
            if before.active:
                changed.append(plan.pattern)
            entries[plan.pattern] = Entry(plan.meaning, before.generation + 1, True)
            changes.append(Change(plan.pattern, "restarts" if before.active else "is new"))
    if changed and policy == "fail":
        which = ", ".join(f"`{name}`" for name in changed)
        raise JobError(
            f"pattern {which} changed since the checkpoint was written, and what it remembers fits the old one. "
            "With --on-pattern-change restart it starts anew, without the events it has seen (other patterns go on); "
            "or give it another name; or use a new checkpoint"
        )
    return Manifest(job=old.job, buckets=old.buckets, streams=names, patterns=entries), changes


def with_id_key(new: Manifest, old: Manifest | None, digest: str | None) -> Manifest:
    """The manifest with the key of the job's ids; `JobError` where the checkpoint was written with another."""
    chosen = digest or NO_KEY
    if old is not None and old.id_key is not None and old.id_key != chosen:
        before = "without --id-key" if old.id_key == NO_KEY else f"with another id key (its digest is {old.id_key})"
        raise JobError(
            f"the checkpoint was written {before}: matches that are delivered again after a restart would have other "
            "ids, and nobody could tell. Start with the key of then, or with a new checkpoint"
        )
    return replace(new, id_key=chosen)


# --- files ---------------------------------------------------------------------------------------------------------


def load(checkpoint: str) -> Manifest | None:
    """The manifest of a checkpoint, None where the checkpoint is new; `JobError` where another program wrote it."""
    text = read(checkpoint, NAME)
    if text is not None:
        return Manifest.from_json(text, f"{checkpoint.rstrip('/')}/{NAME}")
    directory = local(checkpoint)
    if directory is not None and (directory / "offsets").exists():
        raise JobError(f"{checkpoint}: a checkpoint of another program: use a directory of its own for this job")
    return None


def store(manifest: Manifest, checkpoint: str) -> None:
    """Write the manifest, all or nothing; `JobError` where the checkpoint cannot be written."""
    write(checkpoint, NAME, manifest.to_json())


def create(manifest: Manifest, checkpoint: str) -> None:
    """Write the manifest of a new checkpoint; `JobError` where another job has done so meanwhile.

    Two names for one job would publish side by side, and none would fence the other. Object stores cannot create a file
    only where there is none, so there the other one is seen if it was a moment earlier.
    """
    directory = local(checkpoint)
    try:
        if directory is not None:
            write_local(directory, NAME, manifest.to_json(), new=True)
            return
        if read(checkpoint, NAME) is None:
            store(manifest, checkpoint)
            return
    except FileExistsError:
        pass
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: {NAME} cannot be written: {error.strerror or error}") from error
    raise JobError(f"checkpoint {checkpoint}: another job has begun with it at the same moment: start this one again")


def read(checkpoint: str, name: str) -> str | None:
    """The text of a file of a checkpoint, None where there is none; `JobError` where it cannot be read."""
    directory = local(checkpoint)
    try:
        if directory is not None:
            return (directory / name).read_text(encoding="utf-8")
        filesystem, path = remote(checkpoint)
        with filesystem.open_input_stream(f"{path}/{name}") as file:
            return str(file.read().decode())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: {name} cannot be read: {error.strerror or error}") from error


def write(checkpoint: str, name: str, text: str) -> None:
    """Replace a file of a checkpoint, all or nothing; `JobError` where it cannot be written."""
    directory = local(checkpoint)
    try:
        if directory is not None:
            write_local(directory, name, text)
            return
        filesystem, path = remote(checkpoint)
        with filesystem.open_output_stream(f"{path}/{name}") as file:  # object stores show a whole object or none
            file.write(text.encode())
    except OSError as error:
        raise JobError(f"checkpoint {checkpoint}: {name} cannot be written: {error.strerror or error}") from error


def write_local(directory: Path, name: str, text: str, *, new: bool = False) -> None:
    """Write a file of a directory, all or nothing; `FileExistsError` where it is to be `new` and is not."""
    directory.mkdir(parents=True, exist_ok=True)
    temporary = directory / f".{name}.{uuid.uuid4().hex}"
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if new and _linked(temporary, directory / name):
            temporary.unlink()
        else:
            temporary.replace(directory / name)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _linked(source: Path, target: Path) -> bool:
    """Give a file its name, which must be free; False where the file system has no links and the name is free."""
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        if target.exists():
            raise FileExistsError(target) from None
        return False
    return True


def local(checkpoint: str) -> Path | None:
    """The directory, where the checkpoint is on a mounted file system."""
    parsed = urlparse(checkpoint)
    if parsed.scheme in ("", "file"):
        return Path(parsed.path if parsed.scheme else checkpoint)
    return None


def remote(checkpoint: str):  # type: ignore[no-untyped-def]  # pyarrow has no types
    """The file system and path of a checkpoint that is not on a mounted file system."""
    from pyarrow import fs

    try:
        return fs.FileSystem.from_uri(checkpoint)
    except (ValueError, OSError) as error:
        raise JobError(f"checkpoint {checkpoint}: {error}") from error
