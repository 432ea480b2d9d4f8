"""The pipeline: parse → resolve and type-check → anchor → normalise → GCQ → gaps → reduce → join tree → place → plan.

Passes up to `lint` report to one list of diagnostics and recover; the rest cannot fail on a pattern that they passed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from cep.compiler.anchor import anchor
from cep.compiler.atom_tree import atom_tree
from cep.compiler.check import check
from cep.compiler.classify import classify
from cep.compiler.decompose import decompose
from cep.compiler.gaps import gaps
from cep.compiler.gcq import gcq
from cep.compiler.join_tree import join_tree
from cep.compiler.lint import lint
from cep.compiler.load import Unit, load
from cep.compiler.meaning import meaning, meaning_of_any
from cep.compiler.normalise import normalise
from cep.compiler.place import place
from cep.compiler.plan import plan
from cep.compiler.rank import rank
from cep.compiler.reduce import reduce
from cep.compiler.resolve import resolve
from cep.compiler.satisfiable import satisfiable
from cep.compiler.shared.differences import Work
from cep.compiler.union import union
from cep.compiler.unsupported import unsupported
from cep.diagnostics import Diagnostic, Diagnostics, Severity
from cep.ir.gcq import GCQ
from cep.ir.model import Pattern
from cep.ir.plan import Plan
from cep.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a file compiles to. `plans` holds the patterns without errors; `sources` every file that was read."""

    plans: tuple[Plan, ...]
    patterns: tuple[Pattern, ...]
    diagnostics: tuple[Diagnostic, ...]
    sources: dict[str, Source]

    @property
    def ok(self) -> bool:
        """Whether there is no error (warnings do not count)."""
        return not any(d.severity is Severity.ERROR for d in self.diagnostics)


def compile_source(source: Source, import_root: str | os.PathLike[str] | None = None) -> Result:
    """Compile a file and what it imports. Never raises for anything a user can write.

    Imports stay inside `import_root`, by default the project that the file is in (`cep.compiler.load`).
    """
    diagnostics = Diagnostics()
    return compile_unit(load(source, diagnostics, import_root=import_root), diagnostics)


def compile_unit(unit: Unit, diagnostics: Diagnostics) -> Result:
    """Compile a file that is loaded; `diagnostics` holds what was found on the way."""
    scope = resolve(unit, diagnostics)
    patterns = check(unit, scope, diagnostics)
    work = Work()
    for pattern in patterns:
        satisfiable(pattern, diagnostics, work)
    lint(unit, patterns, diagnostics, work)
    sound = [] if diagnostics.full else [p for p in patterns if not _has_error_in(p, diagnostics)]
    sound = [pattern for pattern in sound if not unsupported(pattern, diagnostics)]
    plans = tuple(compile_pattern(pattern, diagnostics) for pattern in sound)
    return Result(plans=plans, patterns=tuple(sound), diagnostics=diagnostics.sorted(), sources=dict(unit.sources))


def compile_pattern(pattern: Pattern, diagnostics: Diagnostics) -> Plan:
    """From a checked pattern to its plan; warns about what it will cost."""
    made = _planned(pattern)
    if made.partition_key is None and len(made.leaves) > 1:
        diagnostics.warning(
            "CEP0503",
            pattern.span,
            f"pattern `{pattern.name}` has no partition key: as a Spark job it runs in one bucket",
            hint="join all variables on one attribute, e.g. with PARTITION BY",
        )
    if not made.verdict.acyclic:
        bags = "; ".join(", ".join(bag) for part in made.parts for bag in part.bags if len(bag) > 1)
        diagnostics.warning(
            "CEP0504",
            pattern.span,
            f"pattern `{pattern.name}` is cyclic: it runs, without the guarantees of a join tree",
            notes=[f"joined variable by variable: {bags}"],
        )
    return made


def _planned(pattern: Pattern) -> Plan:
    """The plan of a pattern, or that of all its alternatives."""
    if pattern.branches:
        plans = [_planned(branch) for branch in pattern.branches]
        return union(pattern, plans, meaning_of_any(pattern.name, [plan.meaning for plan in plans]))
    anchored = anchor(pattern)
    normal = normalise(anchored)
    meant = normal if anchored is pattern else normalise(pattern)  # what is written has no anchor
    return plan_query(gcq(normal), meaning(meant))


def plan_query(query: GCQ, meant: str = "") -> Plan:
    """From a query to its plan; `meant` is the hash of the pattern's meaning."""
    places = rank(query)
    verdict = classify(query.shape)
    asked = gaps(query)
    if not verdict.acyclic:
        return plan(query, verdict, places, None, None, decompose(query.shape), asked, meant)
    tree = join_tree(query.shape, reduce(query.shape, places))
    atoms = atom_tree(query.shape, tree, places)
    query, tree = place(query, tree, atoms)
    return plan(query, verdict, places, tree, atoms, (), asked, meant)


def _has_error_in(pattern: Pattern, diagnostics: Diagnostics) -> bool:
    return any(
        d.severity is Severity.ERROR
        and d.span.file == pattern.span.file
        and pattern.span.start <= d.span.start < pattern.span.end
        for d in diagnostics
    )
