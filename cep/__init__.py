"""CEP: the pattern language and its compiler.

>>> import cep
>>> patterns = cep.compile('''
...     STREAM T (ts TIMESTAMP, k STRING) TIMESTAMP BY ts;
...     PATTERN P SEQ(T a, T b) WHERE a.k = b.k WITHIN 1 HOUR;
... ''')
>>> patterns["P"].window
3600000000

`runtime.Engine(patterns["P"])` runs a plan. Importing this package costs next to nothing: the compiler is loaded when
it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cep.diagnostics import Diagnostic
    from cep.ir.plan import Plan

__all__ = ["Patterns", "__version__", "compile", "compile_file"]
__version__ = "0.1.0"


class Patterns(Mapping[str, "Plan"]):
    """Compiled patterns by name, in the order of the file, with the warnings that came along."""

    __slots__ = ("_plans", "warnings")

    def __init__(self, plans: tuple[Plan, ...], warnings: tuple[Diagnostic, ...]) -> None:
        self._plans = {plan.pattern: plan for plan in plans}
        self.warnings = warnings

    def __getitem__(self, name: str) -> Plan:
        return self._plans[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._plans)

    def __len__(self) -> int:
        return len(self._plans)

    def __repr__(self) -> str:
        return f"Patterns({', '.join(self._plans)})"


def compile(  # noqa: A001 - the verb users expect, as in re.compile
    text: str, *, filename: str = "<text>", import_root: str | None = None
) -> Patterns:
    """Compile the text of a pattern file.

    `filename` names the text in messages, and IMPORTs are relative to it. They stay inside `import_root`, by default
    the project of `filename`: the nearest folder upwards with a `.git`, `cep.toml`, `job.toml` or `pyproject.toml`,
    else its own. Raises `cep.diagnostics.CepError` with every problem found.
    """
    from cep.compiler.pipeline import compile_source
    from cep.diagnostics import CepError, Severity
    from cep.source import Source

    result = compile_source(Source(filename, text), import_root)
    if not result.ok:
        raise CepError(d for d in result.diagnostics if d.severity is Severity.ERROR)
    return Patterns(result.plans, result.diagnostics)


def compile_file(path: str, *, import_root: str | None = None) -> Patterns:
    """Compile a pattern file; see `compile`. A file that cannot be read is a `CepError` too."""
    from cep.compiler.load import read_source
    from cep.diagnostics import CepError, Diagnostics

    diagnostics = Diagnostics()
    source = read_source(path, diagnostics)
    if source is None:
        raise CepError(diagnostics)
    return compile(source.text, filename=source.name, import_root=import_root)
