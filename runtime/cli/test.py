"""`cep test`: run users' own pattern tests; see `runtime.testing` for the layout of a test."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cep.cli.files import import_root_option, root_for
from cep.cli.status import FAILED, FINDINGS, GOOD
from cep.cli.terminal import wants_color
from runtime.cli.options import STRICT_SCHEMA, id_key_option

if TYPE_CHECKING:
    from runtime.state.id_key import IdKey
    from runtime.testing import Case, Difference, Outcome

SHOWN = 20
"""How many missing and unexpected matches of a test are printed."""


@click.command(short_help="Run your own pattern tests.")
@click.argument("directories", metavar="DIR...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--update", is_flag=True, help="Write what comes out as the expectation where it is not that already.")
@click.option(
    "-k", "expression", metavar="TEXT", help="Only tests whose folder contains TEXT (`a or b`, `not a` work)."
)
@click.option("--strict-schema", is_flag=True, help=STRICT_SCHEMA)
@click.option("-q", "--quiet", is_flag=True, help="Print failures and the summary only.")
@import_root_option
@id_key_option
@click.pass_context
def test(
    ctx: click.Context,
    directories: tuple[Path, ...],
    update: bool,
    expression: str | None,
    strict_schema: bool,
    quiet: bool,
    import_root: str | None,
    id_key: IdKey | None,
) -> None:
    """Run the pattern tests in DIR and below, and compare with what each expects.

    \b
    A test is a folder with
      pattern.cep      the patterns
      events.jsonl     the events; with several streams, each line names its
                       stream in the key "stream"; or one file per stream:
                       Trans.jsonl, Trans.csv, Trans.parquet
      expected.jsonl   the matches in any order ("id" may be left out, also
                       "pattern" where there is one; "start" and "end" are
                       compared where given), or
      expected.err     the findings: CODE, CODE line:column or the whole
                       CODE line:column message

    Exit status: 0 all passed, 1 some failed, 2 bad usage or no tests.
    """  # noqa: D301 - click reads the backspace
    from runtime.testing import CaseError, find_cases

    for directory in directories:
        if not directory.is_dir():
            raise click.UsageError(f"no such directory: {directory}")
    paths = list(dict.fromkeys(path for directory in directories for path in find_cases(directory)))
    chosen = [path for path in paths if expression is None or selects(expression, str(path))]
    if not chosen:
        what = f"no test matches -k {expression!r}" if paths else "no folder with a pattern.cep"
        click.echo(f"Error: {what} in {', '.join(map(str, directories))}", err=True)
        ctx.exit(FAILED)
    failed = 0
    for path in chosen:
        try:
            root = root_for(str(path / "pattern.cep"), map(str, directories), import_root)
            report = _run(path, update, strict_schema, root, id_key)
        except CaseError as error:
            report = [f"  {error}"]
        if report:
            failed += 1
            click.echo(f"FAILED {path}")
            click.echo("\n".join(report), color=wants_color(sys.stdout))
        elif not quiet:
            click.echo(f"passed {path}")
    click.echo(f"{len(chosen) - failed} passed, {failed} failed")
    ctx.exit(FINDINGS if failed else GOOD)


def selects(expression: str, name: str) -> bool:
    """Whether an expression of words, `not`, `and`, `or` selects a name; `and` binds tighter.

    >>> selects("seq and not late", "cases/seq/plain"), selects("seq and not late", "cases/seq/late")
    (True, False)
    """
    return any(
        all(_word(word.strip(), name) for word in _split(part, "and")) for part in _split(expression.strip(), "or")
    )


def _split(text: str, word: str) -> list[str]:
    return f" {text} ".split(f" {word} ")


def _word(word: str, name: str) -> bool:
    if word.startswith("not "):
        return not _word(word[4:].strip(), name)
    return word.casefold() in name.casefold()


def _run(path: Path, update: bool, strict: bool, import_root: str | None, id_key: IdKey | None) -> list[str]:
    """Run a case; the lines that tell of a failure, none where it passed. Events that do not fit are told on stderr."""
    from runtime.testing import compare, load_case, run_case

    case = load_case(path)
    outcome = run_case(case, import_root=import_root, id_key=id_key)
    unfit = [f"  {text}" for text in outcome.misfits] if strict else []
    for text in outcome.misfits if not strict else ():
        click.echo(f"warning: {path}: {text}", err=True)
    if update and case.matches is None and case.errors is None:
        _update(case, outcome)
        return unfit
    difference = compare(case, outcome)
    if update and difference:  # what agrees stays as its author wrote it
        _update(case, outcome)
        return unfit
    return [*_report(difference, outcome), *unfit]


def _report(difference: Difference, outcome: Outcome) -> list[str]:
    lines = []
    for sign, what, items in (("-", "missing", difference.missing), ("+", "unexpected", difference.unexpected)):
        if items:
            lines.append(f"  {len(items)} {what}:")
            lines += [click.style(f"  {sign} {item}", fg="red" if sign == "-" else "green") for item in items[:SHOWN]]
            if len(items) > SHOWN:
                lines.append(f"    and {len(items) - SHOWN} more")
    if lines and outcome.matches is not None:
        lines.append(f"  ({len(outcome.matches)} matches in all)")
        lines += [f"  note: {note}" for note in outcome.notes]
    return lines


def _update(case: Case, outcome: Outcome) -> None:
    from runtime.testing import ERRORS, MATCHES, expectation_lines, finding_line

    matches, errors = case.path / MATCHES, case.path / ERRORS
    if outcome.matches is None or case.errors is not None:
        texts = list(map(finding_line, outcome.diagnostics))
        kept, gone = errors, matches
    else:
        texts = expectation_lines(outcome.matches)
        kept, gone = matches, errors
    kept.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    gone.unlink(missing_ok=True)
