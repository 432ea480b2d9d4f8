"""The findings and the verdicts as JSON: the keys that CI pipelines and other tools rely on (design, section 2).

`file` of a diagnostic is that of the entry it stands in: findings in an imported file get an entry of their own.
Columns count characters from 1; `end_column` is the column after the last one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from cep.diagnostics import Diagnostic
from cep.ir.plan import Plan
from cep.render.report import Report, by_file


def render(reports: Sequence[Report]) -> str:
    """One JSON document with a final line break."""
    document = {"files": [_file(report) for report in by_file(reports)]}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _file(report: Report) -> dict[str, Any]:
    return {
        "file": report.file,
        "ok": report.ok,
        "diagnostics": [_diagnostic(item) for item in report.diagnostics],
        "patterns": [pattern(plan) for plan in report.plans],
    }


def _diagnostic(item: Diagnostic) -> dict[str, Any]:
    return {
        "code": item.code,
        "severity": item.severity.value,
        "message": item.message,
        "line": item.span.line,
        "column": item.span.column,
        "end_line": item.span.end_line,
        "end_column": item.span.end_column,
        "hint": item.hint,
    }


def pattern(plan: Plan) -> dict[str, Any]:
    """What the compiler knows of a pattern before any event has been seen."""
    key = plan.partition_key
    return {
        "name": plan.pattern,
        "acyclic": plan.verdict.acyclic,
        "free_connex": plan.verdict.free_connex,
        "hierarchical": plan.verdict.hierarchical,
        "q_hierarchical": plan.verdict.q_hierarchical,
        "output_variables": list(plan.output_variables),
        "connex_variables": list(plan.connex_variables),
        "partition_key": None if key is None else {stream: list(attributes) for stream, attributes in key},
        "window_ms": milliseconds(plan.window),
        "runtime": plan.runtime,
        "guarantees": {
            "update": plan.guarantees.update,
            "delay": plan.guarantees.delay,
            "space": plan.guarantees.space,
            "emission": plan.guarantees.emission,
        },
    }


def milliseconds(micros: int | None) -> int | float | None:
    """Microseconds as milliseconds: an int where it is whole.

    >>> milliseconds(3_600_000_000), milliseconds(1_500), milliseconds(None)
    (3600000, 1.5, None)
    """
    if micros is None:
        return None
    return micros // 1000 if micros % 1000 == 0 else micros / 1000
