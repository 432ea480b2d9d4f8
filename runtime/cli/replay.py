"""`cep replay`: run patterns over files of events, in this process.

The output holds whole lines whatever ends the run: its end, an error in an input, Ctrl-C, SIGTERM, or a reader that
closed its pipe. A Parquet or Arrow file is complete in the same cases, with the matches found until then.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cep.cli.files import compile_file, import_root_option
from cep.cli.status import BROKEN_PIPE, FAILED
from cep.diagnostics import did_you_mean
from connectors.formats import EVENT_FORMATS, MATCH_FORMATS, match_format
from runtime.cli.interrupt import Interrupted, Interrupts
from runtime.cli.options import STRICT_SCHEMA, MaxAhead, OnError, Size, StreamPath, id_key_option
from runtime.memory import peak_rss

if TYPE_CHECKING:
    from cep.ir.model import Stream
    from cep.ir.plan import Plan
    from connectors.files import ErrorPolicy, Input
    from connectors.files.match_files import Matches
    from runtime.late import LateFile
    from runtime.replay import Replay
    from runtime.state.id_key import IdKey


@click.command(short_help="Run patterns over files of events, in this process.")
@click.argument("file", type=click.Path(allow_dash=True))
@click.option(
    "--in",
    "inputs",
    type=StreamPath(),
    multiple=True,
    metavar="STREAM=PATH",
    help="Events of a stream: a file (.jsonl, .csv, .parquet; .gz and .zst), a directory, a glob, or - for stdin. "
    "Once for each stream; several for one stream are merged.",
)
@click.option(
    "--out",
    default="-",
    metavar="FILE",
    show_default=True,
    help="Where matches go, in the format of the name's ending (.jsonl, .csv, .parquet, .arrow); - is stdout.",
)
@click.option("--out-format", type=click.Choice(MATCH_FORMATS), help="The format of the matches, whatever the name.")
@click.option("--pattern", "names", multiple=True, metavar="NAME", help="Only this pattern (can be repeated).")
@click.option("--stats", "stats_file", metavar="FILE", help="Write counts, speed and state sizes as JSON.")
@click.option(
    "--arrival-order",
    is_flag=True,
    help="Keep the order of the lines instead of sorting by event time; events later than the watermark are dropped "
    "and counted.",
)
@click.option(
    "--open-end",
    is_flag=True,
    help="More events will come: what waits for the watermark (NOT) is left waiting at the end of the inputs.",
)
@click.option(
    "--late",
    "late_file",
    metavar="FILE",
    help="Where late events go, with the watermark that they met, as JSON Lines; with --arrival-order.",
)
@click.option(
    "--on-error",
    "policy",
    type=OnError(),
    default="fail",
    metavar="fail|skip|dead-letter=FILE",
    show_default=True,
    help="What to do with a record that is not an event of its stream.",
)
@click.option(
    "--max-ahead",
    type=MaxAhead(),
    metavar="DURATION|off",
    help="An event dated further after this machine's clock is a bad record (--on-error). Default: what MAX AHEAD of "
    "its stream says, else no limit.",
)
@click.option(
    "--format",
    "kind",
    type=click.Choice(EVENT_FORMATS),
    help="The format of the inputs, where their names do not say it.",
)
@click.option("--strict-schema", is_flag=True, help=STRICT_SCHEMA)
@click.option("--batch-size", type=click.IntRange(min=1), default=65_536, show_default=True, help="Events a push.")
@click.option(
    "--memory", type=Size(), default="256MB", show_default=True, help="For sorting; what does not fit goes to disk."
)
@import_root_option
@id_key_option
@click.pass_context
def replay(
    ctx: click.Context,
    file: str,
    inputs: tuple[tuple[str, str], ...],
    out: str,
    out_format: str | None,
    names: tuple[str, ...],
    stats_file: str | None,
    arrival_order: bool,
    open_end: bool,
    late_file: str | None,
    policy: ErrorPolicy,
    max_ahead: int | None,
    kind: str | None,
    strict_schema: bool,
    batch_size: int,
    memory: int,
    import_root: str | None,
    id_key: IdKey | None,
) -> None:
    """Run the patterns of FILE over files of events and write the matches: JSON Lines, CSV, Parquet or Arrow.

    Events are sorted by event time first, so no event is late. Exit status: 0 done, 1 an invalid pattern, 2 bad usage,
    an unreadable input or a failed run, 130 and 143 after Ctrl-C and SIGTERM (the output then ends with a whole line).

    \b
    Example:
      cep replay card_testing.cep --in Trans=events.jsonl --out matches.jsonl --stats stats.json
    """  # noqa: D301 - click reads the backspace
    plans = chosen_plans(compile_file(file, import_root=import_root).plans, names, file)
    from connectors.files import InputError
    from connectors.files.match_files import FieldsDifferError, Table, open_matches

    try:
        found = find_inputs(plans, inputs, file, kind, max_ahead, every_column=late_file is not None)
        chosen = out_format or match_format(out)
        _refuse_overwriting(out, stats_file, policy, found, late_file)
        if chosen != "jsonl":
            Table(plans)
    except FieldsDifferError as error:
        raise click.UsageError(f"--out {out}: {error}") from error
    except (InputError, ValueError) as error:
        raise click.ClickException(str(error)) from error
    with open_matches(out, chosen, plans) as sink, Interrupts() as interrupts:
        run = _Run(plans, found, interrupts, arrival_order, policy, batch_size, memory, id_key, late_file, open_end)
        status = run.to(sink, strict_schema)
    if stats_file is not None:
        _write_stats(stats_file, run.stats())
    if status == BROKEN_PIPE and out == "-":
        # The reader has seen enough; nothing may be flushed into its pipe any more, not by the interpreter either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    ctx.exit(status)


def chosen_plans(plans: Sequence[Plan], names: Sequence[str], file: str) -> list[Plan]:
    """The plans that `--pattern` names, all where it names none; a usage error for an unknown name."""
    known = [plan.pattern for plan in plans]
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise click.UsageError(
                f"no pattern `{name}` in {file}" + (f": {hint}" if hint else f" (it has {', '.join(known) or 'none'})")
            )
    if not plans:
        raise click.UsageError(f"{file} has no pattern")
    return [plan for plan in plans if not names or plan.pattern in names]


def find_inputs(
    plans: Sequence[Plan],
    given: Sequence[tuple[str, str]],
    file: str,
    kind: str | None,
    max_ahead: int | None = None,
    *,
    every_column: bool = False,
) -> list[Input]:
    """The inputs of the plans' streams; a usage error that lists what is needed where one is missing or unknown."""
    from connectors.files import Input
    from connectors.files.times import max_ahead as limit

    streams: dict[str, Stream] = {stream.name: stream for plan in plans for stream in plan.streams}
    for name, _ in given:
        if name not in streams:
            hint = did_you_mean(name, streams)
            needed = f"the patterns of {file} read {', '.join(streams)}"
            raise click.UsageError(f"--in {name}=...: no such stream: {hint or needed}")
    missing = [name for name in streams if name not in dict(given)]
    if missing:
        options = " ".join(f"--in {name}=PATH" for name in missing)
        raise click.UsageError(f"no input for stream {', '.join(f'`{name}`' for name in missing)}: add {options}")
    if sum(path == "-" for _, path in given) > 1:
        raise click.UsageError("stdin (-) can be the input of one stream only")
    if file == "-" and any(path == "-" for _, path in given):
        raise click.UsageError("stdin (-) cannot be both the patterns and an input")
    found = []
    for name, path in given:
        wanted = {column for plan in plans for column in _needed(plan, name)}
        ahead = limit(streams[name], max_ahead)
        columns = None if every_column else sorted(wanted)
        found.append(Input.find(streams[name], path, columns=columns, kind=kind, max_ahead=ahead))
    return found


def _needed(plan: Plan, stream: str) -> list[str]:
    if all(item.name != stream for item in plan.streams):
        return []
    return [name for name, _ in plan.needed_columns(stream)]


def _refuse_overwriting(
    out: str, stats_file: str | None, policy: ErrorPolicy, inputs: Sequence[Input], late_file: str | None
) -> None:
    """No output may be an input, and each must be writable: known now rather than after a long run."""
    from connectors.files import InputError

    dead_letters = str(policy.path) if policy.path is not None else None
    ends = (("--out", out), ("--stats", stats_file), ("--on-error dead-letter", dead_letters), ("--late", late_file))
    for option, name in ends:
        if name is None or name == "-":
            continue
        path = Path(name)
        for files in inputs:
            for source, _ in files.files:
                if path.exists() and source.exists() and path.samefile(source):
                    raise InputError(f"{option} {name}: is an input; it would be overwritten")
        if not path.parent.is_dir():
            raise InputError(f"{option} {name}: no such directory: {path.parent}")
    if policy.path is not None:
        policy.open()


def _late_file(path: str, inputs: Sequence[Input]) -> LateFile:
    from runtime.late import LateFile

    files: dict[str, list[str]] = {}
    for source in inputs:
        files.setdefault(source.stream.name, []).extend(str(name) for name, _ in source.files)
    return LateFile(Path(path), {name: found[0] if len(found) == 1 else None for name, found in files.items()})


def _write_stats(path: str, stats: dict[str, Any]) -> None:
    text = json.dumps(stats, indent=2, default=_plain)
    Path(path).write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> object:
    """Numbers of numpy as Python's, anything else as text."""
    import numpy as np

    return value.item() if isinstance(value, np.generic) else str(value)


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


class _Run:
    """One replay from its first event to its summary."""

    def __init__(
        self,
        plans: Sequence[Plan],
        inputs: Sequence[Input],
        interrupts: Interrupts,
        arrival_order: bool,
        policy: ErrorPolicy,
        batch_size: int,
        memory: int,
        id_key: IdKey | None,
        late_file: str | None = None,
        open_end: bool = False,
    ) -> None:
        from connectors.files.fit import Seen
        from connectors.files.prefetch import Progress
        from runtime.replay import Replay, file_sources

        self.interrupts = interrupts
        self.policy = policy
        self.plans = plans
        self.seen = [(files.stream, Seen()) for files in inputs]
        self.reading = [Progress(interrupts.check) for _ in inputs]
        sizes = [files.size for files in inputs]
        self.total = None if None in sizes else sum(size or 0 for size in sizes)
        sources = file_sources(
            inputs,
            sort=not arrival_order,
            policy=policy,
            memory=memory,
            progress=self.reading,
            seen=[seen for _, seen in self.seen],
        )
        self.late = _late_file(late_file, inputs) if late_file is not None else None
        self.replay: Replay = Replay(
            plans,
            sources,
            sort=not arrival_order,
            batch_size=batch_size,
            id_key=id_key,
            on_late=self.late.write if self.late is not None else None,
            open_end=open_end,
        )
        self.matches = 0
        self.seconds = 0.0

    def to(self, sink: Matches, strict: bool = False) -> int:
        """Write all matches; the exit status. Says on stderr how it went, and which data did not fit."""
        from connectors.files import InputError

        started = time.perf_counter()
        status, ended = 0, ""
        try:
            self._write(sink)
        except Interrupted as signal:
            status, ended = signal.status, f"stopped by {signal}: "
        except BrokenPipeError:
            return BROKEN_PIPE
        except InputError as error:
            click.echo(f"Error: {error}", err=True)
            return FAILED
        finally:
            self.seconds = time.perf_counter() - started
            self.replay.close()
            self.policy.close()
            if self.late is not None:
                self.late.close()
        unfit = self.misfits()
        for text in unfit:
            click.echo(f"{'Error' if strict else 'warning'}: {text}", err=True)
        click.echo(ended + self.summary(), err=True)
        for note in self.replay.notes():
            click.echo(f"note: {note}", err=True)
        return FAILED if unfit and strict and not status else status

    def misfits(self) -> list[str]:
        """What the records do not have, by stream."""
        from connectors.files.fit import Seen, keys_of, misfits

        whole: dict[str, tuple[Stream, Seen]] = {}
        for stream, seen in self.seen:
            whole.setdefault(stream.name, (stream, Seen()))[1].add(seen)
        return [
            text for stream, seen in whole.values() for text in misfits(stream, keys_of(self.plans, stream.name), seen)
        ]

    def _write(self, sink: Matches) -> None:
        from runtime.cli.progress import Bar

        with Bar(self.reading, self.total) as bar:
            for plan, reader in self.replay.run():
                for count in sink.write(reader, plan):
                    self.matches += count
                    bar.update(self.replay.events, self.matches)
                    self.interrupts.check()
                sink.flush()
                bar.update(self.replay.events, self.matches)
                self.interrupts.check()

    def summary(self) -> str:
        """One line."""
        rate = self.replay.events / self.seconds if self.seconds else 0
        parts = [_count(self.replay.events, "event"), _count(self.matches, "match", "matches")]
        if self.replay.late:
            parts.append(f"{_count(self.replay.late, 'late event')} dropped")
        if self.policy.count:
            kept = f" (in {self.policy.path})" if self.policy.path is not None else ""
            bad = _count(self.policy.count, "bad record")
            parts.append(f"{bad} left out{kept}, the first: {self.policy.first}")
        return f"{', '.join(parts)}; {self.seconds:.1f} s, {rate:,.0f} events/s"

    def stats(self) -> dict[str, Any]:
        """What `--stats` writes."""
        return {
            "events": self.replay.events,
            "matches": self.matches,
            "late": self.replay.late,
            "seconds": self.seconds,
            "events_per_second": self.replay.events / self.seconds if self.seconds else 0.0,
            "peak_rss_bytes": peak_rss(),
            "state": self.replay.state(),
        }
