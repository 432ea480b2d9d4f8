"""Pattern tests as folders: what `cep test` and the project's own corpus run.

A case is a folder with

* `pattern.cep`: the patterns;
* `events.jsonl`: the events. Where the patterns read several streams, each line names its stream in the key `stream`.
  Instead, or for some streams, one file per stream: `Trans.jsonl`, `Trans.csv` or `Trans.parquet`;
* `expected.jsonl`: the matches, in any order. `id` may be left out; `pattern` too, where the file has one pattern;
  `start` and `end` are compared where they are given. Or instead
* `expected.err`: the findings, one a line, each as `CODE`, `CODE line:column` or `CODE line:column message`.

Lines that are empty or begin with `#` or `--` are skipped in the expectations. Values are compared as JSON values: `1`
and `1.0` are equal, nothing else is converted.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cep.ir.model import Stream
from cep.source import Source
from connectors.files import ErrorPolicy, Input, InputError
from connectors.files.blocks import BOM
from connectors.files.fit import Seen, keys_of, misfits
from connectors.files.jsonl import parse_object, refuse_other_json
from connectors.files.merge import concat
from connectors.files.times import at_clock, readable
from connectors.files.values import SIGN, batch_of, empty_batch, from_json, refuse_sign
from connectors.formats import COMPRESSION, EVENT_ENDINGS

if TYPE_CHECKING:
    from cep.compiler.pipeline import Result
    from cep.diagnostics import Diagnostic
    from cep.ir.plan import Plan
    from runtime.state.id_key import IdKey

PATTERN = "pattern.cep"
EVENTS = "events.jsonl"
MATCHES = "expected.jsonl"
ERRORS = "expected.err"
_ENDINGS = tuple(ending + packed for packed in ("", *COMPRESSION) for ending in EVENT_ENDINGS)

Match = dict[str, Any]


class CaseError(Exception):
    """A folder that is not a usable case; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Case:
    """A folder, read. One of `matches` and `errors` is given, or neither (before `--update`)."""

    path: Path
    source: Source
    matches: tuple[Match, ...] | None
    errors: tuple[str, ...] | None

    @property
    def name(self) -> str:
        """The folder, as it was given."""
        return str(self.path)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a case came to: the findings of the compiler and, where there was no error, the matches."""

    diagnostics: tuple[Diagnostic, ...]
    matches: tuple[Match, ...] | None
    patterns: tuple[str, ...]
    misfits: tuple[str, ...] = ()
    """What the events do not have that the patterns use, a sentence each."""
    notes: tuple[str, ...] = ()
    """What there is to say of the events; see `runtime.advice`."""


def find_cases(root: Path) -> list[Path]:
    """The folders with a `pattern.cep`, at `root` or below it, in order of name."""
    found = {path.parent for path in root.rglob(PATTERN) if path.is_file()}
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(root).parts))


def load_case(path: Path | str) -> Case:
    """Read a case's patterns and expectations; `CaseError` where they cannot be read."""
    path = Path(path)
    file = path / PATTERN
    try:
        source = Source(str(file), file.read_text(encoding="utf-8-sig"))
        matches = path / MATCHES
        errors = path / ERRORS
        if matches.exists() and errors.exists():
            raise CaseError(f"{path}: expected {MATCHES} or {ERRORS}, found both")
        return Case(
            path,
            source,
            tuple(_expected_matches(matches)) if matches.exists() else None,
            tuple(_expected_errors(errors)) if errors.exists() else None,
        )
    except (OSError, UnicodeDecodeError) as error:
        raise CaseError(f"{path}: {error}") from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith(("#", "--")):
            yield number, text


def _expected_matches(path: Path) -> Iterator[Match]:
    for number, text in _lines(path):
        try:
            match = parse_object(text.encode())
        except ValueError as error:
            raise CaseError(f"{path}:{number}: {error}") from error
        unknown = set(match) - {"id", "pattern", "start", "end", "fields"}
        if unknown or not isinstance(match.get("fields"), dict):
            found = f"key {min(unknown)!r}" if unknown else "no object in `fields`"
            raise CaseError(f'{path}:{number}: expected a match such as {{"fields": {{...}}}}, found {found}')
        yield match


def _expected_errors(path: Path) -> Iterator[str]:
    for _, text in _lines(path):
        yield " ".join(text.split())


# --- events --------------------------------------------------------------------------------------------------------


def case_events(
    case: Case, streams: Sequence[Stream], seen: dict[str, Seen] | None = None
) -> dict[str, pa.RecordBatch]:
    """The events of a case by stream, all columns, in the order they are written; `CaseError` where one is bad.

    `seen` is filled with what the records of each stream have in them.
    """
    seen = {} if seen is None else seen
    for stream in streams:
        seen[stream.name] = Seen()
    events: dict[str, pa.RecordBatch] = {}
    shared: list[Stream] = []
    for stream in streams:
        own = [case.path / f"{stream.name}{ending}" for ending in _ENDINGS]
        own = [path for path in own if path.exists()]
        if len(own) > 1:
            raise CaseError(f"{case.path}: expected one file with the events of {stream.name}, found {len(own)}")
        if own:
            events[stream.name] = _read(stream, own[0], seen[stream.name])
        else:
            shared.append(stream)
    file = case.path / EVENTS
    if not file.exists():
        if shared:
            names = ", ".join(stream.name for stream in shared)
            raise CaseError(
                f"{case.path}: no events of {names}: expected {EVENTS} or {shared[0].name}.jsonl (.csv, .parquet)"
            )
        return events
    if len(streams) == 1 and shared:
        events[shared[0].name] = _read(shared[0], file, seen[shared[0].name])
    else:
        events |= _read_tagged(file, {stream.name: stream for stream in shared}, seen)
    return events


def _read(stream: Stream, path: Path, seen: Seen) -> pa.RecordBatch:
    try:
        found = Input.find(stream, str(path), max_ahead=stream.max_ahead)
        batches = [piece.batch for _, piece in found.pieces(ErrorPolicy(), seen=seen)]
    except InputError as error:
        raise CaseError(str(error)) from error
    return concat(batches) if batches else empty_batch(stream.columns)


def _read_tagged(path: Path, streams: Mapping[str, Stream], seen: Mapping[str, Seen]) -> dict[str, pa.RecordBatch]:
    kinds = {name: at_clock(readable(stream, stream.columns, stream.max_ahead)) for name, stream in streams.items()}
    values: dict[str, dict[str, list[Any]]] = {
        stream.name: {name: [] for name, _ in stream.columns} for stream in streams.values()
    }
    data = path.read_bytes().removeprefix(BOM)
    try:
        refuse_other_json(path, data)
    except InputError as error:
        raise CaseError(str(error)) from error
    for number, raw in enumerate(data.split(b"\n"), 1):
        if not raw.strip():
            continue
        column = ""
        try:
            record = parse_object(raw)
            name = record.get("stream")
            stream = streams.get(name) if isinstance(name, str) else None
            if stream is None:
                expected = f'"stream": expected one of {", ".join(streams)}, since the patterns read {", ".join(seen)}'
                raise CaseError(f"{path}:{number}: {expected}; found {json.dumps(name)}")
            refuse_sign(record.get(SIGN))
            row = []
            for column, kind in kinds[stream.name]:
                row.append(from_json(record.get(column), kind))
        except ValueError as error:
            raise CaseError(f"{path}:{number}: " + (f'"{column}": ' if column else "") + str(error)) from error
        seen[stream.name].record({name: value for name, value in record.items() if name != "stream"})
        for (column, _), value in zip(stream.columns, row, strict=True):
            values[stream.name][column].append(value)
    batches = {name: batch_of(columns, streams[name].columns) for name, columns in values.items()}
    for name, batch in batches.items():
        seen[name].count(batch)
    return batches


# --- running -------------------------------------------------------------------------------------------------------


def compile_case(case: Case, import_root: str | None = None) -> Result:
    """Compile the patterns of a case."""
    from cep.compiler.pipeline import compile_source

    return compile_source(case.source, import_root)


def run_case(
    case: Case,
    *,
    batch_size: int = 65_536,
    arrival_order: bool = False,
    import_root: str | None = None,
    id_key: IdKey | None = None,
) -> Outcome:
    """Compile and, unless there are errors, run a case as `cep replay` would; `CaseError` where events are bad."""
    from runtime.replay import MemorySource, Replay

    result = compile_case(case, import_root)
    names = tuple(plan.pattern for plan in result.plans)
    if not result.ok or (case.errors is not None and not _has_events(case)):
        return Outcome(result.diagnostics, None, names)
    streams = {stream.name: stream for plan in result.plans for stream in plan.streams}
    seen: dict[str, Seen] = {}
    events = case_events(case, list(streams.values()), seen)
    sources = [MemorySource(streams[name], batch, sort=not arrival_order) for name, batch in events.items()]
    replay = Replay(result.plans, sources, sort=not arrival_order, batch_size=batch_size, id_key=id_key)
    matches: list[Match] = []
    for plan, reader in replay.run():
        for batch in reader:
            matches += match_objects(batch, plan.pattern)
    return Outcome(
        result.diagnostics, tuple(matches), names, tuple(_misfits(result.plans, streams, seen)), tuple(replay.notes())
    )


def _misfits(plans: Sequence[Plan], streams: Mapping[str, Stream], seen: Mapping[str, Seen]) -> Iterator[str]:
    for name, noted in seen.items():
        reading = [plan for plan in plans if any(stream.name == name for stream in plan.streams)]
        used = {column for plan in reading for column, _ in plan.needed_columns(name)}
        noted.values = {column: count for column, count in noted.values.items() if column in used}
        yield from misfits(streams[name], keys_of(plans, name), noted)


def _has_events(case: Case) -> bool:
    return any(path.name != MATCHES and path.name.endswith(_ENDINGS) for path in case.path.iterdir())


def match_objects(batch: pa.RecordBatch, pattern: str) -> list[Match]:
    """Matches as `cep replay` writes them, decoded."""
    from connectors.files.match_writer import match_lines

    return [json.loads(line) for line in match_lines(batch, pattern).to_pylist()]


# --- comparing -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Difference:
    """What a case lacks and what it has too much of, as lines of text, sorted."""

    missing: tuple[str, ...]
    unexpected: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.missing or self.unexpected)


def compare(case: Case, outcome: Outcome) -> Difference:
    """How an outcome differs from what the case expects; `CaseError` where it expects nothing."""
    if case.errors is not None:
        return _compare_errors(case.errors, outcome.diagnostics)
    if outcome.matches is None:
        errors = [d for d in outcome.diagnostics if d.severity.value == "error"]
        return Difference((), tuple(map(finding_line, errors)))
    if case.matches is None:
        raise CaseError(f"{case.path}: no {MATCHES} and no {ERRORS}: `cep test --update` writes one")
    return _compare_matches(case.matches, outcome.matches, outcome.patterns)


def _compare_errors(expected: Sequence[str], found: Sequence[Diagnostic]) -> Difference:
    left = list(found)
    missing = []
    # Those that say the most choose first: `CODE` alone must not take the finding that `CODE line:column` means.
    for line in sorted(expected, key=len, reverse=True):
        hit = next((d for d in left if f"{finding_line(d)} ".startswith(f"{line} ")), None)
        if hit is None:
            missing.append(line)
        else:
            left.remove(hit)
    # Warnings need not be listed beside errors: they may be, and then they must be there.
    has_errors = any(d.severity.value == "error" for d in found)
    rest = [d for d in left if d.severity.value == "error" or not has_errors]
    return Difference(tuple(sorted(missing)), tuple(sorted(map(finding_line, rest))))


def finding_line(finding: Diagnostic) -> str:
    """A finding as `expected.err` holds it."""
    return " ".join(f"{finding.code} {finding.span.line}:{finding.span.column} {finding.message}".split())


def _compare_matches(expected: Sequence[Match], found: Sequence[Match], patterns: Sequence[str]) -> Difference:
    if len(patterns) == 1:
        expected = [{"pattern": patterns[0], **match} for match in expected]
    missing: list[Match] = []
    # Matches are told apart by as much as an expectation says: those that say the most choose first.
    left = list(found)
    by_keys: dict[tuple[str, ...], list[Match]] = {}
    for match in expected:
        by_keys.setdefault(tuple(sorted(match)), []).append(match)
    for keys in sorted(by_keys, key=len, reverse=True):
        wanted: dict[str, list[Match]] = {}
        for match in by_keys[keys]:
            wanted.setdefault(canonical(match), []).append(match)
        rest = []
        for match in left:
            text = canonical({key: match[key] for key in keys if key in match})
            if wanted.get(text):
                wanted[text].pop()
            else:
                rest.append(match)
        left = rest
        missing += [match for matches in wanted.values() for match in matches]
    return Difference(tuple(sorted(map(show, missing))), tuple(sorted(map(show, left))))


def canonical(value: object) -> str:
    """A text that is equal for equal JSON values, whole numbers written as integers."""
    return json.dumps(_whole(value), sort_keys=True, ensure_ascii=False)


def _whole(value: object) -> object:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def show(match: Match) -> str:
    """A match for people: without its id, pattern and fields first."""
    kept = {key: match[key] for key in ("pattern", "fields", "start", "end") if key in match}
    return json.dumps(kept, ensure_ascii=False)


def expectation_lines(matches: Sequence[Match]) -> list[str]:
    """Matches as `expected.jsonl` holds them, sorted by time, then text."""
    ordered = sorted(matches, key=lambda m: (m["start"] or "", m["end"] or "", canonical(m)))
    return [json.dumps(match, ensure_ascii=False) for match in ordered]
